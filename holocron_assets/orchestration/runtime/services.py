"""Daemon and web UI, together or each by itself, as a command that runs until it gets a signal to end."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from filelock import AcquireReturnProxy, FileLock, Timeout

from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.derive.server.process.connection import keep_log_small, model_server, running_server
from holocron_assets.errors import PermanentError
from holocron_assets.lake.attempts import delay_after
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.orchestration.internals.instance import open_to_read, reap_without_daemon
from holocron_assets.orchestration.runtime.process_group import LOAD_ANEW, Duties, end_leftovers
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.telemetry.logs import say

_LOOPBACK = "127.0.0.1"
_CHECK_SECONDS = 10


def serve(lake: Lake, duties: Duties) -> int:
    """Run a daemon with its sensors, Dagster's web UI on loopback, or both, until a signal to end.

    A process group without a daemon leaves runs, sensors and the model server to the group that has one.

    Args:
        lake: the lake, which has one daemon at a time.
        duties: what to run.

    Returns:
        The exit code: 0 after a signal to end, 1 when it could not go on.

    Raises:
        PermanentError: another daemon works on this lake, or another program uses the port.
    """
    # By this name of the file, a group that an earlier version left is found, too.
    group = lake.locks / f"{duties.name}-family.lock"
    with _alone(lake, duties):
        if end_leftovers(group):  # first: they may hold the port
            say(f"Ended processes that a killed `{duties.command}` had left.")
        if duties.port is not None:
            _refuse_taken(duties.port)
        if not duties.daemon:
            open_to_read().dispose()  # if it is missing, two commands that start at once would make it twice
            return _keep(group, duties, check=lambda: None)
        reap_without_daemon()
        with SharedModels() as models:
            return _keep(group, duties, models.check)


def _alone(lake: Lake, duties: Duties) -> AcquireReturnProxy[FileLock]:
    """Take the lock that excludes a second command of its kind, until the block of `with` ends.

    Raises:
        PermanentError: another command holds it.
    """
    try:
        return FileLock(lake.locks / f"{duties.name}.lock", blocking=False).acquire()
    except Timeout as error:
        raise PermanentError(
            f"a `holocron ui` or `holocron daemon` works on {lake.root} already, and a lake has one daemon; "
            "end it first, or start `holocron webserver`, which works next to it"
            if duties.daemon
            else f"another `{duties.command}` serves {lake.root} on port {duties.port}; end it first, or "
            "choose another port with --port"
        ) from error


_NO_SERVER = (ModelServerError, FolderGoneError, OSError)


def _is_heard() -> bool:
    """Whether a model server answers. The disk with the note of where it listens may be gone for now."""
    try:
        return running_server() is not None
    except _NO_SERVER:
        return False


class SharedModels:
    """The model server that all runs share: if each run started one, each would load the models again.

    If there can be none, the rest works all the same, and runs that ask a model say what is wrong.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._held = ExitStack()
        self._is_wanted = False
        self._silences = 0
        self._failures = 0

    def __enter__(self) -> Self:
        """Start the server, if models are to be asked."""
        try:
            running_server()  # raises if settings are wrong, and trying again would not help
        except ModelServerError as error:
            say(f"No model is asked: {error}", "error")
        else:
            self._is_wanted = True
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._held.close()

    def check(self) -> None:
        """Start the server again if it is gone, and keep its log small.

        The kernel may end it when memory is short. If it does not start, it is tried again after longer and
        longer pauses.
        """
        with suppress(FolderGoneError, OSError):  # reported by what needs the folder
            keep_log_small()
        self._silences = self._silences + 1 if self._is_wanted and not _is_heard() else 0
        if self._silences * _CHECK_SECONDS >= delay_after(max(1, self._failures)).total_seconds():
            say("There is no model server. It is started again.")
            self._silences = 0
            self._held.close()
            self._start()

    def _start(self) -> None:
        try:
            self._is_wanted = self._held.enter_context(model_server()) is not None
            self._failures = 0
        except _NO_SERVER as error:  # an OSError of too little memory, or too many processes
            self._failures += 1
            say(f"No model is asked for now; it is tried again later: {error}", "error")


def _keep(group: Path, duties: Duties, check: Callable[[], None]) -> int:
    """Let a supervisor run the processes until a signal to end, and check the model server meanwhile."""
    running: list[subprocess.Popen[bytes]] = []
    asked, missed = False, False

    def pass_on(number: int, _frame: object) -> None:
        nonlocal asked, missed
        is_end = number != LOAD_ANEW
        asked, missed = asked or is_end, missed or (is_end and not running)
        for process in running:
            process.send_signal(signal.SIGTERM if is_end else LOAD_ANEW)
        ending = f"Ending. What was done is kept; `{duties.command}` goes on from there."
        say(ending if is_end else "The code is reloaded. Runs under way go on with the old.")

    # Before the child starts: a shell's background job ignores interrupts, and a child would inherit that.
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, pass_on)
    signal.signal(LOAD_ANEW, signal.SIG_IGN)  # the child is to inherit this one, until it listens for it
    supervisor = _start_supervisor(group, duties)
    running.append(supervisor)
    if missed:  # the request came before there was a child to pass it on to
        supervisor.send_signal(signal.SIGTERM)
    signal.signal(LOAD_ANEW, pass_on)
    while (code := _ended(supervisor)) is None:
        check()
    end_leftovers(group)  # if the supervisor was killed
    is_in_order = code == 0 or (asked and code == -signal.SIGTERM)  # it may not listen yet
    return 0 if is_in_order else 1


def _start_supervisor(group: Path, duties: Duties) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable,
        "-m",
        "holocron_assets.orchestration.runtime.supervisor",
        "--lock-file",
        str(group),
    ]
    daemon = ["--daemon"] if duties.daemon else []
    port = ["--port", str(duties.port)] if duties.port is not None else []
    return subprocess.Popen(  # noqa: S603 - our own module
        [*command, *daemon, *port],
        cwd=PROJECT_FOLDER,
        stdin=subprocess.PIPE,  # closes when this process dies; then the supervisor ends all of it
        # Only this process gets a Ctrl-C: it ends the runs before the model server that they ask.
        start_new_session=True,
    )


def _ended(process: "subprocess.Popen[bytes]") -> int | None:
    """The exit code of a process; None if it has not ended some seconds later."""
    try:
        return process.wait(_CHECK_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _refuse_taken(port: int) -> None:
    """Raise PermanentError if the port is not free: Dagster would go on without its web page."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError as error:
            raise PermanentError(
                f"port {port} of {_LOOPBACK} cannot be used ({error.strerror}); choose another with --port"
            ) from error
