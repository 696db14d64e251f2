"""The processes that work unattended: a code server, daemon and web UI. They live and die together."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from holocron_assets.errors import HolocronError, PermanentError
from holocron_assets.orchestration.internals.code_server import (
    DAEMON_MODULE,
    code_problem,
    code_server_answers,
    reload_code,
)
from holocron_assets.telemetry.logs import log_format

LOAD_ANEW = signal.SIGUSR1
"""The signal that asks a process group's supervisor to reload the code."""
_LOCATION = "holocron_assets"
_DAEMON = "daemon"
_SECONDS_TO_LOAD = 300  # a slow machine under load; the code takes 5 seconds to load
_SECONDS_TO_ANSWER = 20
_SECONDS_TO_DIE = 30
_POLL_SECONDS = 0.1


class ProcessGroupError(HolocronError):
    """A process of the group ended, or does not answer; the message names it."""


@dataclass(frozen=True)
class Duties:
    """What a process group does; at least one of the two.

    Attributes:
        daemon: whether it has the daemon, whose sensors start runs.
        port: of its web UI; none without.
    """

    daemon: bool
    port: int | None

    @property
    def name(self) -> str:
        """The part that only one group of a lake may have: the daemon, or else the web UI of a port."""
        return "daemon" if self.daemon else f"webserver-{self.port}"

    @property
    def command(self) -> str:
        """The command that starts it."""
        alone = "daemon" if self.daemon else "webserver"
        return f"holocron {'ui' if self.daemon and self.port is not None else alone}"


