"""The snapshot of the status: one typed value, of what the views, journals, models and people say."""

import json
from dataclasses import fields, replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from busy_holocron import ASKED, LARGE, SMALL, add_session, make_busy
from rich.console import Console
from sample_holocron import SAMPLE_BATCH, Holocron, sample_holocron

from holocron_assets.cli.operation.status_console import print_status, watched
from holocron_assets.crawl.sources.files import read_sources
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.state.plots import plotted
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import (
    STAGES,
    AgedWork,
    FailureCause,
    Hour,
    Queue,
    Reason,
    Stage,
)
from holocron_assets.operations.views import all_views

pytestmark = pytest.mark.system

VIEWS = {
    Stage: "processing_status",
    Queue: "queue_health",
    AgedWork: "aged_work",
    FailureCause: "failures",
    Hour: "throughput",
}
_BYTES_OF_PNG = b"\x89PNG\r\n\x1a\n"


def snapshot_of(holocron: Holocron) -> Status:
    sources = list(read_sources(holocron.sources_folder)[0].values())
    return take_snapshot(holocron.lake, sources, holocron.politeness_folder)


@pytest.fixture(scope="module")
def busy(finished_sample: Holocron, tmp_path_factory: pytest.TempPathFactory) -> Holocron:
    holocron = finished_sample.copy_to(tmp_path_factory.mktemp("busy"))
    make_busy(holocron)
    return holocron


@pytest.fixture(scope="module")
def status(busy: Holocron) -> Status:
    return snapshot_of(busy)


def shown(status: Status, *, width: int) -> str:
    printed = StringIO()
    print_status(Console(file=printed, width=width), status)
    return printed.getvalue()


def test_rows_have_the_columns_of_their_views(finished_sample: Holocron) -> None:
    with connect(finished_sample.lake, more_views=all_views([finished_sample.source()])) as connection:
        for kind, view in VIEWS.items():
            columns = [row["column_name"] for row in query(connection, f"describe {view}")]
            assert [field.name for field in fields(kind)] == columns, view
        columns_of_reasons = [row["column_name"] for row in query(connection, "describe processing_reasons")]
    assert [field.name for field in fields(Reason)] == columns_of_reasons[: len(fields(Reason))]


def test_as_json_says_all_of_it_in_plain_values(status: Status) -> None:
    as_json = status.as_json()
    assert json.loads(json.dumps(as_json, allow_nan=False)) == as_json
    assert set(as_json) == {field.name for field in fields(Status)}
    assert as_json["stages"][0]["stage"] == "pages"
    assert as_json["at"] == status.at.isoformat()


def test_a_snapshot_has_what_the_views_have(busy: Holocron, status: Status) -> None:
    sources = list(read_sources(busy.sources_folder)[0].values())
    with connect(busy.lake, more_views=all_views(sources, busy.lake)) as connection:
        stages = query(connection, "from processing_status")
    assert stages == [
        {field.name: getattr(row, field.name) for field in fields(Stage)} for row in status.stages
    ]


def test_a_snapshot_shows_holds_failures_and_questions(status: Status) -> None:
    [hold] = [held for held in status.paused if held.author != "its file"]
    assert (hold.scope, hold.action, hold.author) == ("all", "drain", "Ada")
    assert hold.resume == "holocron resume --all --reason WHY"
    causes = {(row.stage, row.cause) for row in status.failures}
    assert {("pages", "connection reset"), ("pages", "gone for good"), ("calls", "timeout")} <= causes
    [asked] = [queue for queue in status.queues if queue.interrogation == ASKED]
    assert asked.stage == "interrogations"
    assert [change.source for change in status.changes] == ["sample"]


def test_models_are_shown_by_their_sessions_of_a_day(finished_sample: Holocron, tmp_path: Path) -> None:
    holocron, now = finished_sample.copy_to(tmp_path), utc_now()
    before = {
        "loads": 1,
        "load_seconds": 2.0,
        "busy_seconds": 30.0,
        "busy_share": 0.5,
        "items": 3,
        "calls": 4,
    }
    for model, minutes in ((SMALL, 50 * 60), (SMALL, 300), (LARGE, 200), (SMALL, 100), (SMALL, 10)):
        add_session(holocron, model, now - timedelta(minutes=minutes), **before)
    models = snapshot_of(holocron).models
    assert (models.switches, models.loads, models.items, models.calls) == (2, 4, 12, 16)
    assert models.busy_share == pytest.approx(0.5 * 60 / 3600)
    assert models.busy_share_of_runs == pytest.approx(0.5)
    assert models.problem == "no model is asked: HOLOCRON_LLM is off"
    assert models.loaded is None


def test_a_snapshot_of_an_empty_lake_shows_nothing(tmp_path: Path) -> None:
    status = snapshot_of(sample_holocron(tmp_path))
    assert not any((status.stages, status.queues, status.failures, status.throughput))
    assert [source.source for source in status.sources] == ["sample"]
    assert plotted(status).startswith(_BYTES_OF_PNG)


def test_a_person_reads_it_in_eighty_columns(status: Status) -> None:
    said = shown(status, width=80)
    assert max(map(len, said.splitlines())) <= 80
    for heading in ("Held back", "Work", "The last hour", "Failures of the last day", "Types", "Entities"):
        assert heading in said
    assert "connection reset" in said


def test_between_two_snapshots_the_items_done_per_minute_are_shown(
    fetched_sample: Holocron, tmp_path: Path
) -> None:
    holocron = fetched_sample.copy_to(tmp_path)
    pages = read_partition(holocron.lake, PAGES, SAMPLE_BATCH)
    write_partition(holocron.lake, PAGES, SAMPLE_BATCH, pages[:120])
    before = snapshot_of(holocron)
    write_partition(holocron.lake, PAGES, SAMPLE_BATCH, pages)
    after = snapshot_of(holocron)
    minutes = (after.at - before.at).total_seconds() / 60
    printed = StringIO()
    Console(file=printed, width=200).print(watched(after, before))
    line = next(line for line in printed.getvalue().splitlines() if line.startswith("pages "))
    assert float(line.split()[-1]) == pytest.approx(60 / minutes, abs=0.01)


def test_a_picture_is_small_and_of_one_size_whatever_there_is(status: Status) -> None:
    picture = plotted(status)
    assert picture.startswith(_BYTES_OF_PNG)
    assert int.from_bytes(picture[16:20]) == 960
    assert len(picture) < 60_000


def test_a_picture_shows_what_became_of_items_and_not_of_requests_and_calls(status: Status) -> None:
    drawn, last = plotted(status), max(row.hour for row in status.throughput)
    cost = tuple(Hour(last, stage, "sample", None, 0, 900, 900) for stage in ("requests", "calls"))
    assert plotted(replace(status, throughput=status.throughput + cost)) == drawn
    for stage in STAGES:
        work = (Hour(last, stage, "sample", None, 900, 0, 0),)
        assert plotted(replace(status, throughput=status.throughput + work)) != drawn, stage
