"""The views that say how things stand, over lakes in which that is known."""

import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from crawl_rows import (
    key,
    outcome,
    put_changes,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    wiki_source,
)
from knowledge_rows import row_of

from holocron_assets.crawl.frontier.requeue import requeue
from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.log import new_decision, record, undo
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_CANDIDATES,
    HTTP_ATTEMPTS,
    LLM_ATTEMPTS,
    LLM_RUNS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    REVIEW_ITEMS,
    UNREAD_PAGES,
)
from holocron_assets.lake.views.database import connect, publish, query
from holocron_assets.operations.state.snapshot import status_tables
from holocron_assets.operations.state.staleness import Staleness
from holocron_assets.operations.views import all_views, status_views
from holocron_assets.settings import interrogations_folder

pytestmark = pytest.mark.system

BATCH = "wiki-000001"
FACTS = next(one for one in load_interrogations() if one.name == "entity_facts")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


@pytest.fixture
def now() -> datetime:
    return utc_now()


def asked(lake: Lake, sql: str, *sources: Source, staleness: Staleness | None = None) -> list[dict[str, Any]]:
    """What is answered now, as `holocron status` asks it."""
    views = frontier_tables_of(lake, sources or [wiki_source()]) + status_views("table", staleness)
    with connect(lake, tables=status_tables(), more_views=views) as connection:
        return query(connection, sql)


def stage(lake: Lake, name: str, view: str = "processing_status", *sources: Source) -> dict[str, Any]:
    """The one row of a stage, without what it does not say."""
    [row] = asked(lake, f"from {view} where stage = '{name}'", *sources)
    return {column: value for column, value in row.items() if value not in (0, None) and column != "stage"}


def put_typed(lake: Lake, batch: str, *titles: str, primary_type: str = "Species", **values: Any) -> None:
    """Write signals and types of pages that are about something."""
    page = {"source": "wiki", "batch": batch, "primary_type": primary_type, "confidence": 0.95}
    page |= {"needs_review": False, "is_redirect": False, "wikitext_length": 100, "lead_length": 50, **values}
    for table in (PAGE_SIGNALS, PAGE_TYPES):
        known = {column.name for column in table.columns}
        own = {name: value for name, value in page.items() if name in known}
        rows = [row_of(table, title=title, title_key=key(title), **own) for title in titles]
        write_partition(lake, table, batch, rows)


def put_answers(lake: Lake, **statuses: dict[str, Any]) -> None:
    """Write what became of questions about pages, by title."""
    scope = f"{FACTS.name}-{BATCH}"
    common: dict[str, Any] = {
        "scope": scope,
        "interrogation": FACTS.name,
        "partition": BATCH,
        "source": "wiki",
    }
    common |= {"prompt_version": FACTS.prompt_version, "finished_at": utc_now()}
    rows = [
        row_of(LLM_RUNS, **{**common, "item_id": str(key(title)), "subject": title, **columns})
        for title, columns in statuses.items()
    ]
    write_partition(lake, LLM_RUNS, scope, rows)


def test_every_title_is_counted_in_the_state_that_it_is_in(lake: Lake, now: datetime) -> None:
    put_seeds(lake, "A", "New", "Cut", "Failed", "Dead", "Template:T", listed_at=[now - 9 * MINUTE] * 6)
    put_outcomes(
        lake,
        BATCH,
        outcome("A", fetched_at=now - MINUTE),
        outcome("Failed", "failed", fetched_at=now - MINUTE, due_at=now + 2 * MINUTE),
        outcome("Dead", "dead", fetched_at=now - MINUTE, attempts=4),
    )
    put_manifest(lake, "wiki-000002", "Cut", cut_at=now - 5 * MINUTE)
    assert stage(lake, "pages") == {
        "source": "wiki",
        "pending": 1,
        "in_flight": 1,
        "waiting": 1,
        "dead": 1,
        "skipped": 1,
        "done": 1,
        "oldest_at": now - 9 * MINUTE,
        "next_due_at": now + 2 * MINUTE,
    }


