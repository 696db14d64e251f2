"""Resources: the objects that assets get, as plain objects of other packages."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dagster as dg
from pydantic import PrivateAttr

from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.files import (
    AnySource,
    SourceError,
    load_any_source,
    load_file_source,
    load_source,
    read_any_sources,
    read_file_sources,
    read_sources,
)
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.opening import open_lake
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.run_tags import keep_tags
from holocron_assets.orchestration.internals.runs import add_tags
from holocron_assets.orchestration.resources.known_lake import expect_lake
from holocron_assets.orchestration.runs.reaper import held_by_run
from holocron_assets.orchestration.runs.registration import set_range
from holocron_assets.orchestration.runtime.observing import run_observed
from holocron_assets.planning.job_names import OUTCOME_TAG, REPEATED


class LakeResource(dg.ConfigurableResource["LakeResource"]):
    """The lake.

    Attributes:
        folder: the data folder, absolute.
    """

    folder: str

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["LakeResource"]:
        """Show that the run's process is alive, for as long as the run has the lake.

        Raises:
            FolderGoneError: a lake that runs have worked on is gone.
        """
        if context.run is None:
            yield self
            return
        if context.instance:
            expect_lake(context.instance, self.open())
            set_range(context.instance, self.open(), context.run)
            if context.run.parent_run_id and OUTCOME_TAG in context.run.tags:
                # Dagster copies the tags of a run to its repetition. The old run's outcome does not apply.
                add_tags(context.instance, context.run.run_id, {OUTCOME_TAG: REPEATED})
        keep_tags(self.open(), context.run.run_id, context.run.job_name, context.run.tags)
        with held_by_run(self.open(), context.run.run_id), run_observed(context.run):
            yield self

    def open(self) -> Lake:
        """The lake itself, with the tables of interrogations."""
        return open_lake(Path(self.folder))


class SnapshotResource(dg.ConfigurableResource["SnapshotResource"]):
    """The snapshot of the lake that entities are made from: one for all steps of a run, for that run alone.

    A run that makes entities must see the entities that earlier runs made. So it holds the lock from the
    first step that needs the snapshot to its end. Where each step is a process of its own, each holds it.

    Attributes:
        folder: the data folder, absolute.
    """

    folder: str

    _stack: ExitStack = PrivateAttr(default_factory=ExitStack)
    _snapshot: Snapshot | None = PrivateAttr(default=None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["SnapshotResource"]:
        """Release the lock and the snapshot's memory when the run has ended."""
        del context
        try:
            yield self
        finally:
            self._close()

    def opened(self, *, is_new: bool = False) -> Snapshot:
        """The snapshot.

        Args:
            is_new: whether to take a new one: a step that is tried again may have set aside a damaged file,
                which the old one still names.
        """
        if is_new:
            self._close()
        if self._snapshot is None:
            lake = open_lake(Path(self.folder))
            self._stack.enter_context(lake.lock("entities"))
            self._snapshot = self._stack.enter_context(open_snapshot(lake))
        return self._snapshot

    def _close(self) -> None:
        self._snapshot = None
        self._stack.close()


class ModelsResource(dg.ConfigurableResource["ModelsResource"]):
    """The model server: the configured one, or the embedded one, which a run starts if needed.

    Attributes:
        folder: the data folder, absolute; processes that work on it share an embedded server.
    """

    folder: str

    _stack: ExitStack = PrivateAttr(default_factory=ExitStack)
    _urls: list[str | None] = PrivateAttr(default_factory=list)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["ModelsResource"]:
        """Release the server when the run has ended. It keeps its models loaded from step to step."""
        del context
        with ExitStack() as self._stack:
            self._urls = []
            yield self

    def url(self) -> str | None:
        """The server's address; None if no model is to be asked.

        Raises:
            ModelServerError: there is none, and none can be started; says what to do.
        """
        if not self._urls:
            self._urls.append(
                self._stack.enter_context(model_server({**os.environ, "HOLOCRON_DATA": self.folder}))
            )
        return self._urls[0]


class SourcesResource(dg.ConfigurableResource["SourcesResource"]):
    """The source files.

    Attributes:
        folder: the folder of YAML files, absolute.
        politeness_folder: where processes share state about each host, absolute.
    """

    folder: str
    politeness_folder: str

    @property
    def shared_folder(self) -> Path:
        """Where processes share state about each host."""
        return Path(self.politeness_folder)

    def all(self) -> list[Source]:
        """Every source whose file can be read, by name; `broken` names the others."""
        return list(read_sources(Path(self.folder))[0].values())

    def of_any_kind(self) -> list[AnySource]:
        """Every source of pages or files whose file can be read, by name."""
        return list(read_any_sources(Path(self.folder))[0].values())

    def enabled(self) -> list[Source]:
        """The sources that are crawled by themselves."""
        return [source for source in self.all() if source.enabled]

    def files(self) -> list[FileSource]:
        """Every source of files whose file can be read, by name."""
        return list(read_file_sources(Path(self.folder)).values())

    def enabled_files(self) -> list[FileSource]:
        """The sources of files that are fetched by themselves."""
        return [source for source in self.files() if source.enabled]

    def get_files(self, name: str) -> FileSource:
        """One source of files.

        Raises:
            SourceError: its file is missing or wrong; names file, line and key.
        """
        return load_file_source(Path(self.folder) / f"{name}.yaml")

    def broken(self) -> list[SourceError]:
        """The source files that cannot be read, and why."""
        return read_sources(Path(self.folder))[1]

    def get_any(self, name: str) -> AnySource:
        """One source of pages or files.

        Raises:
            SourceError: its file is missing or wrong; names file, line and key.
        """
        return load_any_source(Path(self.folder) / f"{name}.yaml")

    def get(self, name: str) -> Source:
        """One source.

        Raises:
            SourceError: its file is missing or wrong; names file, line and key.
        """
        return load_source(Path(self.folder) / f"{name}.yaml")
