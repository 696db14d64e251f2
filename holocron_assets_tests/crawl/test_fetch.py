"""Fetching a batch: every page ends as a row, and the wiki's faults are not the pages'."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import Any

import pytest
from crawl_rows import dump_source, outcome, put_manifest, put_seeds, statuses
from fake_mediawiki import Handler, reset
from small_wiki import SmallWiki, reading, small_wiki, source_of_wiki

from holocron_assets.crawl.dumps.export import DumpError
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.fetch import GroupError, fetch_batch
from holocron_assets.crawl.frontier.batches import NoManifestError, cut_batches, unfinished_batches
from holocron_assets.crawl.waiting import Group
from holocron_assets.lake.attempts import DELAYS
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGES, TRACEBACKS

pytestmark = pytest.mark.system

BATCH = "wiki-000001"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@dataclass
class ScriptedReader:
    """Reads what it is asked for, unless `trouble` raises for a group's titles."""

    trouble: Callable[[set[str]], None] = lambda _: None
    group_sizes: Sequence[int] = (4, 2, 1)
    groups_at_once: int = 1
    reads_others: bool = False
    read_groups: list[list[str]] = field(default_factory=list)

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        titles = [page["title"] for page in group]
        self.read_groups.append(titles)
        self.trouble(set(titles))
        return [
            outcome(page["title"], batch=page["batch"], position=page["position"], run_id=run_id)
            for page in group
        ]

    def reads_others_than(self, _: Group) -> bool:
        return self.reads_others

    def give_up(self) -> None:
        pass


def raise_for(title: str, error: BaseException) -> Callable[[set[str]], None]:
    def trouble(titles: set[str]) -> None:
        if title in titles:
            raise error

    return trouble


def by_title(rows: Sequence[Row]) -> dict[str, tuple[str, int]]:
    return {row["requested_title"]: (row["status"], row["attempts"]) for row in rows}


def test_a_batch_that_was_never_cut_is_refused_with_the_command_that_cuts_one(lake: Lake) -> None:
    with pytest.raises(NoManifestError, match=r"'wiki-000001' has no manifest.*holocron crawl --source NAME"):
        fetch_batch(lake, BATCH, ScriptedReader(), "test")
    assert not lake.journal(PAGES, BATCH).exists()


def test_rows_come_in_the_manifests_order_and_no_journal_stays(lake: Lake) -> None:
    put_manifest(lake, BATCH, *"GFEDCBA")
    rows = fetch_batch(lake, BATCH, ScriptedReader(groups_at_once=3), "run")
    assert [row["requested_title"] for row in rows] == list("GFEDCBA")
    assert read_partition(lake, PAGES, BATCH) == [
        {**dict.fromkeys(PAGES.arrow_schema.names), **row} for row in rows
    ]
    assert not lake.journal(PAGES, BATCH).exists()


def test_a_complete_batch_is_neither_read_nor_written_again(lake: Lake) -> None:
    put_manifest(lake, BATCH, "A", "B")
    fetch_batch(lake, BATCH, ScriptedReader(), "first")
    written = lake.file(PAGES, BATCH).stat().st_mtime_ns
    again = ScriptedReader()
    rows = fetch_batch(lake, BATCH, again, "second")
    assert again.read_groups == []
    assert {row["run_id"] for row in rows} == {"first"}
    assert lake.file(PAGES, BATCH).stat().st_mtime_ns == written


def test_a_page_at_fault_is_found_in_ever_smaller_groups_and_fails_alone(lake: Lake) -> None:
    put_manifest(lake, BATCH, *"ABCDEFG")
    reader = ScriptedReader(raise_for("C", GroupError("it breaks")))
    before = utc_now()
    rows = fetch_batch(lake, BATCH, reader, "test")
    assert reader.read_groups == [list("ABCD"), list("EFG"), ["A", "B"], ["C", "D"], ["C"], ["D"]]
    failed = rows[2]
    assert (failed["status"], failed["attempts"], failed["error"]) == ("failed", 1, "C: it breaks")
    assert before + DELAYS[0] <= failed["due_at"] <= utc_now() + DELAYS[0]
    assert all(row["status"] == "ok" and row["attempts"] == 1 for row in rows if row is not failed)
    [kept] = read_partition(lake, TRACEBACKS, BATCH)
    assert (kept["stage"], kept["item"]) == ("pages", str(failed["title_key"]))
    assert kept["traceback"].endswith("GroupError: it breaks\n")