def test_a_page_waits_since_it_was_listed_linked_changed_or_brought_back(lake: Lake, now: datetime) -> None:
    put_seeds(lake, "Listed", "Read", "Changed", "Dead", listed_at=[now - 50 * MINUTE] * 4)
    put_outcomes(
        lake,
        BATCH,
        outcome("Read", fetched_at=now - 40 * MINUTE),
        outcome("Changed", fetched_at=now - 40 * MINUTE),
        outcome("Dead", "dead", fetched_at=now - 40 * MINUTE, attempts=4),
    )
    put_links(lake, BATCH, ("Read", "Linked"))
    put_changes(lake, ("Changed", "edit", now - 10 * MINUTE))
    requeue(lake, source="wiki", titles=["Dead"], author="me", reason="again")
    pending = "from processing_reasons where stage = 'pages' and status = 'pending'"
    rows = asked(lake, f"select reason, oldest_at {pending}")
    since = {row["reason"]: row["oldest_at"] for row in rows}
    assert since.pop("requeue") >= now
    assert since == {"new": now - 50 * MINUTE, "changed": now - 10 * MINUTE}
    put_seeds(lake, "Read", "Changed", "Dead", listed_at=[now - 50 * MINUTE] * 3)
    rows = asked(lake, f"select oldest_at {pending} and reason = 'new'", wiki_source(depth=1))
    assert rows == [{"oldest_at": now - 40 * MINUTE}], "the page that links to it was read then"


def test_aged_work_is_counted_by_how_long_it_waits(lake: Lake, now: datetime) -> None:
    ages = [30, 59, 61, 239, 241, 1439, 1441]
    put_seeds(lake, *(f"P{age}" for age in ages), listed_at=[now - age * MINUTE for age in ages])
    assert stage(lake, "pages", "aged_work") == {
        "source": "wiki",
        "items": 7,
        "over_60_minutes": 5,
        "over_240_minutes": 3,
        "over_1440_minutes": 1,
        "oldest_at": now - 1441 * MINUTE,
    }


def test_nothing_young_and_nothing_that_waits_for_nobody_is_aged(lake: Lake, now: datetime) -> None:
    put_seeds(lake, "Young", "Dead", "Done", listed_at=[now - 59 * MINUTE, *[now - 99 * MINUTE] * 2])
    long_ago = now - 90 * MINUTE
    put_outcomes(
        lake, BATCH, outcome("Dead", "dead", fetched_at=long_ago), outcome("Done", fetched_at=long_ago)
    )
    assert asked(lake, "from aged_work where stage = 'pages'") == []


def test_a_queue_shows_what_came_and_went_in_an_hour_and_when_it_is_empty(lake: Lake, now: datetime) -> None:
    # Six wait, one of them for ten minutes only; four were done in the hour, of which one came in it.
    listed = {
        **{f"Old{n}": 99 for n in range(5)},
        "Young": 10,
        "Past": 200,
        "D1": 99,
        "D2": 99,
        "D3": 99,
        "D4": 20,
    }
    put_seeds(lake, *listed, listed_at=[now - age * MINUTE for age in listed.values()])
    done = [outcome(f"D{n}", fetched_at=now - 5 * MINUTE) for n in range(1, 5)]
    put_outcomes(lake, BATCH, *done, outcome("Past", fetched_at=now - 90 * MINUTE))
    put_outcomes(lake, "wiki-000002", outcome("Old1", "failed", fetched_at=now - MINUTE, due_at=now + MINUTE))
    row = stage(lake, "pages", "queue_health")
    assert row.pop("oldest_minutes") == pytest.approx(99, abs=2)
    assert row == {
        "source": "wiki",
        "depth": 6,
        "oldest_at": now - 99 * MINUTE,
        "in_last_hour": 2,
        "out_last_hour": 4,
        "failed_last_hour": 1,
        "last_done_at": now - 5 * MINUTE,
        "eta_minutes": 180.0,  # two an hour less
    }


