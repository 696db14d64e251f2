"""Each file of an asset that is replaced is recorded by an event, once, and by the asset's own step."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from time import monotonic
from typing import NamedTuple

import dagster as dg
import pytest
from small_and_open import TEXTS
from whole_holocron import UNFINISHED, WholeHolocron, kill_group, until, whole_holocron

from holocron_assets.definitions import defs
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.tables import (
    ALL_TABLES,
    BATCH_PAGES,
    ENTITIES,
    ENTITY_FACTS,
    PAGE_CHANGES,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGES,
    REVIEW_ITEMS,
    TAGS,
)
from holocron_assets.orchestration.assets.events import RECORDED_LATE

pytestmark = pytest.mark.full

REPLACED = """
    import errno
    import os
    from contextlib import contextmanager
    from pathlib import Path

    from holocron_assets.lake.files import durable

    notes = Path(os.environ["HOLOCRON_TEST_REPLACED"])
    fails_once = os.environ["HOLOCRON_TEST_FAILS_ONCE"].split()
    replacing = durable.replacing

    def note(target):
        opened = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(opened, f"{target}\\n".encode())
        finally:
            os.close(opened)

    def fail_once(target):
        table = target.parent.parent.name
        if table in fails_once:
            try:
                os.close(os.open(f"{notes}.{table}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            raise OSError(errno.EIO, "a test has this fail once", str(target))

    @contextmanager
    def noted(target):
        with replacing(target) as aside:
            yield aside
        note(target)
        fail_once(target)

    durable.replacing = noted
"""
"""Notes each file that any process replaces, and lets the first of some tables fail when it is there."""

MODELS_TABLE = next(
    one.table for one in load_interrogations() if one.table.name.endswith("page_classification")
)
OF_THE_FIRST = (PAGE_LINKS, ENTITY_FACTS, MODELS_TABLE)
"""Of these tables the first file that is replaced costs its step a retry, before it recorded it."""

REPORTED = {BATCH_PAGES.name, PAGE_CHANGES.name}
"""Assets that no step makes: their events are reported."""

IDLE_SECONDS = 20.0

Place = tuple[str, str | None]


class Event(NamedTuple):
    """An event of an asset, as the log has it."""

    place: Place
    step: str | None
    run: str
    is_late: bool


def tables() -> dict[str, Table]:
    """The tables that assets are, by the names of the folders that they lie in."""
    names = {key.to_user_string() for key in defs.resolve_asset_graph().materializable_asset_keys} - REPORTED
    every = [*ALL_TABLES, *(one.table for one in load_interrogations())]
    return {table.folder or table.name: table for table in every if table.name in names}


def steps() -> Mapping[str, str]:
    """The step that makes each asset."""
    return {
        key.to_user_string(): made.node_def.name
        for made in defs.resolve_asset_graph().assets_defs
        if made.is_executable
        for key in made.keys
    }


def replaced(whole: WholeHolocron) -> Counter[Place]:
    """How often the file of each partition was replaced, of all assets."""
    found, own = Counter[Place](), tables()
    for line in Path(whole.environment["HOLOCRON_TEST_REPLACED"]).read_text().splitlines():
        parts = Path(line).parts
        if whole.lake.layers in Path(line).parents and parts[-1] == "data.parquet" and parts[-3] in own:
            found[own[parts[-3]].name, parts[-2]] += 1
    return found


def recorded(whole: WholeHolocron) -> list[Event]:
    """The events of all assets that are tables."""
    with whole.instance() as instance:
        return [event for table in tables().values() for event in events_of(instance, table.name)]


def events_of(instance: dg.DagsterInstance, asset: str) -> Iterator[Event]:
    for record in instance.fetch_materializations(dg.AssetKey(asset), limit=10_000).records:
        entry, materialization = record.event_log_entry, record.asset_materialization
        assert materialization is not None
        is_late = materialization.description == RECORDED_LATE
        yield Event((asset, materialization.partition), entry.step_key, entry.run_id, is_late)


def expect_each_recorded_once(whole: WholeHolocron) -> None:
    events, own = recorded(whole), steps()
    assert {event for event in events if event.step != own[event.place[0]]} == set()
    times = Counter(event.place for event in events)
    files = replaced(whole)
    differ = {place for place in files | times if files[place] != times[place]}
    assert {place: (files[place], times[place]) for place in differ} == {}


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[WholeHolocron]:
    """A wiki and a dump, whose replaced files are noted; a step fails once where a file was just replaced."""
    folder = tmp_path / "noting"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(dedent(REPLACED))
    with whole_holocron(tmp_path, texts=TEXTS, interrogations=("page_classification",)) as whole:
        source = whole.holocron.sources_folder / "tiny.yaml"
        source.write_text(source.read_text().replace("titles: [Lamp]", f"titles: [{', '.join(TEXTS)}]"))
        whole.environment |= {
            "PYTHONPATH": str(folder),
            "HOLOCRON_TEST_REPLACED": str(tmp_path / "replaced"),
            "HOLOCRON_TEST_FAILS_ONCE": " ".join(table.folder or table.name for table in OF_THE_FIRST),
        }
        yield whole


def idle_for(seconds: float, is_idle: Callable[[], bool]) -> Callable[[], bool]:
    """Whether something was idle for some seconds on end."""
    since: list[float] = []

    def is_so() -> bool:
        if not is_idle():
            since.clear()
            return False
        since.append(monotonic())
        return since[-1] - since[0] >= seconds

    return is_so


def wait_until_idle(whole: WholeHolocron) -> None:
    made = (PAGES, MODELS_TABLE, ENTITIES, TAGS, REVIEW_ITEMS)

    def is_idle() -> bool:
        return all(whole.lake.partitions(table) for table in made) and not whole.runs(*UNFINISHED)

    until(idle_for(IDLE_SECONDS, is_idle), "all is done, and nothing follows", seconds=500, every=1)


def lose(whole: WholeHolocron, table: Table) -> str:
    """Remove the file of a table's last partition that has rows; give its name."""
    lost = max(whole.lake.partitions(table), key=lambda name: whole.lake.file(table, name).stat().st_size)
    whole.lake.file(table, lost).unlink()
    return lost


def refresh_and_backfill(whole: WholeHolocron) -> None:
    """Let a person's commands do it; the sensors that would redo what is lost keep out of it."""
    done = whole.command("launch", "refresh", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until_idle(whole)
    for sensor in ("settle", "promotion"):
        whole.start("sensor", "stop", sensor, "-w", "workspace.yaml", program="dagster").wait(timeout=120)
    lost = lose(whole, PAGE_SIGNALS)
    done = whole.command("backfill", PAGE_SIGNALS.name, "--stale")
    assert done.returncode == 0, done.stdout + done.stderr
    with whole.instance() as instance:
        until(lambda: backfills(instance) == ["COMPLETED_SUCCESS"], "the backfill ends", seconds=300, every=1)
    assert lost in whole.lake.partitions(PAGE_SIGNALS)


def backfills(instance: dg.DagsterInstance) -> list[str]:
    return [one.status.value for one in instance.get_backfills()]


def test_every_replaced_file_has_one_event_of_its_own_step_whatever_started_it(whole: WholeHolocron) -> None:
    daemon = whole.start_daemon()
    wait_until_idle(whole)
    kill_group(daemon)
    expect_each_recorded_once(whole)
    late = {event.place[0] for event in recorded(whole) if event.is_late}
    assert late == {table.name for table in OF_THE_FIRST}, (
        "what is recorded late is what a retry found standing"
    )

    before = replaced(whole)
    lost = {(table.name, lose(whole, table)) for table in (PAGE_LINKS, ENTITY_FACTS)}
    whole.finish()
    assert (replaced(whole) - before).keys() >= lost
    expect_each_recorded_once(whole)

    whole.start_daemon()
    refresh_and_backfill(whole)
    expect_each_recorded_once(whole)