class ProcessGroup:
    """A code server, and what shares it, in one process group: a daemon, a web UI, or both.

    Processes that they start are in the group too: the one that holds the code, and the runs. They hold the
    lock on a file that names the group, so that a group without a supervisor can be found.
    """

    def __init__(self, lock_file: Path, folder: Path, duties: Duties) -> None:
        """Start nothing yet.

        Args:
            lock_file: locked for as long as one of them lives; it names their process group.
            folder: empty, for their socket; its path is short, as that of a socket must be.
            duties: its daemon and web UI.

        Raises:
            BlockingIOError: another group holds the lock.
        """
        self._lock = lock_file.open("a+")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._note_group(None)  # the number of an earlier group may belong to another program by now
        self._socket, self._workspace, self._duties = folder / "code.sock", folder / "workspace.yaml", duties
        self._members: dict[str, subprocess.Popen[bytes]] = {}
        self._group = 0

    def start(self, pause: Callable[[], None]) -> None:
        """Start all of them.

        Args:
            pause: called repeatedly while the code loads; if it raises, the wait ends.

        Raises:
            ProcessGroupError: the code server does not answer.
        """
        code = ["-m", "dagster", "code-server", "start", "-m", "holocron_assets.definitions"]
        named = ["--socket", str(self._socket), "--location-name", _LOCATION, "--log-level", "warning"]
        self._add("code server", [*code, *named, *_log_options()])
        deadline = monotonic() + _SECONDS_TO_LOAD
        while not self.answers():
            self.check()
            if monotonic() > deadline:
                raise ProcessGroupError(f"the code server did not answer within {_SECONDS_TO_LOAD} s")
            pause()
        server = {"socket": str(self._socket), "host": "localhost", "location_name": _LOCATION}
        # JSON is YAML too.
        self._workspace.write_text(json.dumps({"load_from": [{"grpc_server": server}]}), encoding="utf-8")
        if self._duties.daemon:
            self.start_daemon()
        if self._duties.port is not None:
            web = ["-m", "holocron_assets.orchestration.runtime.web_ui", "-h", "127.0.0.1"]
            self._add("web UI", [*web, "-p", str(self._duties.port), "-w", str(self._workspace)])

    def start_daemon(self) -> None:
        """Start the daemon; the code server answers already."""
        self._add(_DAEMON, ["-m", DAEMON_MODULE, "run", "-w", str(self._workspace), *_log_options()])

    def end_daemon(self, pause: Callable[[], None]) -> None:
        """End the daemon alone, in order if it can. The runs go on: they belong to the code server.

        Args:
            pause: called repeatedly until it has ended; if it raises, the wait ends.
        """
        daemon = self._members[_DAEMON]
        daemon.terminate()
        deadline = monotonic() + _SECONDS_TO_DIE
        while daemon.poll() is None and monotonic() < deadline:
            pause()
        daemon.kill()
        daemon.wait()
        del self._members[_DAEMON]

    def check(self) -> None:
        """Raise ProcessGroupError if one of them has ended."""
        for name, member in self._members.items():
            if member.poll() is not None:
                raise ProcessGroupError(f"the {name} ended with {member.returncode}")

    def answers(self) -> bool:
        """Whether the process that holds the code answers; the code server passes the question on to it."""
        return code_server_answers(self._socket, seconds=_SECONDS_TO_ANSWER)

    def code_problem(self) -> str | None:
        """Why the code cannot be loaded; None if it could. Its server answers all the same."""
        return code_problem(self._socket, seconds=_SECONDS_TO_ANSWER)

    def load_anew(self, pause: Callable[[], None]) -> None:
        """Reload the code; runs under way end with the code that they began with.

        Args:
            pause: called repeatedly meanwhile; if it raises, the wait ends.

        Raises:
            ProcessGroupError: the code server did not reload it.
        """

        def pause_and_check() -> None:
            self.check()
            pause()

        if not reload_code(self._socket, pause_and_check, seconds=_SECONDS_TO_LOAD):
            raise ProcessGroupError("the code server did not load its code anew")

    def end(self, in_a_hurry: Callable[[], bool]) -> None:
        """Let all of them, also the runs, end in order; kill the rest after a time, or at once in a hurry."""
        self._signal(signal.SIGTERM)
        deadline = monotonic() + _SECONDS_TO_DIE
        while self._lives() and monotonic() < deadline and not in_a_hurry():
            sleep(_POLL_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill all of them."""
        self._signal(signal.SIGKILL)
        for member in self._members.values():
            member.wait()
        self._members.clear()
        self._group = 0
        self._note_group(None)
        self._socket.unlink(missing_ok=True)

    def _add(self, name: str, options: Sequence[str]) -> None:
        """Start a process of this Python."""
        leads = not self._members
        member = subprocess.Popen(  # noqa: S603 - our own commands
            [sys.executable, *options],
            process_group=0 if leads else self._group,
            pass_fds=[self._lock.fileno()],
        )
        self._members[name] = member
        if leads:
            self._group = member.pid
            self._note_group(member.pid)

    def _note_group(self, group: int | None) -> None:
        """Write the group's number into the lock file, for a process that has to end it.

        Raises:
            OSError: it cannot be written, for example since the disk is full.
        """
        os.ftruncate(self._lock.fileno(), 0)
        if group is not None:
            os.write(self._lock.fileno(), str(group).encode())

    def _lives(self) -> bool:
        for member in self._members.values():
            member.poll()  # so that each process was asked to end
        with suppress(ProcessLookupError):
            os.killpg(self._group, 0)
            return True
        return False

    def _signal(self, number: signal.Signals) -> None:
        if self._group:
            with suppress(ProcessLookupError):
                os.killpg(self._group, number)


def _log_options() -> list[str]:
    """The options of Dagster's commands for the format of their logs."""
    return ["--log-format", "json"] if log_format() == "json" else []


def end_leftovers(lock_file: Path) -> bool:
    """Kill a group without a supervisor: its supervisor, and the command that started it, were killed.

    The group's number cannot belong to another group, since the lock shows that one of its processes lives.

    Returns:
        Whether there was one.

    Raises:
        PermanentError: its processes cannot be found, or do not die.
    """
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("a+") as file:
        if _taken(file.fileno()):
            return False
        deadline, killed = monotonic() + _SECONDS_TO_DIE, ""
        while monotonic() < deadline:
            file.seek(0)
            group = file.read().strip()
            if group and group != killed:
                with suppress(ProcessLookupError):
                    os.killpg(int(group), signal.SIGKILL)
                killed = group
            sleep(_POLL_SECONDS)
            if _taken(file.fileno()):
                return True
    raise PermanentError(
        f"processes of an earlier Holocron still hold {lock_file}, and could not be ended: end those that "
        f"`fuser {lock_file}` lists, then start again"
    )


def _taken(descriptor: int) -> bool:
    """Whether the lock is ours now; closing the file gives it back."""
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
