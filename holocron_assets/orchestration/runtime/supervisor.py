"""A process that keeps a process group alive, and ends it when the command that started it ends in any way.

Run as `python -m holocron_assets.orchestration.runtime.supervisor`. It ends when its input is closed.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from holocron_assets.lake.attempts import delay_after
from holocron_assets.lake.place.clock import WallClock
from holocron_assets.orchestration.runtime.process_group import (
    LOAD_ANEW,
    Duties,
    ProcessGroup,
    ProcessGroupError,
)
from holocron_assets.telemetry.logs import say
from holocron_assets.telemetry.setup import observe_process

_LOOKS_SECONDS = 0.5
_INSTANCE = "from holocron_assets.orchestration.internals.instance import"
# In processes of their own: this one stays small.
_BRING_TICKS_BACK = [sys.executable, "-c", f"{_INSTANCE} open_instance; open_instance().dispose()"]
_REAP = [sys.executable, "-c", f"{_INSTANCE} reap_without_daemon; reap_without_daemon()"]
_SECONDS_BETWEEN_QUESTIONS = 10
_MOST_SILENCES = 3
_LONG_LIFE_SECONDS = 120
_MOST_SHORT_LIVES = 3
_SECONDS_TO_HELP = 60


class _AskedToEndError(Exception):
    """The command that started this asked it to end."""


class _AbandonedError(Exception):
    """The command that started this is gone, or wants an end at once."""


class Supervisor:
    """Starts a process group, and starts all of it again when a process ends or does not answer."""

    def __init__(self, group: ProcessGroup, *, has_daemon: bool) -> None:
        """Supervise a process group that is not started yet.

        Args:
            group: the process group.
            has_daemon: whether it has a daemon; otherwise runs and sensors belong to the group with one.
        """
        self._group, self._has_daemon = group, has_daemon
        self._asked, self._clock = 0, WallClock()
        self._is_code_old = False
        self._wake = threading.Event()
        self._is_abandoned = False

    def keep(self) -> int:
        """Keep the group alive until a request to end, or until that is impossible.

        Returns:
            The exit code.
        """
        signal.signal(signal.SIGTERM, self._ask_to_end)
        signal.signal(LOAD_ANEW, self._ask_to_load)
        threading.Thread(target=self._watch_input, daemon=True).start()
        try:
            return self._restart_until_it_ends()
        except _AskedToEndError:
            self._group.end(in_a_hurry=lambda: self._is_abandoned)
            return 0
        except _AbandonedError:
            self._group.kill()
            return 1

    def _restart_until_it_ends(self) -> int:
        short_lives, worked_once = 0, False
        while True:
            started = monotonic()
            try:
                self._live()
            except (
                ProcessGroupError,
                OSError,
            ) as error:  # the latter of a full disk, or of too many processes
                self._group.kill()
                is_short = monotonic() - started < _LONG_LIFE_SECONDS
                short_lives, worked_once = short_lives + 1 if is_short else 0, worked_once or not is_short
                # A group that was killed together with this process's parent must not be started again.
                self._pause()
                if short_lives >= _MOST_SHORT_LIVES and not worked_once:
                    say(f"{error}, again and again. All of it is ended.", "error")
                    return 1
                made_good = "; work of runs that died with it is done again" if self._has_daemon else ""
                say(f"{error}. All of it is started again{made_good}.", "error")
                # A group that worked once works again when the fault is over: memory, a database, a disk.
                self._rest(delay_after(short_lives - 1).total_seconds() if short_lives > 1 else 0)
                if self._has_daemon:
                    self._run(_REAP)

    def _live(self) -> None:
        self._group.start(self._pause)
        self._tell_of_code()
        silences, asked_at = 0, monotonic()
        while True:
            self._pause()
            self._group.check()
            if self._has_daemon and self._clock.was_set_back():
                self._follow_clock()
            if self._is_code_old:
                self._is_code_old = False
                self._group.load_anew(self._pause)
                self._tell_of_code()
            if monotonic() - asked_at > _SECONDS_BETWEEN_QUESTIONS:
                silences = 0 if self._group.answers() else silences + 1
                asked_at = monotonic()
            if silences >= _MOST_SILENCES:
                raise ProcessGroupError("the code server does not answer any more")

    def _follow_clock(self) -> None:
        """Start the daemon again: the threads of an old one would wait until it is as late as it was."""
        say("The clock was set back: the daemon is started again, and goes on by the new time.")
        self._group.end_daemon(self._pause)  # first: a tick under way would record its old time
        self._run(_BRING_TICKS_BACK)
        self._group.start_daemon()

    def _tell_of_code(self) -> None:
        if problem := self._group.code_problem():
            say(
                f"The code cannot be loaded, and nothing is done until it can: {problem}\n"
                "Repair that, then reload the code: by SIGUSR1, in the web UI, or by a restart.",
                "error",
            )

    def _run(self, command: Sequence[str]) -> None:
        """Run a command of ours for a minute at most, and end early if this process is to end."""
        until = monotonic() + _SECONDS_TO_HELP
        try:
            process = subprocess.Popen(command)  # noqa: S603 - our own
        except OSError as error:  # the daemon does the same later
            say(f"`{' '.join(command)}` cannot be started: {error}", "error")
            return
        try:
            while process.poll() is None and monotonic() < until:
                self._pause()
        finally:
            process.kill()
            process.wait()

    def _rest(self, seconds: float) -> None:
        until = monotonic() + seconds
        while monotonic() < until:
            self._pause()

    def _pause(self) -> None:
        """Wait for a moment; raise if this is to end."""
        self._wake.wait(_LOOKS_SECONDS)
        if self._is_abandoned:
            raise _AbandonedError
        if self._asked:
            raise _AskedToEndError

    def _ask_to_end(self, _number: int, _frame: object) -> None:
        self._asked += 1
        self._is_abandoned |= self._asked > 1  # a second request means: do not wait
        self._wake.set()

    def _ask_to_load(self, _number: int, _frame: object) -> None:
        self._is_code_old = True

    def _watch_input(self) -> None:
        sys.stdin.read()  # until the other end closes
        self._is_abandoned = True
        self._wake.set()


def main() -> None:
    """Supervise a group, as the child of the command that a person or a service manager gave."""
    observe_process()
    parser = argparse.ArgumentParser()
    parser.add_argument("--lock-file", type=Path, required=True)
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--port", type=int)
    arguments = parser.parse_args()
    duties = Duties(arguments.daemon, arguments.port)
    # Not in a unit's own /tmp, which other units cannot see: another unit's web UI ends runs at this socket.
    shown = os.environ.get("RUNTIME_DIRECTORY")
    with tempfile.TemporaryDirectory(prefix="holocron-", dir=shown) as folder:
        group = ProcessGroup(arguments.lock_file, Path(folder), duties)
        sys.exit(Supervisor(group, has_daemon=duties.daemon).keep())


if __name__ == "__main__":
    main()
