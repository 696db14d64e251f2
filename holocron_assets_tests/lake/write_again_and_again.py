"""Writes batches of links again and again, until it is killed: FOLDER and how many BATCHES are its arguments.

All rows of a batch state one version, and every version has another number of rows.
"""

import random
import sys
from itertools import count
from pathlib import Path
from time import sleep

from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS

lake, batches = Lake(Path(sys.argv[1])), int(sys.argv[2])
chosen = random.Random(3)  # noqa: S311 - no secret
for version in count(1):
    name = f"wiki-{chosen.randrange(batches) + 1:06}"
    rows = [
        {
            "source": "wiki",
            "batch": name,
            "from_key": number,
            "from_title": "Varn",
            "kind": "link",
            "target": "Gort",
            "target_key": version,
            "target_namespace": 0,
            "position": version,
        }
        for number in range(version % 50 + 1)
    ]
    write_partition(lake, PAGE_LINKS, name, rows)
    if version == batches:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
    sleep(0.005)