def test_what_was_done_by_a_clock_that_was_ahead_is_not_the_last_that_was_done(
    lake: Lake, now: datetime
) -> None:
    put_seeds(lake, "A", "B", "C", listed_at=[now - 99 * MINUTE] * 3)
    put_outcomes(lake, BATCH, outcome("A", fetched_at=now + timedelta(days=300)))
    put_outcomes(lake, "wiki-000002", outcome("B", fetched_at=now - 90 * MINUTE))
    row = stage(lake, "pages", "queue_health")
    assert row["last_done_at"] == now - 90 * MINUTE


def test_a_queue_that_does_not_become_shorter_has_no_end(lake: Lake, now: datetime) -> None:
    put_seeds(lake, "A", "B", listed_at=[now - 10 * MINUTE] * 2)
    put_outcomes(lake, BATCH, outcome("A", fetched_at=now - MINUTE))
    assert "eta_minutes" not in stage(lake, "pages", "queue_health")
    put_outcomes(lake, "wiki-000002", outcome("B", fetched_at=now - MINUTE))
    [row] = asked(lake, "select depth, eta_minutes from queue_health where stage = 'pages'")
    assert row == {"depth": 0, "eta_minutes": 0}


def test_failures_of_a_day_are_grouped_by_cause_without_the_page(lake: Lake, now: datetime) -> None:
    first, last, before = now - 90 * MINUTE, now - 5 * MINUTE, now - timedelta(days=1, minutes=1)
    put_outcomes(
        lake,
        BATCH,
        outcome("A", "failed", error="'A': the server said 500", fetched_at=first, due_at=now),
        outcome("B", "dead", error="'B': the server said 500", fetched_at=last),
        outcome("C", "failed", error="'C': the server said 503", fetched_at=first, due_at=now),
        outcome("D", "failed", error="'D': the server said 500", fetched_at=before, due_at=now),
        outcome("E", fetched_at=last),
    )
    rows = asked(lake, "select * exclude (stage, source, interrogation, job) from failures")
    assert rows == [
        {
            "cause": "the server said 500",
            "failures": 2,
            "dead": 1,
            "example": "B",
            "first_at": first,
            "last_at": last,
        },
        {
            "cause": "the server said 503",
            "failures": 1,
            "dead": 0,
            "example": "C",
            "first_at": first,
            "last_at": first,
        },
    ]


def test_requests_calls_and_steps_fail_for_causes_of_their_own(lake: Lake, now: datetime) -> None:
    request = {"source": "wiki", "scope": BATCH, "started_at": now}
    answers = [("ok", 200, None), ("throttled", 429, None), ("network_error", None, "connection reset")]
    attempts = [
        row_of(HTTP_ATTEMPTS, **request, attempt_id=str(n), outcome=what, status=status, error=error)
        for n, (what, status, error) in enumerate(answers)
    ]
    write_partition(lake, HTTP_ATTEMPTS, BATCH, attempts)
    call = {"scope": f"{FACTS.name}-{BATCH}", "interrogation": FACTS.name, "started_at": now, "subject": "A"}
    calls = [
        row_of(LLM_ATTEMPTS, **call, call_id=what, outcome=what, tag=tag)
        for what, tag in (("ok", None), ("timeout", None), ("malformed", "experiment"))
    ]
    write_partition(lake, LLM_ATTEMPTS, f"{FACTS.name}-{BATCH}", calls)
    put_outcomes(lake, BATCH, outcome("Poison", fetched_at=now))
    unread = {"scope": f"{BATCH}-page_signals", "source": "wiki", "batch": BATCH, "step": "page_signals"}
    died = row_of(
        UNREAD_PAGES,
        **unread,
        title="Poison",
        title_key=key("Poison"),
        error="Poison: a segfault",
        died_at=now,
    )
    write_partition(lake, UNREAD_PAGES, unread["scope"], [died])
    rows = asked(lake, "select stage, cause from failures order by all")
    assert [(row["stage"], row["cause"]) for row in rows] == [
        ("calls", "timeout"),
        ("page_types", "page_signals: a segfault"),
        ("requests", "network_error: connection reset"),
        ("requests", "throttled (HTTP 429)"),
    ]


