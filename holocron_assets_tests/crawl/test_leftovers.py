"""What kills leave beside finished batches is cleared, and nothing of it is lost."""

from pathlib import Path

from crawl_rows import outcome, put_outcomes
from test_http_log import attempt

from holocron_assets.crawl.leftovers import batches_with_leftovers, clear_leftovers
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGES

FINISHED, UNDER_WAY = "wiki-000001", "wiki-000002"


def left_by_a_kill(lake: Lake, batch: str) -> None:
    """Leave what a batch has while it is being read: its journal, and the record of its requests."""
    with Journal(lake.journal(PAGES, batch)) as journal:
        journal.append({"started": [0]})
    with Journal(lake.journal(HTTP_ATTEMPTS, batch)) as journal:
        journal.append(attempt("one") | {"scope": batch})


def test_journals_of_finished_batches_go_and_their_requests_are_stored(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_outcomes(lake, FINISHED, outcome("A"))
    for batch in (FINISHED, UNDER_WAY):
        left_by_a_kill(lake, batch)
    assert batches_with_leftovers(lake) == [FINISHED]
    assert clear_leftovers(lake) == 1
    assert not lake.journal(PAGES, FINISHED).exists()
    assert [row["attempt_id"] for row in read_partition(lake, HTTP_ATTEMPTS, FINISHED)] == ["one"]
    assert lake.journal(PAGES, UNDER_WAY).exists()
    assert not lake.has(HTTP_ATTEMPTS, UNDER_WAY)
    assert batches_with_leftovers(lake) == []


def test_a_batch_that_a_process_is_busy_with_is_left_for_later(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_outcomes(lake, FINISHED, outcome("A"))
    left_by_a_kill(lake, FINISHED)
    with lake.lock(f"batch-{FINISHED}"):
        assert clear_leftovers(lake) == 0
    assert lake.journal(PAGES, FINISHED).exists()
    assert clear_leftovers(lake) == 1
