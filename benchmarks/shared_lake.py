"""The sample wiki read and derived in a lake on this disk, and in one that machines share: time and requests.

    export HOLOCRON_LAKE=s3://bucket/benchmark HOLOCRON_POSTGRES_URL=... AWS_ENDPOINT_URL=...
    python benchmarks/shared_lake.py [--batch-size 20]

The store should be one that may be thrown away: each run leaves a lake of its own under the address. What the
two know must be the same. Then a machine without a mirror brings one batch, and all of it.
"""

import argparse
import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import perf_counter

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.readers import page_reader
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.crawl.sources.seeds import load_site, store_seeds, store_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.exports.content_hash import hash_lake
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects, Stored
from holocron_assets.lake.shared.places import mirrored
from holocron_assets.lake.shared.sessions import Session
from holocron_assets.lake.tables import PAGES
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.signals.links import link_extractor

SAMPLE = PROJECT_FOLDER / "data" / "sample" / "wiki.xml"


class CountedObjects(Objects):
    """A store that counts what it is asked."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked: Counter[str] = Counter()

    def list(self, folder: str) -> dict[str, Stored]:
        self.asked["listings"] += 1
        return super().list(folder)

    def put(self, file: Path, name: str) -> Stored:
        self.asked["puts"] += 1
        return super().put(file, name)

    def write(self, content: bytes, name: str) -> None:
        self.asked["puts of journals"] += 1
        super().write(content, name)

    def get(self, wanted: Mapping[str, Path]) -> None:
        self.asked["gets"] += len(wanted)
        super().get(wanted)

    def remove(self, names: Iterable[str]) -> None:
        all_names = list(names)
        self.asked["removals"] += len(all_names)
        super().remove(all_names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=20)
    batch_size = parser.parse_args().batch_size
    url = f"{os.environ.pop('HOLOCRON_LAKE')}/{uuid.uuid4().hex}"  # from here on, only what is said is shared
    server = os.environ["HOLOCRON_POSTGRES_URL"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = source_in(folder, batch_size)
        alone, batches = timed_crawl("on this disk", Lake(folder / "alone"), source, folder, Counter())
        store = CountedObjects(url)
        with mirrored(Mirror(folder / "one", store, Session(server, url))):
            shared, _ = timed_crawl("shared", Lake(folder / "one"), source, folder, store.asked)
            known = hash_lake(Lake(folder / "one")).sha256
        if known != hash_lake(Lake(folder / "alone")).sha256:
            raise SystemExit("the two do not know the same")
        print(f"shared takes {shared / alone:.2f} times as long, over {batches} batches")
        with mirrored(Mirror(folder / "other", CountedObjects(url), Session(server, url))) as mirror:
            bring(Lake(folder / "other"), mirror, f"{source.name}-000001")


def source_in(folder: Path, batch_size: int) -> Source:
    """The sample wiki, in small batches: as many as a large wiki's are for its size."""
    text = (
        f"name: sample\nenabled: false\nkind: mediawiki_dump\naddress: '{SAMPLE}'\nbatch_size: {batch_size}\n"
    )
    (folder / "sample.yaml").write_text(text, encoding="utf-8")
    return load_source(folder / "sample.yaml")


def timed_crawl(
    what: str, lake: Lake, source: Source, folder: Path, asked: Counter[str]
) -> tuple[float, int]:
    """Crawl and derive all batches; give the seconds, and how many there were."""
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    batches = cut_batches(lake, source, now=utc_now())
    asked.clear()
    began = perf_counter()
    extract = link_extractor(load_site(lake, source.name))
    for batch in batches:
        with (
            lake.lock(f"batch-{batch}"),
            page_reader(lake, source, batch, extract, folder / "politeness") as reader,
        ):
            fetch_batch(lake, batch, reader, "benchmark")
        for step in BATCH_STEPS:
            run_step(lake, step, batch, "benchmark")
    seconds = perf_counter() - began
    each = ", ".join(f"{number / len(batches):.1f} {kind}" for kind, number in sorted(asked.items()))
    print(f"{what}: {seconds:.1f} s, {seconds / len(batches) * 1000:.0f} ms a batch; {each or 'no request'}")
    return seconds, len(batches)


def bring(lake: Lake, mirror: Mirror, batch: str) -> None:
    """What a new machine brings: for one batch, and for a reading of everything."""
    began = perf_counter()
    read_partition(lake, PAGES, batch)
    print(f"one partition brought in {perf_counter() - began:.2f} s")
    began = perf_counter()
    files = lake.files()
    size = sum(file.stat().st_size for file in files)
    print(f"all {len(files)} files ({size / 1e6:.1f} MB) of {mirror.url} in {perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
