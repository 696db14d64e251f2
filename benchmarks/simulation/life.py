"""Time that goes by: the wiki changes, the clock is moved, and Dagster's daemon takes its turns."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import dagster as dg
import time_machine
from dagster import DagsterRunStatus, RunsFilter
from dagster._core.scheduler.instigation import InstigatorType
from local_wiki.changing import ChangingWiki
from local_wiki.changing_api import ChangingApi
from local_wiki.objects import API_PATH
from local_wiki.server import WikiServer, served
from side_by_side.processes import home_in

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES
from holocron_assets.orchestration.internals.instance import open_instance
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.settings import PROJECT_FOLDER
from simulation.daemon import Daemon, daemon_of, write_home
from simulation.footprint import Footprint, footprint

SOURCE = "changing"
BORN_AT = datetime(2026, 3, 2, tzinfo=UTC)
_SOURCE_FILE = """\
name: {name}
enabled: true
kind: mediawiki_api
address: {address}
private_hosts: [127.0.0.1]
seeds: {{all_pages: true}}
changes: {{every_minutes: {minutes}}}
politeness:
  contact: bench@example.org
  requests_per_second: 100
  requests_in_flight: 4
"""
_SENSOR_STEP = timedelta(seconds=15)


@dataclass(frozen=True)
class Counts:
    """What was done since the beginning.

    Attributes:
        changes: by the wiki's people.
        readings: of the list of recent changes.
        requests: to the wiki, of all kinds.
        texts: pages given with their text.
        batches: cut.
        runs: of jobs.
        failed_runs: of them, those that failed.
    """

    changes: int
    readings: int
    requests: int
    texts: int
    batches: int
    runs: int
    failed_runs: int


@dataclass
class Life:
    """A Holocron and its wiki.

    Attributes:
        folder: holds all that it keeps.
        between_readings: how often the wiki is asked for its changes, and how far the clock goes on when
            nothing was to be done.
        minutes_between_changes: of the wiki, on average.
    """

    folder: Path
    between_readings: timedelta
    minutes_between_changes: float
    wiki: ChangingWiki
    api: ChangingApi
    server: WikiServer
    clock: time_machine.Traveller
    instance: dg.DagsterInstance
    daemon: Daemon
    _changes_at: datetime | None = None
    _chance: Random = field(default_factory=lambda: Random(7))  # noqa: S311 - repeats, guards nothing

    @property
    def lake(self) -> Lake:
        """The lake."""
        return Lake(self.folder / "data")

    def go_on(self, length: timedelta) -> None:
        """Live for so long."""
        until = datetime.now(UTC) + length
        while datetime.now(UTC) < until:
            self._let_wiki_change()
            worked = self.daemon.turn()
            self.clock.shift(_SENSOR_STEP if worked else self.between_readings)

    def let_change(self, *, lively: bool) -> None:
        """Let the wiki change from now on, or rest."""
        self._changes_at = datetime.now(UTC) if lively else None

    def counts(self) -> Counts:
        """What was done so far."""
        return Counts(
            changes=len(self.wiki.log),
            readings=self.api.readings,
            requests=self.server.counted,
            texts=self.api.texts_served,
            batches=len(self.lake.partitions(BATCH_PAGES)),
            runs=self.instance.get_runs_count(),
            failed_runs=self.instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.FAILURE])),
        )

    def failures(self) -> list[str]:
        """What failed: the daemon, ticks and runs, in a line each."""
        ticks = [
            f"tick of {state.name}: {tick.error.message.strip()}"
            for state in self.instance.all_instigator_state()
            for tick in self.instance.get_ticks(state.instigator_origin_id, state.selector_id)
            if tick.error
        ]
        failed = self.instance.get_runs(RunsFilter(statuses=[DagsterRunStatus.FAILURE]))
        runs = [f"run of {run.job_name}: {failure_of(self.instance, run.run_id).reason}" for run in failed]
        return [*self.daemon.errors, *ticks, *runs]

    def footprint(self) -> Footprint:
        """What it takes now."""
        return footprint(self.folder / "dagster", self.lake.root)

    def tick_seconds(self, since: datetime) -> dict[str, list[float]]:
        """How long each sensor took, tick by tick."""
        return {
            state.name: [
                tick.end_timestamp - tick.timestamp
                for tick in self.instance.get_ticks(
                    state.instigator_origin_id, state.selector_id, after=since.timestamp()
                )
                if tick.end_timestamp
            ]
            for state in self.instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
        }

    def _let_wiki_change(self) -> None:
        """All changes up to now, each at its own moment."""
        while self._changes_at and self._changes_at <= datetime.now(UTC):
            self.wiki.change(self._changes_at)
            self._changes_at += timedelta(minutes=self._chance.expovariate(1 / self.minutes_between_changes))


@contextmanager
def begun(
    folder: Path, *, pages: int, between_readings: timedelta, minutes_between_changes: float
) -> Iterator[Life]:
    """A life that begins now, by a clock of its own: a wiki of so many pages, and an empty Holocron.

    Folders are given by the environment, as to any Holocron; the project's definitions are loaded with it.
    """
    os.environ.update(home_in(folder))
    write_home(PROJECT_FOLDER, folder / "dagster")
    with ExitStack() as stack:
        clock = stack.enter_context(time_machine.travel(BORN_AT, tick=True))
        wiki = ChangingWiki(Random(1), characters=3000)  # noqa: S311 - repeats, guards nothing
        wiki.fill(pages, BORN_AT)
        api = ChangingApi(wiki)
        server = WikiServer(api.answer, latency_seconds=0)
        address = stack.enter_context(served(server))
        write_source(folder / "sources", f"{address}{API_PATH}", between_readings)
        instance = stack.enter_context(open_instance())
        daemon = stack.enter_context(daemon_of(instance))
        yield Life(
            folder, between_readings, minutes_between_changes, wiki, api, server, clock, instance, daemon
        )


def write_source(folder: Path, address: str, between_readings: timedelta) -> None:
    """Enable the wiki as a source."""
    folder.mkdir()
    minutes = between_readings // timedelta(minutes=1)
    text = _SOURCE_FILE.format(name=SOURCE, address=address, minutes=minutes)
    (folder / f"{SOURCE}.yaml").write_text(text)
