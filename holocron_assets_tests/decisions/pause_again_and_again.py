"""Pauses sources: FOLDER, AUTHOR and how MANY are its arguments. Prints the number of each once it is."""

import sys
from pathlib import Path

from holocron_assets.decisions.controls import PAUSE, Scope, control
from holocron_assets.lake.place.paths import Lake

lake, author = Lake(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    control(lake, PAUSE, Scope("source", f"{author}_{number}"), author=author, reason="x")
    print(number, flush=True)  # noqa: T201 - the process that started this waits for it
