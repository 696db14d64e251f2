"""Listing a wiki's files, and those that lists name."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from crawl_rows import outcome, put_manifest, put_site
from crawl_rows import put_outcomes as put_pages
from fake_mediawiki import Handler
from file_rows import list_source, put_outcomes, wiki_files
from wiki_of_files import WikiOfFiles, wiki_of_files

from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.frontier.file_batches import cut_file_batches
from holocron_assets.crawl.mediawiki.client import MOST_TITLES, WikiClient
from holocron_assets.crawl.readers import wiki_client
from holocron_assets.crawl.sources.file_list import list_is_due, store_file_list
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES, FILE_LIST, FILE_USES


def no_network(url: str) -> bytes:
    raise AssertionError(f"asked for {url}")


@contextmanager
def asking(lake: Lake, source: FileSource) -> Iterator[WikiClient]:
    with wiki_client(lake, source, f"{source.name}-list", lake.root / "politeness") as client:
        yield client


def of_wiki(wiki: WikiOfFiles, **changes: Any) -> FileSource:
    return wiki_files(wiki.fake.api_url, private_hosts=["127.0.0.1"], **changes)


def listed(lake: Lake, source: FileSource) -> list[tuple[str, str]]:
    """Names and artifacts, in their order."""
    with asking(lake, source) as client:
        store_file_list(lake, source, client, no_network)
    return [(row["name"], row["artifact_id"]) for row in read_partition(lake, FILE_LIST, source.name)]


def put_uses(lake: Lake, batch: str, *uses: tuple[str, str], role: str = "text") -> None:
    """Let pages of source `wiki` use files: page and file of each."""
    pages: Sequence[str] = list(dict.fromkeys(page for page, _ in uses))
    put_site(lake)
    put_manifest(lake, batch, *pages)
    put_pages(lake, batch, *(outcome(page, batch=batch) for page in pages), manifest=False)
    rows = [
        {
            "source": "wiki",
            "batch": batch,
            "title": page,
            "title_key": title_key("wiki", page),
            "role": role,
            "name": name,
            "position": position,
        }
        for position, (page, name) in enumerate(uses)
    ]
    write_partition(lake, FILE_USES, batch, rows)


def test_every_file_of_a_wiki_is_listed_with_what_the_wiki_states(tmp_path: Path) -> None:
    with wiki_of_files(A=b"a", B=b"b", C=b"c") as wiki:
        found = listed(Lake(tmp_path), of_wiki(wiki))
    assert [name for name, _ in found] == ["File:A.png", "File:B.png", "File:C.png"]
    row = read_partition(Lake(tmp_path), FILE_LIST, "pictures")[0]
    assert row["url"] == "http://files.example/A.png"
    assert (row["size_bytes"], row["mime"], row["origin"]) == (1, "image/png", "all_files")
    assert row["artifact_id"] == f"sha1:{row['sha1']}"


@pytest.mark.parametrize("wanted", ["all", "pages"])
def test_a_file_whose_original_the_wiki_lost_does_not_keep_the_others_from_the_list(
    wanted: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lake = Lake(tmp_path)
    put_uses(lake, "wiki-000001", ("Salt", "File:A.png"), ("Salt", "File:B.png"), ("Salt", "File:C.png"))
    with wiki_of_files(A=b"a", B=b"b", C=b"c") as wiki:
        wiki.lost = frozenset({"File:B.png"})
        found = listed(lake, of_wiki(wiki, wanted=wanted, pages_of=["wiki"]))
    assert [name for name, _ in found] == ["File:A.png", "File:C.png"]
    assert "'file': 'File:B.png', 'why': 'url: Field required" in caplog.text


def test_a_moved_file_is_the_same_artifact_and_a_replaced_one_another(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with wiki_of_files(A=b"a", B=b"b") as wiki:
        source = of_wiki(wiki)
        before = dict(listed(lake, source))
        wiki.files = {"File:Moved.png": b"a", "File:B.png": b"new"}
        after = dict(listed(lake, source))
    assert after["File:Moved.png"] == before["File:A.png"]
    assert after["File:B.png"] != before["File:B.png"]


def test_a_replaced_file_names_the_version_before_it_and_goes_on_to(tmp_path: Path) -> None:
    lake = Lake(tmp_path)

    def archive_names() -> dict[str, str | None]:
        listed(lake, source)
        return {row["name"]: row["archive_name"] for row in read_partition(lake, FILE_LIST, "pictures")}

    with wiki_of_files(A=b"a", B=b"b") as wiki:
        source = of_wiki(wiki)
        assert archive_names() == {"File:A.png": None, "File:B.png": None}
        wiki.files["File:A.png"] = b"new"
        wiki.archived["File:A.png"] = "20260101000000!A.png"
        assert archive_names() == {"File:A.png": "20260101000000!A.png", "File:B.png": None}
        assert archive_names()["File:A.png"] == "20260101000000!A.png"
        assert wiki.asked == ["File:A.png"]


def test_a_listing_that_was_cut_off_asks_no_second_time_which_version_was_replaced(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with wiki_of_files(A=b"a", B=b"b") as wiki:
        source = of_wiki(wiki)
        listed(lake, source)
        wiki.files = {"File:A.png": b"new a", "File:B.png": b"new b"}
        wiki.archived = {"File:A.png": "1!A.png", "File:B.png": "1!B.png"}

        def until_b(handler: Handler) -> None:
            if handler.parameters.get("titles") == "File:B.png":
                handler.reply(200, b'{"error": {"code": "blocked"}}', {"Content-Type": "application/json"})
            else:
                wiki.behave(handler)

        wiki.fake.script[0] = until_b
        with pytest.raises(WikiRefused):
            listed(lake, source)
        wiki.fake.script[0] = wiki.behave
        wiki.fake.requests.clear()
        listed(lake, source)
        assert wiki.asked == ["File:B.png"]
    names = [row["archive_name"] for row in read_partition(lake, FILE_LIST, "pictures")]
    assert names == ["1!A.png", "1!B.png"]


def cut_off_after_one(wiki: WikiOfFiles, lake: Lake) -> None:
    """Let a listing end after its first answer; the wiki answers again."""
    answers = []

    def once(handler: Handler) -> None:
        answers.append(handler.parameters)
        if len(answers) > 1:
            handler.reply(500, b"no", {"Content-Type": "text/html"})
        else:
            wiki.behave(handler)

    wiki.fake.script[0] = once
    with pytest.raises(WikiUnavailable):
        listed(lake, of_wiki(wiki))
    wiki.fake.script[0] = wiki.behave
    wiki.fake.requests.clear()
    (lake.root / "politeness").rename(lake.root / "politeness-before")  # the host is left alone for a while


@pytest.mark.system
@pytest.mark.parametrize(
    ("days", "starts"), [(0, ["2"]), (2, [None, "2"])], ids=["a moment ago", "before the next one is due"]
)
def test_a_listing_of_all_files_goes_on_unless_it_is_so_old_that_the_next_is_due(
    days: int, starts: list[str | None], tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    with wiki_of_files(A=b"a", B=b"b", C=b"c", D=b"d") as wiki:
        cut_off_after_one(wiki, lake)
        with time_machine.travel(utc_now() + timedelta(days=days)):
            assert len(listed(lake, of_wiki(wiki))) == 4
    assert [request.parameters.get("place") for request in wiki.fake.requests] == starts


def refuses_to_go_on(handler: Handler) -> None:
    said = json.dumps({"error": {"code": "badcontinue", "info": "Invalid continue param."}}).encode()
    handler.reply(200, said, {"Content-Type": "application/json"})


@pytest.mark.system
def test_a_listing_that_the_wiki_will_not_go_on_with_begins_anew(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with wiki_of_files(A=b"a", B=b"b", C=b"c", D=b"d") as wiki:
        cut_off_after_one(wiki, lake)
        wiki.fake.script[0] = refuses_to_go_on
        with pytest.raises(WikiRefused, match="badcontinue"):
            listed(lake, of_wiki(wiki))
        wiki.fake.script[0] = wiki.behave
        wiki.fake.requests.clear()
        assert len(listed(lake, of_wiki(wiki))) == 4
    assert [request.parameters.get("place") for request in wiki.fake.requests] == [None, "2"]


def test_a_listing_that_the_wiki_refuses_on_its_way_keeps_what_was_listed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with wiki_of_files(A=b"a", B=b"b", C=b"c", D=b"d") as wiki:

        def once(handler: Handler) -> None:
            wiki.fake.script[0] = refuses_to_go_on
            wiki.behave(handler)

        wiki.fake.script[0] = once
        with pytest.raises(WikiRefused):
            listed(lake, of_wiki(wiki))
        wiki.fake.script[0] = wiki.behave
        wiki.fake.requests.clear()
        assert len(listed(lake, of_wiki(wiki))) == 4
    assert [request.parameters.get("place") for request in wiki.fake.requests] == ["2"]


def test_a_wiki_is_asked_once_about_one_file_though_it_would_go_on_with_earlier_versions(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    put_uses(lake, "wiki-000001", ("Salt", "File:A.png"))
    with wiki_of_files(A=b"a") as wiki:
        assert len(listed(lake, of_wiki(wiki, wanted="pages", pages_of=["wiki"]))) == 1
    assert wiki.asked == ["File:A.png"]


def test_only_files_that_pages_use_are_asked_about_and_each_only_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_uses(lake, "wiki-000001", ("Salt", "File:A.png"), ("Salt", "File:Gone.png"), ("Sand", "File:A.png"))
    with wiki_of_files(A=b"a", B=b"b") as wiki:
        source = of_wiki(wiki, wanted="pages", pages_of=["wiki"])
        assert [name for name, _ in listed(lake, source)] == ["File:A.png"]
        assert wiki.asked == ["File:A.png", "File:Gone.png"]
        put_uses(lake, "wiki-000002", ("Glass", "File:B.png"))
        assert list_is_due(lake, source, utc_now())
        assert [name for name, _ in listed(lake, source)] == ["File:A.png", "File:B.png"]
        assert "File:A.png" not in wiki.asked[2:]


@pytest.mark.system
def test_files_that_the_wiki_lacks_are_asked_about_again_only_when_the_list_is_due_or_its_settings_changed(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    put_uses(
        lake, "wiki-000001", ("Salt", "File:A.png"), ("Salt", "File:Gone.png"), ("Salt", "File:Lost.png")
    )

    def asked_by(source: FileSource) -> list[str]:
        wiki.fake.requests.clear()
        listed(lake, source)
        return wiki.asked

    with wiki_of_files(A=b"a") as wiki:
        wiki.lost = frozenset({"File:Lost.png"})
        source = of_wiki(wiki, wanted="pages", pages_of=["wiki"])
        assert asked_by(source) == ["File:A.png", "File:Gone.png", "File:Lost.png"]
        put_uses(lake, "wiki-000002", ("Sand", "File:Gone.png"), ("Sand", "File:Other.png"))
        assert asked_by(source) == ["File:Other.png"]
        assert asked_by(source) == []
        lake.note("absent-files-pictures.json").write('{"settings"')
        assert len(asked_by(source)) == 3, "a kill left half a note"
        assert len(asked_by(of_wiki(wiki, wanted="pages", pages_of=["wiki"], include=[r"\.png$"]))) == 4
        assert len(asked_by(source)) == 4
        wiki.files["File:Gone.png"] = b"uploaded"
        with time_machine.travel(utc_now() + timedelta(minutes=source.list_every_minutes)):
            assert len(asked_by(source)) == 4
    assert [row["name"] for row in read_partition(lake, FILE_LIST, "pictures")] == [
        "File:Gone.png",
        "File:A.png",
    ]


FIFTY_TWO = [f"File:F{number:02}.png" for number in range(MOST_TITLES + 2)]


@contextmanager
def cut_off_listing(lake: Lake) -> Iterator[tuple[WikiOfFiles, FileSource]]:
    """A wiki that fell silent after it was asked about the first files of `FIFTY_TWO`, and answers again."""
    put_uses(lake, "wiki-000001", *(("Salt", name) for name in FIFTY_TWO))
    with wiki_of_files(New=b"new") as wiki:
        wiki.files |= {name: name.encode() for name in FIFTY_TWO}
        source, behave = of_wiki(wiki, wanted="pages", pages_of=["wiki"]), wiki.behave

        def once(handler: Handler) -> None:
            wiki.fake.script[0] = lambda other: other.reply(500, b"no", {"Content-Type": "text/html"})
            behave(handler)

        wiki.fake.script[0] = once
        with pytest.raises(WikiUnavailable):
            listed(lake, source)
        wiki.fake.script[0] = behave
        wiki.fake.requests.clear()
        (lake.root / "politeness").rename(lake.root / "politeness-before")
        yield wiki, source


@pytest.mark.system
def test_a_listing_that_was_cut_off_goes_on_though_more_pages_were_read_meanwhile(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with cut_off_listing(lake) as (wiki, source):
        put_uses(lake, "wiki-000002", ("Sand", "File:New.png"), ("Sand", FIFTY_TWO[-1]))
        found = [name for name, _ in listed(lake, source)]
    assert sorted(found) == [*FIFTY_TWO, "File:New.png"]
    assert found[0] == FIFTY_TWO[-1], "the most used first"
    assert sorted(wiki.asked) == [*FIFTY_TWO[-2:], "File:New.png"]
    assert not list_is_due(lake, source, utc_now())


@pytest.mark.system
def test_a_listing_that_was_cut_off_long_ago_asks_about_every_file_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with cut_off_listing(lake) as (wiki, source), time_machine.travel(utc_now() + timedelta(days=2)):
        assert len(listed(lake, source)) == len(FIFTY_TWO)
    assert sorted(wiki.asked) == FIFTY_TWO


def test_a_list_is_due_by_its_settings_its_lists_and_the_clock(tmp_path: Path) -> None:
    lake, path, now = Lake(tmp_path), tmp_path / "list.jsonl", utc_now()
    path.write_text('"https://a.example/x"\n')
    source = list_source(str(path), list_every_minutes=60)
    assert list_is_due(lake, source, now)
    store_file_list(lake, source, None, no_network)
    assert not list_is_due(lake, source, utc_now())
    assert list_is_due(lake, source, utc_now() + timedelta(hours=2))
    assert list_is_due(lake, source.model_copy(update={"exclude": ("x$",)}), utc_now())
    path.write_text('"https://a.example/x"\n"https://a.example/y"\n')
    assert list_is_due(lake, source, utc_now())


def test_a_list_of_files_that_pages_use_may_rest_while_pages_are_read(tmp_path: Path) -> None:
    lake, rest = Lake(tmp_path), timedelta(minutes=10)
    put_uses(lake, "wiki-000001", ("Salt", "File:A.png"))
    with wiki_of_files(A=b"a", B=b"b") as wiki:
        source = of_wiki(wiki, wanted="pages", pages_of=["wiki"])
        listed(lake, source)
        put_uses(lake, "wiki-000002", ("Sand", "File:B.png"))
        now = utc_now()
        assert not list_is_due(lake, source, now, rest)
        assert list_is_due(lake, source, now)
        assert list_is_due(lake, source, now + rest, rest)


def test_only_pages_of_its_sources_make_a_list_of_files_due(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_uses(lake, "wiki-000001", ("Salt", "File:A.png"))
    with wiki_of_files(A=b"a", B=b"b") as wiki:
        source = of_wiki(wiki, wanted="pages", pages_of=["wiki"])
        listed(lake, source)
    write_partition(lake, FILE_USES, "other-000001", [])
    assert not list_is_due(lake, source, utc_now())
    write_partition(lake, FILE_USES, "wiki-000002", [])
    assert list_is_due(lake, source, utc_now())


def test_patterns_choose_names_and_wrong_lines_are_counted_beside_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(
        "".join(f'"https://a.example/{name}"\n' for name in ("x.png", "y.pdf", "z.png")) + "[]\n" * 30
    )
    source = list_source(str(path), include=[r"\.png$"], exclude=["/z"])
    listing = store_file_list(Lake(tmp_path), source, None, no_network)
    assert [row["name"] for row in listing.rows] == ["https://a.example/x.png"]
    assert (len(listing.problems), listing.problem_count) == (20, 30)
    assert "line 4" in listing.problems[0]


def test_the_addresses_that_references_cite_are_a_list(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_uses(
        lake,
        "wiki-000001",
        ("Salt", "https://a.example/x"),
        ("Sand", "https://a.example/x"),
        role="reference",
    )
    source = list_source(lists=[{"view": "cited_urls", "column": "url"}])
    listing = store_file_list(lake, source, None, no_network)
    assert [(row["name"], row["origin"]) for row in listing.rows] == [
        ("https://a.example/x", "cited_urls.url")
    ]
    assert listing.problems == ()


def test_an_artifact_that_two_lists_of_a_source_name_differently_keeps_both_names(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.csv"
    one.write_text('{"url": "https://a.example/x", "name": "X"}\n')
    two.write_text("url,name\nHTTPS://A.EXAMPLE/x,Other name\n")
    listing = store_file_list(Lake(tmp_path), list_source(str(one), str(two)), None, no_network)
    assert {row["name"] for row in listing.rows} == {"X", "Other name"}
    assert len({row["artifact_key"] for row in listing.rows}) == 1


def test_artifacts_that_a_list_calls_the_same_and_versions_of_one_are_all_fetched(tmp_path: Path) -> None:
    lake, path = Lake(tmp_path), tmp_path / "list.csv"
    lines = ["1.pdf,Report,", "2.pdf,Report,", "3.pdf,,1", "3.pdf,,2", "3.pdf,,2"]
    path.write_text("url,name,version\n" + "".join(f"https://a.example/{line}\n" for line in lines))
    source = list_source(str(path))
    listing = store_file_list(lake, source, None, no_network)
    assert [(row["url"][-5:], row.get("version")) for row in listing.rows] == [
        ("1.pdf", None),
        ("2.pdf", None),
        ("3.pdf", "1"),
        ("3.pdf", "2"),
    ]
    fetched = []
    for _ in range(2):
        for batch in cut_file_batches(lake, source, now=utc_now()):
            fetched += [
                (row["url"][-5:], row["version"]) for row in read_partition(lake, FILE_BATCHES, batch)
            ]
            put_outcomes(lake, batch, at=utc_now())
    assert sorted(fetched, key=str) == [("1.pdf", None), ("2.pdf", None), ("3.pdf", "1"), ("3.pdf", "2")]