@pytest.mark.parametrize(
    ("failures", "status", "delay"),
    [(0, "failed", DELAYS[0]), (1, "failed", DELAYS[1]), (2, "failed", DELAYS[2]), (3, "dead", None)],
)
def test_failures_add_up_over_batches_until_the_fourth_is_the_end(
    lake: Lake, failures: int, status: str, delay: timedelta | None
) -> None:
    put_manifest(lake, BATCH, "A", failures=failures)
    before = utc_now()
    (row,) = fetch_batch(lake, BATCH, ScriptedReader(raise_for("A", GroupError("it breaks"))), "test")
    assert (row["status"], row["attempts"]) == (status, failures + 1)
    assert (
        delay is None
        if row["due_at"] is None
        else timedelta() <= row["due_at"] - before - delay < timedelta(seconds=9)
    )


def test_a_row_that_the_reader_calls_failed_is_settled_too(lake: Lake) -> None:
    class LeavesOut(ScriptedReader):
        def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
            return [{**row, "status": "failed", "error": "left out"} for row in super().read(group, run_id)]

    put_manifest(lake, BATCH, "A", "B", failures=3)
    rows = fetch_batch(lake, BATCH, LeavesOut(), "test")
    assert by_title(rows) == {"A": ("dead", 4), "B": ("dead", 4)}


@pytest.mark.parametrize(
    "trouble",
    [
        lambda: WikiUnavailable("host", "down", utc_now(), "server_error"),
        lambda: WikiRefused("host", "no", "client_error"),
        KeyboardInterrupt,
        RuntimeError,
    ],
)
def test_an_orderly_error_ends_the_run_keeps_what_was_read_and_counts_against_no_page(
    lake: Lake, trouble: Callable[[], BaseException]
) -> None:
    error = trouble()
    put_manifest(lake, BATCH, *"ABCDEF")
    for _ in range(6):
        with pytest.raises(type(error)):
            fetch_batch(lake, BATCH, ScriptedReader(raise_for("F", error)), "test")
    assert not lake.has(PAGES, BATCH)
    reader = ScriptedReader()
    rows = fetch_batch(lake, BATCH, reader, "test")
    assert reader.read_groups == [["E", "F"]]
    assert set(by_title(rows).values()) == {("ok", 1)}


def refused(outcome: str) -> WikiUnavailable:
    return WikiUnavailable("host", "not now", utc_now(), outcome)


def runs(lake: Lake, reader: ScriptedReader, most: int = 9) -> tuple[list[Row], int]:
    """The rows of a batch, and how many runs ended before."""
    for ended in range(most):
        try:
            return fetch_batch(lake, BATCH, reader, "test"), ended
        except WikiUnavailable:
            continue
    return [], most


def test_a_page_for_which_no_answer_comes_again_and_again_is_found_and_fails_alone(lake: Lake) -> None:
    put_manifest(lake, BATCH, *"ABCDEF")
    reader = ScriptedReader(raise_for("C", refused("captcha")), reads_others=True)
    rows, ended = runs(lake, reader)
    assert ended == 2
    assert reader.read_groups == [*[list("ABCD")] * 3, ["E", "F"], ["A", "B"], ["C", "D"], ["C"], ["D"]]
    assert by_title(rows) == {title: ("failed" if title == "C" else "ok", 1) for title in "ABCDEF"}


@pytest.mark.parametrize(("outcome", "reads_others"), [("captcha", False), ("maxlag", True)])
def test_no_page_is_to_blame_for_what_its_wiki_does_to_all(
    lake: Lake, outcome: str, *, reads_others: bool
) -> None:
    put_manifest(lake, BATCH, *"ABCDEF")
    reader = ScriptedReader(raise_for("C", refused(outcome)), reads_others=reads_others)
    assert runs(lake, reader) == ([], 9)
    assert reader.read_groups == [list("ABCD")] * 9


def test_what_another_group_was_read_as_proves_that_its_wiki_works(lake: Lake) -> None:
    put_manifest(lake, BATCH, *"ABCDEF")
    trouble = raise_for("F", refused("captcha"))
    for _ in range(2):
        with pytest.raises(WikiUnavailable):
            fetch_batch(lake, BATCH, ScriptedReader(raise_for("A", refused("captcha"))), "test")
    reader = ScriptedReader(trouble, reads_others=False)
    with pytest.raises(WikiUnavailable):
        fetch_batch(lake, BATCH, reader, "test")
    assert reader.read_groups == [list("ABCD"), ["E", "F"]]  # it was not refused before


