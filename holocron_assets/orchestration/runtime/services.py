"""Daemon and web UI, together or each by itself, as a command that goes on until it is told to end."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.derive.server.process.connection import model_server, running_server
from holocron_assets.errors import PermanentError
from holocron_assets.lake.attempts import delay_after
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.internals.instance import open_to_read, reap_without_daemon
from holocron_assets.orchestration.runtime.process_group import LOAD_ANEW, Duties, end_leftovers
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.telemetry.logs import say

_LOOPBACK = "127.0.0.1"
_LOOK_SECONDS = 10


def serve(lake: Lake, duties: Duties) -> int:
    """Run a daemon with its sensors, Dagster's web UI on loopback, or both, until told to end.

    Who has no daemon leaves runs, sensors and the model server to who has.

    Args:
        lake: of which there is one daemon at a time.
        duties: what is run.

    Returns:
        The exit code: 0 when told to end, 1 when it could not go on.

    Raises:
        PermanentError: another daemon works on this lake, or another program uses the port.
    """
    group = lake.locks / f"{duties.name}-family.lock"
    with _alone(lake, duties):
        if end_leftovers(group):  # first: they may hold the port
            say(f"Ended what a `{duties.command}` that was killed had left.")
        if duties.port is not None:
            _refuse_taken(duties.port)
        if not duties.daemon:
            open_to_read().dispose()  # where there is none, two that start at once would make it twice
            return _keep(group, duties, check=lambda: None)
        reap_without_daemon()
        with SharedModels() as models:
            return _keep(group, duties, models.check)


@contextmanager
def _alone(lake: Lake, duties: Duties) -> Iterator[None]:
    """Hold the lock that no second one of its kind gets.

    Raises:
        PermanentError: another has it.
    """
    lock = FileLock(lake.locks / f"{duties.name}.lock", blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise PermanentError(
            f"a `holocron ui` or `holocron daemon` works on {lake.root} already, and a lake has one daemon; "
            "end it first, or start `holocron webserver`, which goes beside it"
            if duties.daemon
            else f"another `{duties.command}` serves {lake.root} on port {duties.port}; end it first, or "
            "choose another port with --port"
        ) from error
    try:
        yield
    finally:
        lock.release()


class SharedModels:
    """The model server that all runs share: one that each started would load its models anew.

    Where there can be none, the rest works all the same, and runs that ask a model say what is amiss.
    """

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._held = ExitStack()
        self._is_wanted = False
        self._silences = 0
        self._failures = 0

    def __enter__(self) -> Self:
        """Start the server, if one is wanted."""
        try:
            running_server()  # raises where settings are wrong, and those stay as they are
        except ModelServerError as error:
            say(f"No model is asked: {error}")
        else:
            self._is_wanted = True
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._held.close()

    def check(self) -> None:
        """Start the server again if it is gone: it may be what the kernel ends when memory is short.

        One that does not start is tried again ever more seldom.
        """
        self._silences = self._silences + 1 if self._is_wanted and running_server() is None else 0
        if self._silences * _LOOK_SECONDS >= delay_after(max(1, self._failures)).total_seconds():
            say("There is no model server. It is started again.")
            self._silences = 0
            self._held.close()
            self._start()

    def _start(self) -> None:
        try:
            self._is_wanted = self._held.enter_context(model_server()) is not None
            self._failures = 0
        except ModelServerError as error:
            self._failures += 1
            say(f"No model is asked for now; it is tried again later: {error}")


def _keep(group: Path, duties: Duties, check: Callable[[], None]) -> int:
    """Have a keeper run the processes until it is told to end, as this process is; look now and then."""
    running: list[subprocess.Popen[bytes]] = []
    asked, missed = False, False

    def pass_on(number: int, _frame: object) -> None:
        nonlocal asked, missed
        is_end = number != LOAD_ANEW
        asked, missed = asked or is_end, missed or (is_end and not running)
        for process in running:
            process.send_signal(signal.SIGTERM if is_end else LOAD_ANEW)
        ending = f"Ending. What was done is kept; `{duties.command}` goes on from there."
        say(ending if is_end else "The code is loaded anew. Runs under way go on with the old.")

    # Before the child starts: a shell's background job ignores interrupts, and a child would inherit that.
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, pass_on)
    signal.signal(LOAD_ANEW, signal.SIG_IGN)  # this one the child is to inherit, until it hears it
    supervisor = _start_supervisor(group, duties)
    running.append(supervisor)
    if missed:  # it was asked while there was nobody to pass it on to
        supervisor.send_signal(signal.SIGTERM)
    signal.signal(LOAD_ANEW, pass_on)
    while (code := _ended(supervisor)) is None:
        check()
    end_leftovers(group)  # if the keeper was killed
    is_in_order = code == 0 or (asked and code == -signal.SIGTERM)  # it may not have listened yet
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
        stdin=subprocess.PIPE,  # closes when this process dies; the keeper ends all of it then
        # A Ctrl-C is for us: the runs are told to end before the model server that they ask.
        start_new_session=True,
    )


def _ended(process: "subprocess.Popen[bytes]") -> int | None:
    """The exit code of a process; None if it has not ended some seconds later."""
    try:
        return process.wait(_LOOK_SECONDS)
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