def test_throughput_is_counted_by_hour(lake: Lake) -> None:
    hour = datetime.fromisoformat("2026-03-01T10:00:00+00:00")
    put_outcomes(
        lake,
        BATCH,
        outcome("A", fetched_at=hour),
        outcome("B", fetched_at=hour + 59 * MINUTE),
        outcome("C", "failed", fetched_at=hour + 30 * MINUTE, due_at=hour),
        outcome("D", "missing", fetched_at=hour + 60 * MINUTE),
    )
    rows = asked(lake, "select hour, done, failed, dead from throughput where stage = 'pages'")
    assert rows == [
        {"hour": hour, "done": 2, "failed": 1, "dead": 0},
        {"hour": hour + 60 * MINUTE, "done": 1, "failed": 0, "dead": 0},
    ]


def test_what_an_interrogation_wants_and_has_no_answer_about_waits(lake: Lake, now: datetime) -> None:
    titles = ("Ok", "Failed", "Due", "Dead", "Old", "Untried")
    put_outcomes(
        lake, BATCH, *(outcome(title, fetched_at=now - 20 * MINUTE) for title in (*titles, "Unwanted"))
    )
    put_typed(lake, BATCH, *titles)
    put_answers(
        lake,
        Ok={"status": "ok"},
        Failed={"status": "failed", "due_at": now + 5 * MINUTE},
        Due={"status": "failed", "due_at": now - MINUTE},
        Dead={"status": "dead"},
        Old={"status": "ok", "prompt_version": "an earlier one"},
        Unwanted={"status": "dead"},
    )
    [row] = asked(lake, f"from processing_status where interrogation = '{FACTS.name}'")
    counts = {name: row[name] for name in ("pending", "waiting", "dead", "done")}
    assert counts == {"pending": 3, "waiting": 1, "dead": 1, "done": 1}
    assert (row["oldest_at"], row["next_due_at"]) == (now - 20 * MINUTE, now + 5 * MINUTE)
    requeue(lake, source="wiki", titles=["Dead"], author="me", reason="again")
    [row] = asked(lake, f"from processing_status where interrogation = '{FACTS.name}'")
    assert (row["pending"], row["dead"]) == (4, 0)


def test_types_wait_for_the_batch_and_entities_for_their_candidates(lake: Lake, now: datetime) -> None:
    put_outcomes(lake, BATCH, *(outcome(title, fetched_at=now - 20 * MINUTE) for title in "AB"))
    put_outcomes(lake, "wiki-000002", outcome("C", fetched_at=now - 5 * MINUTE), outcome("D", "missing"))
    put_typed(lake, BATCH, "A", "B")
    assert stage(lake, "page_types") == {
        "source": "wiki",
        "pending": 1,
        "done": 2,
        "oldest_at": now - 5 * MINUTE,
    }
    candidates = [
        row_of(ENTITY_CANDIDATES, source="wiki", batch=BATCH, title=title, title_key=key(title))
        for title in "AB"
    ]
    write_partition(lake, ENTITY_CANDIDATES, BATCH, candidates)
    entity = {"source": "wiki", "title": "A", "title_key": key("A"), "state": "promoted", "valid_from": now}
    write_partition(lake, ENTITIES, "Species", [row_of(ENTITIES, entity_type="Species", **entity)])
    assert stage(lake, "entities") == {
        "source": "wiki",
        "pending": 1,
        "done": 1,
        "oldest_at": now - 20 * MINUTE,
    }


