"""Run as a program: cut batches of a lake's source, each as soon as there is room, and print their names."""

import sys
from pathlib import Path

from crawl_rows import outcome, put_outcomes, wiki_source

from holocron_assets.crawl.frontier.batches import cut_batches, manifest
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

if __name__ == "__main__":
    lake = Lake(Path(sys.argv[1]))
    source = wiki_source(batch_size=3)
    for _ in range(int(sys.argv[2])):
        for batch in cut_batches(lake, source, now=utc_now(), most=1):
            rows = [outcome(page["title"]) for page in manifest(lake, batch)]
            put_outcomes(lake, batch, *rows, manifest=False)
            print(batch)  # noqa: T201 - what the test reads
