"""A soak: an hour of the real `holocron ui` with a wiki that changes all the time, and faults at random.

Run: python benchmarks/soak.py [--minutes N] [--seed N] [--pages N] [--folder FOLDER]

The web UI, the daemon and its sensors are real processes in a folder of their own; the wiki and the model
server are fakes on loopback. People change the wiki every few seconds, somebody decides now and then and
opens the web UI, and every minute or two something goes wrong, as `soaking/faults.py` lists it. In the
last two fifths no process that should live for a month is ended, so that one can see whether they grow. Then
all comes to rest, and the lake is compared with the wiki, and with a Holocron that reads the same wiki from
nothing. Ends with 1 if something did not hold. The folder keeps samples.jsonl, faults.jsonl, report.txt and
soak.png.
"""

import argparse
import secrets
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
ROOMS = ("crawl", "derive", "faults", "orchestration")
"""Of the tests, whose fakes take part."""


def main() -> int:
    """Soak, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=65, help="of changes and faults")
    parser.add_argument("--seed", type=int, help="of all chance; without it, one is drawn and printed")
    parser.add_argument("--pages", type=int, default=300, help="of the wiki at first")
    parser.add_argument("--folder", type=Path, help="a new folder that keeps everything")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # both end the soak in order, in a shell's background too
        signal.signal(number, signal.default_int_handler)
    sys.path += [str(PROJECT / "holocron_assets_tests" / room) for room in ROOMS]
    from soaking.report import report  # noqa: PLC0415 - its fakes are found only now

    folder = options.folder or Path(tempfile.mkdtemp(prefix="holocron-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    print(f"seed {seed}, {options.minutes:g} minutes, in {folder}", flush=True)
    return report(folder, seed=seed, seconds=options.minutes * 60, pages=options.pages)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
