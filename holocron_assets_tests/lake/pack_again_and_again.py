"""Packs a lake again and again, until it is killed: `python pack_again_and_again.py FOLDER GRACE_SECONDS`."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holocron_assets.lake.packs import compaction
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import publish

compaction.OLD_AFTER = timedelta(0)
compaction.FEWEST = 5
compaction.GRACE = timedelta(seconds=float(sys.argv[2]))

lake = Lake(Path(sys.argv[1]))
sys.stdout.write("ready\n")
sys.stdout.flush()
while True:
    compaction.compact(lake, now=datetime.now(UTC))
    publish(lake)