def test_a_question_about_a_page_waits_since_the_page_was_read(lake: Lake, now: datetime) -> None:
    put_outcomes(lake, BATCH, *(outcome(title, fetched_at=now - 90 * MINUTE) for title in "AB"))
    of_page = {"source": "wiki", "kind": "page", "batch": BATCH, "title": "A", "title_key": key("A")}
    of_pair = {**of_page, "kind": "pair", "title": "B", "title_key": key("B")}
    items = [
        row_of(REVIEW_ITEMS, item_id="page-A", since=None, **of_page),
        row_of(REVIEW_ITEMS, item_id="pair-1", since=now - 20 * MINUTE, **of_pair),
    ]
    write_partition(lake, REVIEW_ITEMS, "all", items)
    assert stage(lake, "review")["oldest_at"] == now - 90 * MINUTE
    assert stage(lake, "review", "aged_work")["over_60_minutes"] == 1
    assert stage(lake, "review", "queue_health")["in_last_hour"] == 1


def test_a_decision_that_was_taken_back_did_nothing_for_the_queue(lake: Lake) -> None:
    page = {"source": "wiki", "kind": "page", "batch": BATCH, "title": "A", "title_key": key("A")}
    write_partition(lake, REVIEW_ITEMS, "all", [row_of(REVIEW_ITEMS, item_id="page-A", **page)])
    decided = new_decision("classify", author="a", reason="b", source="wiki", title="B", value="Droid")
    record(lake, [decided])
    assert stage(lake, "review", "queue_health")["out_last_hour"] == 1
    undo(lake, decided["decision_id"], author="a", reason="b")
    assert "out_last_hour" not in stage(lake, "review", "queue_health")


def test_what_a_newer_batch_replaced_is_not_counted_again(lake: Lake, now: datetime) -> None:
    put_outcomes(lake, BATCH, *(outcome(title, fetched_at=now - 20 * MINUTE) for title in "AB"))
    put_outcomes(lake, "wiki-000002", outcome("A", fetched_at=now - 5 * MINUTE))
    put_typed(lake, BATCH, "A", "B")
    put_typed(lake, "wiki-000002", "A", primary_type="Droid")
    rows = asked(lake, "select reason, items from processing_reasons where stage = 'page_types' order by all")
    assert rows == [{"reason": "Droid", "items": 1}, {"reason": "Species", "items": 1}]
    [row] = asked(lake, f"from processing_status where interrogation = '{FACTS.name}'")
    assert row["pending"] == 2


@pytest.mark.full
def test_any_client_of_the_published_database_gets_the_same_status(lake: Lake, now: datetime) -> None:
    put_seeds(lake, "A", "B", listed_at=[now - 70 * MINUTE] * 2)
    put_outcomes(lake, BATCH, outcome("A", fetched_at=now - MINUTE))
    put_typed(lake, BATCH, "A")
    views = ("processing_status", "aged_work", "failures", "throughput")
    with connect(lake, more_views=all_views([wiki_source()], lake)) as connection:
        here = {view: query(connection, f"from {view}") for view in views}
    path = publish(lake, more_views=all_views([wiki_source()]))
    with duckdb.connect(path, read_only=True) as client:
        client.execute("set timezone = 'UTC'")
        there = {view: query(client, f"from {view}") for view in views}
    assert there == here


def test_a_condition_that_fails_on_a_row_does_not_take_the_status_with_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "interrogations" / FACTS.name
    shutil.copytree(interrogations_folder() / FACTS.name, folder)
    file = folder / "interrogation.yaml"
    wanted = file.read_text(encoding="utf-8").replace("wants:\n", "wants:\n  sql: title::bigint > 0\n")
    file.write_text(re.sub(r"  sql: (?!title).*\n", "", wanted), encoding="utf-8")
    (tmp_path / "spaces").mkdir()
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(folder.parent))
    monkeypatch.setenv("HOLOCRON_SPACES", str(tmp_path / "spaces"))
    put_outcomes(lake, BATCH, outcome("7"), outcome("No number"))
    put_typed(lake, BATCH, "7", "No number")
    [row] = asked(lake, "from processing_status where stage = 'interrogations'")
    assert row["pending"] == 1