def test_the_traceback_of_a_page_outlasts_a_run_that_ended_before_its_batch(lake: Lake) -> None:
    def trouble(titles: set[str]) -> None:
        raise_for("A", GroupError("it breaks"))(titles)
        raise_for("B", WikiUnavailable("host", "down", utc_now(), "server_error"))(titles)

    put_manifest(lake, BATCH, "A", "B")
    with pytest.raises(WikiUnavailable):
        fetch_batch(lake, BATCH, ScriptedReader(trouble, group_sizes=(1,)), "test")
    rows = fetch_batch(lake, BATCH, ScriptedReader(group_sizes=(1,)), "test")
    assert by_title(rows) == {"A": ("failed", 1), "B": ("ok", 1)}
    [kept] = read_partition(lake, TRACEBACKS, BATCH)
    assert kept["traceback"].endswith("GroupError: it breaks\n")


def test_what_is_read_next_to_an_error_is_kept(lake: Lake) -> None:
    together = Barrier(3, timeout=9)

    def trouble(titles: set[str]) -> None:
        together.wait()
        if "A" in titles:
            raise RuntimeError("the place is gone")
        sleep(0.2)

    put_manifest(lake, BATCH, "A", "B", "C")
    with pytest.raises(RuntimeError, match="the place is gone"):
        fetch_batch(lake, BATCH, ScriptedReader(trouble, group_sizes=(1,), groups_at_once=3), "test")
    again = ScriptedReader()
    fetch_batch(lake, BATCH, again, "test")
    assert again.read_groups == [["A"]]


def test_several_groups_are_read_at_once(lake: Lake) -> None:
    together = Barrier(3, timeout=9)

    def meet(_: set[str]) -> None:
        together.wait()

    put_manifest(lake, BATCH, *"ABCDEFGHI")
    rows = fetch_batch(lake, BATCH, ScriptedReader(meet, group_sizes=(3,), groups_at_once=3), "test")
    assert set(by_title(rows).values()) == {("ok", 1)}


def test_a_reader_that_leaves_a_page_out_is_an_error_not_an_endless_loop(lake: Lake) -> None:
    class Forgetful(ScriptedReader):
        def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
            return super().read(group, run_id)[1:]

    put_manifest(lake, BATCH, "A", "B")
    with pytest.raises(ValueError, match="zip"):
        fetch_batch(lake, BATCH, Forgetful(), "test")


# From here on with a wiki on loopback.


