"""A wikitext parser that some pages end the process in. Run as a program, it derives a batch of a lake.

A word in the infobox of a page decides what the page does to the process, as a real page would by its markup.
It has to stand in nested templates: plainer values never reach the parser.
"""

import ctypes
import os
import re
import signal
import sys
from pathlib import Path

import mwparserfromhell
from mwparserfromhell.wikicode import Wikicode

_HUNG_SECONDS = 1.0
_parse = mwparserfromhell.parse


def deadly_parse(markup: str, **options: bool) -> Wikicode:
    """What `mwparserfromhell.parse` gives, unless the markup names a way to die."""
    if "DIES-OF-SEGFAULT" in markup:
        ctypes.string_at(0)
    if "DIES-OF-MEMORY" in markup:  # as the kernel does to a process that takes all of it
        os.kill(os.getpid(), signal.SIGKILL)
    if "NEVER-ENDS" in markup:  # in C code that holds the interpreter
        re.match("(a+)+$", "a" * 100 + "b")
    if "RAISES" in markup:
        raise ValueError("a bracket too many")
    if "PRESSED-CTRL-C" in markup:
        raise KeyboardInterrupt
    return _parse(markup, **options)


def make_deadly() -> None:
    """Put the parser in the place of the real one, in this process."""
    mwparserfromhell.__dict__["parse"] = deadly_parse


def main(folder: Path, batch: str) -> None:
    """Make everything that follows from a batch, without Dagster."""
    from holocron_assets.lake.place.paths import Lake  # noqa: PLC0415 - the same
    from holocron_assets.planning import page_by_page  # noqa: PLC0415 - the same
    from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step  # noqa: PLC0415 - the same

    page_by_page.LONGEST_SECONDS = page_by_page._ARMED_FOR_SECONDS = _HUNG_SECONDS  # noqa: SLF001 - a quick test
    for step in BATCH_STEPS:
        run_step(Lake(folder), step, batch, "no run")


if __name__ == "__main__":
    make_deadly()
    main(Path(sys.argv[1]), sys.argv[2])
