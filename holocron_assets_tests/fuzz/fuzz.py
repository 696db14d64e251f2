"""Coverage-guided fuzz of the parsers: makes up inputs that reach new code, and checks what comes of them.

Run by `make fuzz`. What it finds is written to `findings/` and shown; `test_fuzz_replay.py` replays it.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "crawl"), str(FOLDER.parents[1])]


_INSIDE = "--inside"


def main() -> int:
    """Fuzz every target, or those that are named, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; by default all")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long in all")
    parser.add_argument("--seed", type=int, default=None, help="of an earlier run, to make up the same")
    arguments = parser.parse_args()
    from fuzz_targets import TARGETS  # noqa: PLC0415 - once instrumented, where it is fuzzed

    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1, 2**31)
    names = arguments.targets or list(TARGETS)
    print(f"seed {seed}: {len(names)} targets, {arguments.minutes:g} minutes in all", flush=True)
    found = [_fuzz_apart(name, arguments.minutes * 60 / len(names), seed) for name in names]
    return 1 if any(found) else 0


def _fuzz(name: str, options: Sequence[str]) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris  # noqa: PLC0415 - the runner works without it as far as it gets

    with atheris.instrument_imports(include=["holocron_assets"]):
        from fuzz_targets import TARGETS  # noqa: PLC0415 - it has to be imported here to be instrumented
    atheris.Setup([sys.argv[0], *options], TARGETS[name].check)
    atheris.Fuzz()


def _fuzz_apart(name: str, seconds: float, seed: int) -> bool:
    """Fuzz one target in a process of its own; say whether anything was found."""
    from fuzz_targets import SECONDS_AN_INPUT, TARGETS  # noqa: PLC0415 - as in `main`

    findings = FOLDER / "findings" / name
    findings.mkdir(parents=True, exist_ok=True)
    known = {*findings.iterdir()}
    words = FOLDER / "words" / f"{name}.dict"
    with tempfile.TemporaryDirectory() as made:
        options = [
            *([f"-dict={words}"] if words.exists() else []),
            *(f"-seed={seed}", f"-max_total_time={seconds:.0f}", f"-max_len={TARGETS[name].longest}"),
            *(f"-timeout={SECONDS_AN_INPUT * 4:.0f}", f"-artifact_prefix={findings}{os.sep}"),
            *("-print_final_stats=1", made, str(FOLDER / "corpus" / name), str(findings)),
        ]
        command = [sys.executable, __file__, _INSIDE, name, *options]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - ours
    _report(name, done, time.monotonic() - began)
    new = sorted({*findings.iterdir()} - known)
    for file in new:
        print(f"  found: {file}\n  {file.read_bytes()[:200]!r}")
    if done.returncode:
        print(done.stdout[-4_000:], _without_chatter(done.stderr)[-2_000:], sep="\n")
    return bool(new or done.returncode)


def _report(name: str, done: subprocess.CompletedProcess[str], seconds: float) -> None:
    """One line: how many inputs, how much of the code they reach."""
    said = done.stderr
    reached = [int(count) for count in re.findall(r"cov: (\d+)", said)] or [0]
    executed = re.findall(r"number_of_executed_units: (\d+)|^#(\d+)", said, re.MULTILINE)
    inputs = max((int(one or other) for one, other in executed), default=0)
    line = f"{name:<12} {inputs:>10,} inputs in {seconds:4.0f} s, {reached[0]:,} -> {reached[-1]:,} branches"
    print(line, flush=True)


def _without_chatter(said: str) -> str:
    return "\n".join(line for line in said.splitlines() if not line.startswith(("INFO:", "WARNING:", "#")))


if __name__ == "__main__":
    if sys.argv[1:2] == [_INSIDE]:
        _fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(main())
