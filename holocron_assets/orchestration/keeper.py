"""A process that keeps the daemon's family alive, and ends it when `holocron ui` ends, however that ends.

Run as `python -m holocron_assets.orchestration.keeper`. Its input stays open for as long as it is wanted.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic

from holocron_assets.lake.clock import WallClock
from holocron_assets.orchestration.family import Family, FamilyError

_LOOKS_SECONDS = 0.5
_INSTANCE = "from holocron_assets.orchestration.instance import"
# In processes of their own: this one stays small.
_BRING_TICKS_BACK = [sys.executable, "-c", f"{_INSTANCE} open_instance; open_instance().dispose()"]
_REAP = [sys.executable, "-c", f"{_INSTANCE} reap_without_daemon; reap_without_daemon()"]
_SECONDS_BETWEEN_QUESTIONS = 10
_MOST_SILENCES = 3
_LONG_LIFE_SECONDS = 120
_MOST_SHORT_LIVES = 3


class _AskedToEndError(Exception):
    """Whoever started this asked it to end."""


class _AbandonedError(Exception):
    """Whoever started this is gone, or wants an end at once."""


class Keeper:
    """Starts a family, and starts all of it again when one of it ends or falls silent."""

    def __init__(self, family: Family) -> None:
        """Look after a family that is not started yet."""
        self._family = family
        self._asked = 0
        self._wake = threading.Event()
        self._is_abandoned = False

    def keep(self) -> int:
        """Keep the family alive until asked to end, or until it cannot be kept alive.

        Returns:
            The exit code.
        """
        signal.signal(signal.SIGTERM, self._ask_to_end)
        threading.Thread(target=self._watch_input, daemon=True).start()
        try:
            return self._restart_until_it_ends()
        except _AskedToEndError:
            self._family.end(in_a_hurry=lambda: self._is_abandoned)
            return 0
        except _AbandonedError:
            self._family.kill()
            return 1

    def _restart_until_it_ends(self) -> int:
        short_lives = 0
        while True:
            started = monotonic()
            try:
                self._live()
            except FamilyError as error:
                self._family.kill()
                short_lives = short_lives + 1 if monotonic() - started < _LONG_LIFE_SECONDS else 0
                # One that was killed along with this process's own parent must not come to life again.
                self._pause()
                if short_lives >= _MOST_SHORT_LIVES:
                    _say(f"{error}, again and again. All of it is ended.")
                    return 1
                _say(f"{error}. All of it is started again; runs that died with it are made good.")
                subprocess.run(_REAP, check=False)  # noqa: S603 - our own command

    def _live(self) -> None:
        self._family.start(self._pause)
        silences, asked_at, clock = 0, monotonic(), WallClock()
        while True:
            self._pause()
            self._family.check()
            if clock.was_set_back():
                _say("The clock was set back: sensors go on by it.")
                subprocess.run(_BRING_TICKS_BACK, check=False)  # noqa: S603 - our own command
            if monotonic() - asked_at > _SECONDS_BETWEEN_QUESTIONS:
                silences = 0 if self._family.answers() else silences + 1
                asked_at = monotonic()
            if silences >= _MOST_SILENCES:
                raise FamilyError("the code server does not answer any more")

    def _pause(self) -> None:
        """Wait for a moment; raise if this is to end."""
        self._wake.wait(_LOOKS_SECONDS)
        if self._is_abandoned:
            raise _AbandonedError
        if self._asked:
            raise _AskedToEndError

    def _ask_to_end(self, _number: int, _frame: object) -> None:
        self._asked += 1
        self._is_abandoned = self._asked > 1  # who asks twice does not want to wait
        self._wake.set()

    def _watch_input(self) -> None:
        sys.stdin.read()  # until the other end closes
        self._is_abandoned = True
        self._wake.set()


def _say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
    sys.stderr.flush()


def main() -> None:
    """Keep a family as the child of `holocron ui`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lock-file", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holocron-") as folder:
        sys.exit(Keeper(Family(arguments.lock_file, Path(folder), arguments.port)).keep())


if __name__ == "__main__":
    main()
