"""A Holocron in a folder of its own: the sample wiki as its source, a lake, and the rooms at work on them."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.readers import page_reader
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.crawl.sources.seeds import load_site, store_seeds, store_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.opening import open_lake
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.entity_files import STORES
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step
from holocron_assets.planning.entity_stages import STAGES, partitions_of
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.signals.links import link_extractor

SAMPLE_EXPORT = PROJECT_FOLDER / "data" / "sample" / "wiki.xml"
SAMPLE_BATCH = "sample-000001"
ENTITY_TYPES = frozenset(load_taxonomy().entity_worthy_types)


@dataclass(frozen=True)
class Holocron:
    """Folders of one Holocron, and what is built over them."""

    folder: Path

    @property
    def lake(self) -> Lake:
        return open_lake(self.folder / "data")

    @property
    def sources_folder(self) -> Path:
        return self.folder / "sources"

    @property
    def politeness_folder(self) -> Path:
        return self.folder / "state" / "politeness"

    def source(self, name: str = "sample") -> Source:
        return load_source(self.sources_folder / f"{name}.yaml")

    @property
    def environment(self) -> dict[str, str]:
        """What a process of its own needs to work on this Holocron."""
        return {
            "HOLOCRON_DATA": str(self.folder / "data"),
            "HOLOCRON_SOURCES": str(self.sources_folder),
            "HOLOCRON_STATE": str(self.folder / "state"),
            "DAGSTER_HOME": str(self.folder / "dagster"),
            "HOLOCRON_LLM": "off",
        }

    def copy_to(self, folder: Path) -> "Holocron":
        """A Holocron that holds the same, to be changed."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Holocron(folder)

    def add_source(self, name: str, export: Path, *, enabled: bool = True, more: str = "") -> Source:
        """Write a source file for an export."""
        self.sources_folder.mkdir(parents=True, exist_ok=True)
        text = (
            f"name: {name}\nenabled: {str(enabled).lower()}\nkind: mediawiki_dump\naddress: '{export}'\n"
            f"namespaces: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 110, 111, 828, 829]\n{more}"
        )
        (self.sources_folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        return self.source(name)


def sample_holocron(folder: Path) -> Holocron:
    """A new Holocron whose one source is the sample wiki; its lake is empty."""
    holocron = Holocron(folder)
    holocron.add_source("sample", SAMPLE_EXPORT)
    return holocron


def list_seeds_and_cut(holocron: Holocron, source_name: str = "sample") -> list[str]:
    """Do without Dagster what comes before a batch; give the batches that were cut."""
    lake, source = holocron.lake, holocron.source(source_name)
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    return cut_batches(lake, source, now=utc_now())


def fetch(holocron: Holocron, batches: Iterable[str], source_name: str = "sample") -> None:
    """Read batches of a dump without Dagster."""
    lake, source = holocron.lake, holocron.source(source_name)
    extract = link_extractor(load_site(lake, source_name))
    for batch in batches:
        with page_reader(lake, source, batch, extract, holocron.politeness_folder) as reader:
            fetch_batch(lake, batch, reader, "no run")


def derive(holocron: Holocron, batches: Iterable[str]) -> None:
    """Make everything that follows from fetched batches, without Dagster."""
    lake = holocron.lake
    for batch in batches:
        for step in BATCH_STEPS:
            run_step(lake, step, batch, "no run")
    with open_snapshot(lake) as snapshot:
        for stage in STAGES:
            for name in partitions_of(lake, stage):
                STORES[stage.name](snapshot, name, "no run")
