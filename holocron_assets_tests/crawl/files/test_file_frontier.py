"""The frontier of files: what is pending, and the batches that are cut from it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from file_rows import list_source, put_list, put_outcomes

from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.crawl.frontier.batches import NoManifestError
from holocron_assets.crawl.frontier.file_batches import (
    cut_file_batches,
    file_manifest,
    unfinished_file_batches,
)
from holocron_assets.crawl.frontier.requeue import requeue, retry_now
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.files.quarantine import set_aside
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES
from holocron_assets.lake.tracebacks import keep_tracebacks
from holocron_assets.lake.views.database import connect, query

A, B, C = (f"https://a.example/{name}" for name in "abc")


def cut(lake: Lake, now: datetime | None = None, **settings: Any) -> list[list[tuple[str, str]]]:
    """Names and reasons of what is cut, batch by batch."""
    batches = cut_file_batches(lake, list_source(**settings), now=now or utc_now())
    return [[(row["name"], row["reason"]) for row in file_manifest(lake, batch)] for batch in batches]


def states(lake: Lake) -> dict[str, str]:
    return {row["name"]: row["state"] for row in rows(lake, "files", "select name, state from files")}


def test_what_is_listed_is_cut_in_the_lists_order_and_only_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_list(lake, C, A, B)
    assert cut(lake, batch_size=2) == [[(C, "new"), (A, "new")], [(B, "new")]]
    assert cut(lake) == []
    assert unfinished_file_batches(lake, "files") == ["files-000001", "files-000002"]
    assert states(lake) == dict.fromkeys((A, B, C), "in flight")


def test_an_artifact_that_two_lists_name_is_fetched_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_list(lake, A, B)
    put_list(lake, B, "the same", C, source="other", artifact_id=[f"url:{B}", f"url:{B}", f"url:{C}"])
    assert cut(lake) == [[(A, "new"), (B, "new")]]
    assert cut(lake, name="other") == [[(C, "new")]]
    put_outcomes(lake, "files-000001", at=utc_now())
    assert cut(lake, name="other") == []
    assert states(lake) == {A: "ok", B: "ok", C: "in flight"}


def test_another_version_is_fetched_again_and_shows_what_is_held(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_list(lake, A, version=["1"])
    cut(lake)
    put_outcomes(lake, "files-000001", at=utc_now(), etag='"x"', url=A)
    assert cut(lake) == []
    put_list(lake, A, version=["2"])
    assert cut(lake) == [[(A, "changed")]]
    [row] = file_manifest(lake, "files-000002")
    assert (row["held_sha256"], row["held_etag"], row["held_url"]) == ("0" * 64, '"x"', A)


def fetched_until_done(lake: Lake) -> list[tuple[str, str]]:
    """Names and reasons of what is fetched until nothing is pending, or until ten batches were cut."""
    fetched = []
    for _ in range(10):
        pieces = cut(lake)
        for batch in unfinished_file_batches(lake, "files"):
            put_outcomes(lake, batch, at=utc_now())
        if not pieces:
            break
        fetched += [item for piece in pieces for item in piece]
    return fetched


@pytest.mark.parametrize("second", ["2", None])
def test_an_artifact_that_is_listed_in_two_versions_is_fetched_once_for_each(
    tmp_path: Path, second: str | None
) -> None:
    lake = Lake(tmp_path)
    put_list(lake, A, "the same", artifact_id=[f"url:{A}"] * 2, version=["1", second])
    assert fetched_until_done(lake) == [(A, "new"), *([("the same", "changed")] if second else [])]
    put_list(lake, A, "the same", artifact_id=[f"url:{A}"] * 2, version=["3", second])
    assert fetched_until_done(lake) == [(A, "changed")]


@pytest.mark.parametrize("status", ["missing", "refused"])
def test_what_an_address_did_not_give_is_fetched_once_from_each_other_address_that_a_list_states(
    tmp_path: Path, status: str
) -> None:
    lake, one = Lake(tmp_path), [f"sha1:{'a' * 40}"] * 2

    def fetched() -> list[tuple[str, str]]:
        pieces = cut(lake)
        for batch in unfinished_file_batches(lake, "files"):
            put_outcomes(lake, batch, status, at=utc_now())
        return [item for piece in pieces for item in piece]

    put_list(lake, "old", artifact_id=one, url=[A])
    assert (fetched(), fetched()) == ([("old", "new")], [])
    put_list(lake, "new", "old", artifact_id=one, url=[B, A])
    assert (fetched(), fetched()) == ([("new", "changed")], [])
    put_list(lake, "new", artifact_id=one, url=[f"{B}?signed=anew"])
    assert fetched() == [], "another query is no other place"
    put_list(lake, "new", artifact_id=one, url=[None])
    assert fetched() == []
    assert states(lake) == {"new": status}


def test_a_version_that_failed_is_tried_again_though_another_one_was_fetched_since(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A, "the same", artifact_id=[f"url:{A}"] * 2, version=["1", "2"])
    assert cut(lake) == [[(A, "new")]]
    put_outcomes(lake, "files-000001", at=now - timedelta(minutes=3))
    assert cut(lake) == [[("the same", "changed")]]
    put_outcomes(lake, "files-000002", "failed", at=now - timedelta(minutes=2), due_at=now)
    put_list(lake, A, "the same", artifact_id=[f"url:{A}"] * 2, version=["3", "2"])
    assert cut(lake) == [[(A, "changed")]]
    put_outcomes(lake, "files-000003", at=now - timedelta(minutes=1))
    assert cut(lake, now) == [[("the same", "retry")]]


def test_a_version_that_comes_back_is_fetched_again_and_one_that_is_no_longer_stated_is_not(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    for version, reason in (("1", "new"), ("2", "changed"), ("1", "changed"), (None, None), ("1", None)):
        put_list(lake, A, version=[version])
        assert fetched_until_done(lake) == ([(A, reason)] if reason else []), version


def test_a_version_that_was_given_up_is_a_dead_letter_though_another_one_was_fetched_since(
    tmp_path: Path,
) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A, version=["1"])
    put_list(lake, B, source="other", artifact_id=[f"url:{A}"], version=["2"])
    cut(lake)
    put_outcomes(lake, "files-000001", "dead", at=now - timedelta(minutes=2), error="it is gone")
    cut(lake, name="other")
    put_outcomes(lake, "other-000001", at=now - timedelta(minutes=1))
    keep_tracebacks(lake, "files-000001", "files", {str(artifact_key(f"url:{A}")): "Traceback"})
    [row] = rows(lake, "files", "select name, state, attempts, error, batch from files")
    assert tuple(row.values()) == (A, "dead", 1, "it is gone", "files-000001")
    letter = {"source": "files", "title": A}
    assert rows(lake, "dead_letters", "select source, title from dead_letters") == [letter]
    assert rows(lake, "tracebacks", "select source, title from tracebacks") == [letter]
    assert len(requeue(lake, source=None, titles=None, author="a person", reason="try again")) == 1
    assert cut(lake) == [[(A, "requeue")]]
    put_list(lake, A, version=["3"])
    assert rows(lake, "given_up", "from given_up") == [], "nobody wants that version any more"


@pytest.mark.parametrize("status", ["missing", "refused"])
def test_what_was_refused_is_asked_for_once_more_after_the_settings_that_refuse_have_changed(
    tmp_path: Path, status: str
) -> None:
    lake = Lake(tmp_path)

    def fetched(**settings: Any) -> list[list[tuple[str, str]]]:
        pieces = cut(lake, **settings)
        for batch in unfinished_file_batches(lake, "files"):
            put_outcomes(lake, batch, status, at=utc_now())
        return pieces

    put_list(lake, A, B)
    assert fetched(max_bytes=100) == [[(A, "new"), (B, "new")]]
    assert fetched(max_bytes=100, batch_size=7) == []
    put_list(lake, C, A)
    raised = {"max_bytes": 1000}
    assert fetched(**raised) == [[(C, "new"), (A, "settings")]], "nothing lists the other any more"
    assert fetched(**raised) == []
    assert fetched(max_bytes=100) == [[(C, "settings")]], "of the other one it is known"
    robots = {"obey_robots": False, "contact": "tests@example.org"}
    assert fetched(politeness=robots) == [[(C, "settings"), (A, "settings")]]


def test_what_a_batch_of_an_earlier_version_did_not_give_is_left_as_it_is(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_list(lake, A)
    cut(lake)
    [wanted] = file_manifest(lake, "files-000001")
    write_partition(lake, FILE_BATCHES, "files-000001", [{**wanted, "settings": None}])
    put_outcomes(lake, "files-000001", "refused", at=utc_now())
    assert cut(lake, max_bytes=1000) == []


def test_a_file_of_a_wiki_that_was_replaced_before_it_was_fetched_is_no_dead_letter(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_list(lake, "File:A.png", artifact_id=[f"sha1:{'a' * 40}"], url=[A])
    cut(lake)
    put_outcomes(lake, "files-000001", "dead", at=utc_now(), error="another checksum")
    keep_tracebacks(lake, "files-000001", "files", {str(artifact_key(f"sha1:{'a' * 40}")): "Traceback"})
    letters = "select title, error from dead_letters"
    assert rows(lake, "dead_letters", letters) == [{"title": "File:A.png", "error": "another checksum"}]
    put_list(lake, "File:A.png", artifact_id=[f"sha1:{'b' * 40}"], url=[A])
    assert rows(lake, "dead_letters", letters) == []
    assert rows(lake, "tracebacks", "from tracebacks") == []
    assert cut(lake) == [[("File:A.png", "new")]]


def rows(lake: Lake, view: str, sql: str) -> list[dict[str, Any]]:
    with connect(lake, relations=[view]) as connection:
        return list(query(connection, sql))


def test_a_failed_one_waits_and_a_dead_one_until_a_person_requeues_it(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A)
    cut(lake)
    put_outcomes(lake, "files-000001", "failed", at=now, due_at=now + timedelta(minutes=5))
    assert cut(lake) == []
    assert states(lake) == {A: "waiting"}
    put_outcomes(lake, "files-000001", "failed", at=now, due_at=now - timedelta(seconds=1))
    assert cut(lake) == [[(A, "retry")]]
    [row] = file_manifest(lake, "files-000002")
    assert row["failures"] == 1
    put_outcomes(lake, "files-000002", "dead", at=now)
    assert cut(lake) == []
    assert len(requeue(lake, source="files", titles=[A], author="a person", reason="try again")) == 1
    assert cut(lake) == [[(A, "requeue")]]
    assert file_manifest(lake, "files-000003")[0]["failures"] == 0


def test_a_waiting_one_is_tried_at_once_if_a_person_says_so_and_its_attempts_count(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A)
    cut(lake)
    put_outcomes(lake, "files-000001", "failed", at=now, due_at=now + timedelta(minutes=5))
    retry_now(lake, [("files", A)], author="a person", reason="now")
    assert cut(lake) == [[(A, "retry")]]
    assert file_manifest(lake, "files-000002")[0]["failures"] == 1


def test_it_is_asked_again_whether_it_changed_only_where_the_source_says_so(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A, B)
    cut(lake)
    long_ago = now - timedelta(hours=3)
    put_outcomes(lake, "files-000001", at=long_ago)
    assert cut(lake) == []
    assert cut(lake, recheck_after_hours=4) == []
    put_list(lake, A, B, C)
    assert cut(lake, recheck_after_hours=2) == [[(C, "new"), (A, "recheck"), (B, "recheck")]]


def test_a_fresh_answer_is_not_checked_before_its_time(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A)
    cut(lake)
    put_outcomes(lake, "files-000001", at=now - timedelta(hours=3), fresh_until=now + timedelta(hours=1))
    assert cut(lake, recheck_after_hours=2) == []


def test_one_whose_bytes_were_set_aside_is_fetched_again_before_others_are_checked(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    put_list(lake, A, B)
    cut(lake, batch_size=1)
    put_outcomes(lake, "files-000001", at=now, sha256="a" * 64)
    put_outcomes(lake, "files-000002", at=now, sha256="b" * 64)
    damaged = FileStore(lake).path("b" * 64)
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"damaged")
    assert cut(lake, now) == []
    assert set_aside(lake, DamagedPartitionError(damaged, "a bit flipped"))
    later = now + timedelta(days=8)
    assert cut(lake, later, recheck_after_hours=168) == [[(B, "lost"), (A, "recheck")]]
    put_outcomes(lake, "files-000003", at=later, sha256="c" * 64)
    assert cut(lake, later) == [], "it has other bytes now"


def test_what_no_list_names_any_more_stays_in_the_lake(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_list(lake, A, B)
    cut(lake)
    put_outcomes(lake, "files-000001", at=utc_now())
    put_list(lake, B)
    assert states(lake) == {A: "unlisted", B: "ok"}


def test_a_batch_that_was_never_cut_is_named_with_what_cuts_one(tmp_path: Path) -> None:
    with pytest.raises(NoManifestError, match="holocron crawl --source"):
        file_manifest(Lake(tmp_path), "files-000009")


def test_a_frontier_of_no_files_is_empty(tmp_path: Path) -> None:
    assert cut(Lake(tmp_path)) == []
