"""The count that a person sees while a model is asked."""

from datetime import timedelta
from pathlib import Path
from queue import Queue

from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.results.result_journals import journal_path
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packing import pack_journals
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.local.progress import answers_counted
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk

BATCH = "sample-000001"
AT = "2026-11-21T12:00:00+00:00"


def record(journal: Path, what: str, key: str, **more: object) -> None:
    with Journal(journal) as opened:
        opened.append({"what": what, "item": key, "key": key, "at": AT, **more})


def ended(journal: Path, key: str, status: str) -> None:
    costs = dict.fromkeys(
        ("calls", "tokens_in", "tokens_out", "load_ms", "prompt_ms", "generation_ms", "total_ms"), 1
    )
    record(
        *(journal, "ended", key),
        counts=True,
        status=status,
        answer={} if status == "ok" else None,
        parse_strategy=None,
        unsupported=0,
        error=None,
        due_at=None,
        run_id="run",
        costs=costs,
    )


def test_items_that_get_an_outcome_are_counted_from_the_start_of_the_run(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    (one,) = [found for found in load_interrogations() if found.name == "page_classification"]
    journal = journal_path(lake, one, BATCH)
    for number in range(20):
        ended(journal, f"before {number}", "ok")
    assert pack_journals(lake, now=utc_now() + timedelta(days=3)).journals == 1
    counts: Queue[int] = Queue()
    what = WhatToAsk(interrogations=[one.name], partitions=[BATCH])
    with answers_counted(lake, what, counts.put, every=0.01):
        assert counts.get(timeout=5) == 0
        record(journal, "begun", "a")
        ended(journal, "a", "ok")
        ended(journal, "b", "failed")
        ended(journal, "c", "dead")
        while counts.get(timeout=5) < 2:
            pass
    while not counts.empty():
        assert counts.get() == 2
