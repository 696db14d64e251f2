"""Pages that a step cannot read count as given up, and raise alerts; and which answers count as done."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from crawl_rows import key, outcome, put_outcomes
from knowledge_rows import row_of
from sample_holocron import sample_holocron
from test_snapshot import snapshot_of
from test_status_views import BATCH, FACTS, MINUTE, asked, put_answers, put_typed

from holocron_assets.crawl.frontier.requeue import requeue
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS, PAGE_SIGNALS, UNREAD_PAGES
from holocron_assets.lake.views.public_views import all_behind
from holocron_assets.operations.notifications.alert_rules import AlertRules, findings
from holocron_assets.operations.notifications.dead_letters import TABLES, dead_letter_notices
from holocron_assets.operations.state.staleness import read_staleness

pytestmark = pytest.mark.system


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


def test_notices_of_dead_letters_are_made_from_all_tables_that_these_are_in(lake: Lake) -> None:
    assert {table.name for table in TABLES} == all_behind(lake, ["dead_letters"]).tables
    put_unread(lake, PAGE_LINKS, BATCH, "Nem")
    put_outcomes(lake, BATCH, outcome("Nem"))
    assert [notice.subject for notice in dead_letter_notices(lake)] == ["page_links: Nem"]


def put_unread(lake: Lake, table: Table, batch: str, *titles: str, age: timedelta = MINUTE) -> None:
    """Write that the step of a table gave pages up."""
    scope = f"{batch}-{table.name}"
    common: dict[str, Any] = {"scope": scope, "source": "wiki", "batch": batch, "step": table.name}
    common |= {"died_at": utc_now() - age, "attempts": 1}
    rows = [
        row_of(
            UNREAD_PAGES,
            **common,
            title=title,
            title_key=key(title),
            error=f"{title}: ValueError: {title!r} is odd",
        )
        for title in titles
    ]
    write_partition(lake, UNREAD_PAGES, scope, rows)


def types_stage(lake: Lake, **staleness: Any) -> dict[str, int]:
    [row] = asked(
        lake, "from processing_status where stage = 'page_types'", staleness=read_staleness(lake, **staleness)
    )
    return {name: row[name] for name in ("pending", "review", "dead", "done") if row[name]}


def facts(lake: Lake, view: str, *columns: str) -> tuple[Any, ...]:
    [row] = asked(lake, f"from {view} where interrogation = '{FACTS.name}'")
    return tuple(row[column] for column in columns)


def test_a_page_that_no_step_can_read_is_dead_once_and_nothing_else(lake: Lake) -> None:
    put_outcomes(lake, BATCH, *(outcome(title) for title in ("Fine", "Odd", "Odder")))
    put_unread(lake, PAGE_SIGNALS, BATCH, "Odd")
    assert types_stage(lake) == {"pending": 2, "dead": 1}
    put_unread(lake, PAGE_SIGNALS, BATCH, "Odd", "Odder")
    put_unread(lake, PAGE_LINKS, BATCH, "Odd")
    put_typed(lake, BATCH, "Fine", "Odd", "Odder", needs_review=True)
    assert types_stage(lake) == {"review": 1, "dead": 2}
    reasons = asked(lake, "select reason, items from processing_reasons where status = 'dead' order by all")
    assert reasons == [
        {"reason": "page_links, page_signals", "items": 1},
        {"reason": "page_signals", "items": 1},
    ]
    assert types_stage(lake, stale_batches=[BATCH]) == {"pending": 1, "dead": 2}


def test_an_unread_page_that_was_brought_back_or_fetched_anew_is_not_dead(lake: Lake) -> None:
    put_outcomes(lake, BATCH, *(outcome(title) for title in ("Back", "Anew", "Odd")))
    put_unread(lake, PAGE_SIGNALS, BATCH, "Back", "Anew", "Odd")
    put_typed(lake, BATCH, "Back", "Anew", "Odd")
    assert types_stage(lake) == {"dead": 3}
    requeue(lake, source="wiki", titles=["Back"], author="me", reason="again")
    put_outcomes(lake, "wiki-000002", outcome("Anew", fetched_at=utc_now()))
    put_typed(lake, "wiki-000002", "Anew")
    assert types_stage(lake) == {"dead": 1, "done": 2}
    [letters] = asked(lake, "select count(*) as letters from dead_letters")
    assert letters == {"letters": 1}


def test_unread_pages_are_what_an_hour_gave_up_and_raise_the_alerts(tmp_path: Path) -> None:
    holocron = sample_holocron(tmp_path)
    titles = [f"Odd {number}" for number in range(20)]
    put_outcomes(holocron.lake, BATCH, *(outcome(title, fetched_at=utc_now()) for title in titles))
    put_unread(holocron.lake, PAGE_SIGNALS, BATCH, *titles)
    put_unread(holocron.lake, PAGE_LINKS, BATCH, *titles[:7])
    put_typed(holocron.lake, BATCH, *titles)
    status = snapshot_of(holocron)
    [queue] = [queue for queue in status.queues if queue.stage == "page_types"]
    assert (queue.dead_last_hour, queue.out_last_hour) == (20, 0)
    found = {one.rule: one.message for one in findings(status, AlertRules(), models_are_asked=True)}
    assert found["exhausted"] == "20 were given up in the last hour"
    assert found["failures"] == "20 of 20 tries at page_types of wiki failed in the last hour"
    causes = {(one.cause, one.failures, one.dead) for one in status.failures}
    assert causes == {
        ("page_signals: ValueError: '...' is odd", 13, 13),
        ("page_links, page_signals: ValueError: '...' is odd", 7, 7),
    }
    put_unread(holocron.lake, PAGE_SIGNALS, BATCH, *titles, age=61 * MINUTE)
    put_unread(holocron.lake, PAGE_LINKS, BATCH)
    status = snapshot_of(holocron)
    assert [one.rule for one in findings(status, AlertRules(), models_are_asked=True)] == []
    assert sum(stage.dead for stage in status.stages) == 20


def test_an_answer_counts_as_done_while_the_page_is_wanted_as_it_was(lake: Lake) -> None:
    put_outcomes(lake, BATCH, *(outcome(title) for title in ("A", "B", "Unwanted")))
    put_typed(lake, BATCH, "A", "B")
    put_answers(lake, A={"status": "ok"}, B={"status": "ok"}, Unwanted={"status": "ok"})
    assert facts(lake, "processing_status", "pending", "done") == (0, 2)
    put_outcomes(lake, "wiki-000002", outcome("A", fetched_at=utc_now()))
    put_typed(lake, "wiki-000002", "A")
    assert facts(lake, "processing_status", "pending", "done") == (1, 1)
    assert facts(lake, "queue_health", "out_last_hour") == (3,), (
        "what was answered in the hour, wanted or not"
    )