def test_a_page_that_the_wiki_cannot_serve_fails_dies_over_batches_and_harms_no_other(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.lake.attempts.DELAYS", (timedelta(0),))
    titles = [f"Page {number}" for number in range(60)]
    put_seeds(lake, *titles)
    with small_wiki(titles) as wiki:
        source = source_of_wiki(wiki)
        wiki.refuses = lambda titles: "Page 31" in titles
        while batches := cut_batches(lake, source, now=utc_now()):
            for batch in batches:
                with reading(lake, source, batch) as reader:
                    fetch_batch(lake, batch, reader, "test")
        refused = [row["status"] for row in read_partition(lake, HTTP_ATTEMPTS, BATCH)].count(400)
    assert Counter(statuses(lake, source).values()) == {"done": 59, "dead": 1}
    assert statuses(lake, source)["Page 31"] == "dead"
    attempts = [read_partition(lake, PAGES, name) for name in lake.partitions(PAGES)]
    assert [by_title(rows).get("Page 31") for rows in attempts] == [
        ("failed", 1),
        ("failed", 2),
        ("failed", 3),
        ("dead", 4),
    ]
    assert "HTTP 400" in attempts[-1][0]["error"]
    assert refused == 3  # with 50, with 10, alone


@pytest.mark.full
def test_a_page_that_the_wiki_answers_500_for_fails_alone(lake: Lake) -> None:
    _one_page_answers_500(lake)


def test_a_page_that_the_wiki_answers_500_for_fails_alone_without_retries(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    _one_page_answers_500(lake)


def _one_page_answers_500(lake: Lake) -> None:
    titles = [f"Page {number}" for number in range(12)]
    put_manifest(lake, BATCH, *titles)
    with small_wiki(titles) as wiki:
        wiki.failure, wiki.refuses = 500, lambda titles: "Page 7" in titles
        source = source_of_wiki(wiki)
        with reading(lake, source, BATCH) as reader:
            rows = fetch_batch(lake, BATCH, reader, "test")
    assert {title for title, found in by_title(rows).items() if found != ("ok", 1)} == {"Page 7"}
    assert by_title(rows)["Page 7"] == ("failed", 1)
    [kept] = read_partition(lake, TRACEBACKS, BATCH)
    assert kept["traceback"].index("WikiUnavailable") < kept["traceback"].index("GroupError")


def test_the_traceback_of_a_page_goes_back_to_what_the_network_did(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    put_manifest(lake, BATCH, "A", "B")
    behave = SmallWiki.behave

    def breaks(wiki: SmallWiki, handler: Handler) -> None:
        if "A" in handler.parameters.get("titles", ""):
            reset(handler)
        else:
            behave(wiki, handler)

    monkeypatch.setattr(SmallWiki, "behave", breaks)
    with small_wiki(["A", "B", "C"]) as wiki, reading(lake, source_of_wiki(wiki), BATCH) as reader:
        rows = fetch_batch(lake, BATCH, reader, "test")
    assert by_title(rows) == {"A": ("failed", 1), "B": ("ok", 1)}
    [kept] = read_partition(lake, TRACEBACKS, BATCH)
    places = [kept["traceback"].index(name) for name in ("httpcore", "WikiUnavailable", "GroupError")]
    assert places == sorted(places)


@pytest.mark.parametrize("lists_go_on", [True, False])
@pytest.mark.parametrize(("status", "error"), [(500, WikiUnavailable), (404, WikiRefused)])
def test_a_wiki_that_serves_no_text_any_more_marks_no_page(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, status: int, error: type[Exception], *, lists_go_on: bool
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    titles = [f"Page {number}" for number in range(60)]
    put_manifest(lake, BATCH, *titles)
    with small_wiki(titles) as wiki:
        source = source_of_wiki(wiki)
        wiki.failure = status
        wiki.refuses = lambda asked: len(wiki.asked) > 50 and (bool(asked) or not lists_go_on)
        with reading(lake, source, BATCH) as reader, pytest.raises(error):
            fetch_batch(lake, BATCH, reader, "test")
        assert unfinished_batches(lake, "wiki") == [BATCH]
        wiki.refuses = lambda _: False
        wiki.fake.requests.clear()
        with reading(lake, source, BATCH) as reader:
            rows = fetch_batch(lake, BATCH, reader, "test")
        assert wiki.asked == titles[50:]
    assert set(by_title(rows).values()) == {("ok", 1)}


def test_a_wiki_of_one_page_that_it_cannot_serve_is_not_taken_for_down(lake: Lake) -> None:
    put_manifest(lake, BATCH, "A")
    with small_wiki(["A"]) as wiki:
        wiki.refuses = lambda titles: "A" in titles
        with reading(lake, source_of_wiki(wiki), BATCH) as reader:
            rows = fetch_batch(lake, BATCH, reader, "test")
    assert by_title(rows) == {"A": ("failed", 1)}


def test_unknown_pages_and_odd_titles_become_rows(lake: Lake) -> None:
    titles = ["Unknown", "A/B/C", "É" * 127, "ÉCLAIR", "Éclair", "Template:T"]
    put_manifest(lake, BATCH, *titles)
    with small_wiki(titles[1:-1]) as wiki, reading(lake, source_of_wiki(wiki), BATCH) as reader:
        rows = fetch_batch(lake, BATCH, reader, "test")
    assert [row["status"] for row in rows] == ["missing", "ok", "ok", "ok", "ok", "missing"]


def test_a_failed_page_keeps_the_namespace_that_it_was_asked_in(lake: Lake) -> None:
    put_manifest(lake, BATCH, "Template:T")
    with small_wiki(["A"]) as wiki:
        wiki.refuses = lambda titles: "Template:T" in titles
        with reading(lake, source_of_wiki(wiki), BATCH) as reader:
            (row,) = fetch_batch(lake, BATCH, reader, "test")
    assert (row["status"], row["namespace"]) == ("failed", 10)


# From here on with an export.


def test_an_export_that_was_removed_ends_the_run_naming_the_file_and_marks_no_page(
    lake: Lake, tmp_path: Path
) -> None:
    put_manifest(lake, "dump-000001", "A", ordinal=0)
    source = dump_source(tmp_path / "gone.xml")
    with reading(lake, source, "dump-000001") as reader, pytest.raises(DumpError, match=r"gone\.xml"):
        fetch_batch(lake, "dump-000001", reader, "test")
    assert statuses(lake, source) == {}
    assert unfinished_batches(lake, "dump") == ["dump-000001"]


def test_a_batch_without_places_that_became_a_dumps_fails_page_by_page(lake: Lake, tmp_path: Path) -> None:
    export = tmp_path / "wiki.xml"
    export.write_text("<mediawiki><page><title>A</title></page></mediawiki>")
    put_manifest(lake, BATCH, "A", "B")
    with reading(lake, dump_source(export, "wiki"), BATCH) as reader:
        rows = fetch_batch(lake, BATCH, reader, "test")
    assert by_title(rows) == {"A": ("failed", 1), "B": ("failed", 1)}
