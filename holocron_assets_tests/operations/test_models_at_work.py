"""The status shows what models do at every place at which they are asked, and while they are asked."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from busy_holocron import ASKED, LARGE, SCOPE, SMALL, add_session
from knowledge_rows import row_of
from sample_holocron import Holocron, sample_holocron
from test_snapshot import snapshot_of

from holocron_assets.derive.gpu.slots import GPU_POOL, GpuLock, place_of
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import LLM_ATTEMPTS
from holocron_assets.operations.state.models_at_work import Span, busy_share
from holocron_assets.operations.state.totals import read_totals

MINUTE = timedelta(minutes=1)
POOLS = """\
pools:
  cloud: {models: ["*-cloud"], limit: 2}
  other: {models: ["distant:*"], limit: 1}
"""
CLOUD, FAR = "huge-cloud", "distant:7b"


@pytest.fixture
def holocron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    """One whose models are of three pools."""
    file = tmp_path / "dispatch.yaml"
    file.write_text(POOLS, encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(file))
    return sample_holocron(tmp_path)


def put_calls(holocron: Holocron, *calls: tuple[str, datetime, timedelta]) -> None:
    """Write calls of models: which, when and for how long."""
    of: dict[str, Any] = {"scope": SCOPE, "interrogation": ASKED, "outcome": "ok"}
    rows = [
        row_of(
            LLM_ATTEMPTS,
            **of,
            call_id=str(n),
            model=model,
            started_at=at,
            total_ms=lasted / timedelta(milliseconds=1),
        )
        for n, (model, at, lasted) in enumerate(calls)
    ]
    write_partition(holocron.lake, LLM_ATTEMPTS, SCOPE, rows)


@contextmanager
def asking(holocron: Holocron, what: str, place: str, since: datetime) -> Iterator[None]:
    """Hold the right to ask at a place, as a process that asks there does."""
    lock = GpuLock(holocron.lake, what, pool=place)
    with time_machine.travel(since, tick=False):
        asyncio.run(lock.take())
    try:
        yield
    finally:
        lock.give_back()


def test_models_of_other_pools_are_busy_at_once_and_not_switched_to(holocron: Holocron) -> None:
    now = utc_now()
    for minutes in (60, 45, 30, 15):
        for model in (SMALL, CLOUD, FAR):
            begun = now - minutes * MINUTE
            add_session(
                holocron, model, begun, ended_at=begun + 15 * MINUTE, busy_share=0.98, busy_seconds=882.0
            )
    models = snapshot_of(holocron).models
    assert models.busy_share == pytest.approx(0.98, abs=0.01)
    assert models.busy_share_of_runs == pytest.approx(0.98)
    assert models.switches == 0
    add_session(holocron, LARGE, now - MINUTE, busy_share=0.98)
    assert snapshot_of(holocron).models.switches == 1
    switches = {row["model"]: row["switches"] for row in read_totals(holocron.lake).sessions}
    assert switches == {SMALL: 0, CLOUD: 0, FAR: 0, LARGE: 1}


def test_a_session_under_way_is_busy_since_its_process_began_to_ask(holocron: Holocron) -> None:
    now = utc_now()
    assert snapshot_of(holocron).models.busy_share == 0
    with asking(holocron, "dispatch asking one", GPU_POOL, now - 15 * MINUTE):
        models = snapshot_of(holocron).models
        assert models.busy_share == pytest.approx(0.25, abs=0.01)
        assert (models.at_work or "").startswith("dispatch asking one (process")
    models = snapshot_of(holocron).models
    assert (models.busy_share, models.at_work) == (0, None), "it gave the GPU back, and left no row"


def test_a_process_that_asks_models_of_another_pool_is_shown_too(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = load_interrogations()[0].models[0]
    file = tmp_path / "all.yaml"
    file.write_text('pools: {cloud: {models: ["*"], limit: 3}}', encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(file))
    with asking(holocron, "dispatch asking it", place_of("cloud", model), utc_now() - 30 * MINUTE):
        models = snapshot_of(holocron).models
    assert models.busy_share == pytest.approx(0.5, abs=0.01)
    assert (models.at_work or "").startswith("dispatch asking it (process")


def test_calls_count_until_their_session_has_its_row_and_then_once(holocron: Holocron) -> None:
    now = utc_now()
    begun = now - 30 * MINUTE
    put_calls(holocron, *((SMALL, begun + n * MINUTE, 0.5 * MINUTE) for n in range(20)))
    assert snapshot_of(holocron).models.busy_share == pytest.approx(10 / 60, abs=0.01)
    add_session(holocron, SMALL, begun, ended_at=begun + 19.5 * MINUTE, busy_share=10 / 19.5)
    assert snapshot_of(holocron).models.busy_share == pytest.approx(10 / 60, abs=0.01)


def test_a_file_of_pools_that_cannot_be_used_hides_nothing(holocron: Holocron, tmp_path: Path) -> None:
    for number, model in enumerate((SMALL, CLOUD)):
        add_session(holocron, model, utc_now() - (10 - number) * MINUTE, busy_share=1.0)
    (tmp_path / "dispatch.yaml").write_text("pools: 7", encoding="utf-8")
    assert snapshot_of(holocron).models.switches == 1


def test_of_spans_at_once_the_busiest_counts() -> None:
    start = datetime(2026, 1, 1, tzinfo=utc_now().tzinfo)

    def span(begun: float, ended: float, share: float = 1.0) -> Span:
        return Span(start + begun * MINUTE, start + ended * MINUTE, share)

    def share(*spans: Span) -> float:
        return busy_share(spans, start, start + 10 * MINUTE)

    assert share() == 0
    assert share(span(-5, 5), span(8, 99)) == pytest.approx(0.7)
    assert share(span(0, 10), span(0, 10), span(2, 3)) == pytest.approx(1.0)
    assert share(span(0, 10, 0.5), span(4, 6)) == pytest.approx(0.6)
    assert share(span(-9, -1), span(11, 12), span(3, 3)) == 0
