"""Launching jobs as `dagster job launch` does, with the exit code that it lacks; and starting the UI."""

import json
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import sleep, time
from typing import Any, Self

from dagster import DagsterInstance, DagsterRunStatus
from filelock import FileLock, Timeout

from holocron_assets.definitions import defs
from holocron_assets.lake.errors import PermanentError
from holocron_assets.lake.paths import Lake
from holocron_assets.models.connection import model_server, running_server
from holocron_assets.models.errors import ModelServerError
from holocron_assets.observe.logs import say
from holocron_assets.orchestration.failures import failure_of
from holocron_assets.orchestration.family import end_leftovers
from holocron_assets.orchestration.instance import open_instance, reap_without_daemon
from holocron_assets.orchestration.names import ADD_PAGES_JOB, GPU_JOB, PARTITION_TAG, REFRESH_JOB
from holocron_assets.settings import PROJECT_FOLDER

_POLL_SECONDS = 0.5
_LOOPBACK = "127.0.0.1"
_QUEUE_DAEMON = "QUEUED_RUN_COORDINATOR"
_SILENT_SECONDS = 180  # a daemon shows every half minute that it lives
_LOOK_SECONDS = 10
_MOST_SILENCES = 3


@dataclass(frozen=True)
class _Configured:
    """What a job's config belongs to, and which of it is needed and allowed."""

    op: str
    needed: frozenset[str]
    allowed: frozenset[str]


_CONFIGURED: Mapping[str, _Configured] = {
    REFRESH_JOB: _Configured("refresh_sources", frozenset(), frozenset({"source", "maximum_batches"})),
    ADD_PAGES_JOB: _Configured(
        "add_given_pages", frozenset({"source", "titles"}), frozenset({"source", "titles"})
    ),
}
_OPTIONS = {"source": "--source", "titles": "--title", "maximum_batches": "--maximum-batches"}
_WORKSPACE = PROJECT_FOLDER / "workspace.yaml"


def launch_job(  # noqa: PLR0913 - what is launched, and how it is told of
    job: str,
    *,
    config: Mapping[str, Any],
    partition: str | None,
    wait: bool,
    tell: Callable[[str], None],
    tags: Mapping[str, str] | None = None,
) -> str | None:
    """Launch a job through the run queue.

    Args:
        job: its name.
        config: of the jobs that take some; others have none.
        partition: of partitioned jobs.
        wait: whether to wait for the run's end.
        tell: told the run's id and state.
        tags: what limits know the run by.

    Returns:
        Why the launch or the run failed; None if neither did.

    Raises:
        ValueError: no such job, or it takes no such config or partition; says what it takes.
    """
    _refuse_wrong_target(job, config, partition)
    run_id = str(uuid.uuid4())
    with open_instance() as instance:
        command = [sys.executable, "-m", "dagster", "job", "launch", "-w", str(_WORKSPACE), "-j", job]
        command += ["--run-id", run_id]
        if config:
            command += ["--config-json", json.dumps({"ops": {_configured(job).op: {"config": config}}})]
        if all_tags := {**(tags or {}), **({PARTITION_TAG: partition} if partition else {})}:
            command += ["--tags", json.dumps(all_tags)]
        launched = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
        if launched.returncode:
            return f"job {job} was not launched: {launched.stderr.strip() or launched.stdout.strip()}"
        tell(f"launched {job}: run {run_id}")
        return _outcome(instance, job, run_id, tell) if wait else None


def _outcome(instance: DagsterInstance, job: str, run_id: str, tell: Callable[[str], None]) -> str | None:
    """Wait for a run; say why it failed, or why it cannot even start."""
    while (run := instance.get_run_by_id(run_id)) is None or not run.is_finished:
        if run and run.status == DagsterRunStatus.QUEUED and not _daemon_lives(instance):
            return f"run {run_id} of {job} stays queued: no daemon takes it. `make ui` starts one."
        sleep(_POLL_SECONDS)
    if run.status == DagsterRunStatus.SUCCESS:
        tell(f"run {run_id} succeeded")
        return None
    return f"run {run_id} of {job} ended as {run.status.value}: {failure_of(instance, run_id).reason}"


def _daemon_lives(instance: DagsterInstance) -> bool:
    last = instance.get_daemon_statuses([_QUEUE_DAEMON])[_QUEUE_DAEMON].last_heartbeat
    return last is not None and time() - last.timestamp < _SILENT_SECONDS


def serve(lake: Lake, port: int) -> int:
    """Run Dagster's web UI on loopback, and the daemon with its sensors, until told to end.

    Args:
        lake: of which there is one daemon at a time.
        port: of the web UI.

    Returns:
        The exit code: 0 when told to end, 1 when it could not go on.

    Raises:
        PermanentError: another daemon works on this lake, or another program uses the port.
    """
    _refuse_taken(port)
    family = lake.locks / "daemon-family.lock"
    try:
        with FileLock(lake.locks / "daemon.lock", blocking=False):
            if end_leftovers(family):
                say("Ended what a `holocron ui` that was killed had left.")
            reap_without_daemon()
            with _SharedModels() as models:
                return _keep(family, port, models.look)
    except Timeout as error:
        raise PermanentError(f"another `holocron ui` works on {lake.root}; end it first") from error


class _SharedModels:
    """The model server that all runs share: one that each started would load its models anew.

    Where there can be none, the rest works all the same, and runs that ask a model say what is amiss.
    """

    def __init__(self) -> None:
        self._held = ExitStack()
        self._is_wanted = False
        self._silences = 0

    def __enter__(self) -> Self:
        try:
            self._is_wanted = self._held.enter_context(model_server()) is not None
        except ModelServerError as error:
            say(f"No model is asked for now: {error}")
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def look(self) -> None:
        """Start the server again if it is gone: it may be what the kernel ends when memory is short."""
        self._silences = self._silences + 1 if self._is_wanted and running_server() is None else 0
        if self._silences >= _MOST_SILENCES:
            say("The model server is gone. It is started again.")
            self._silences = 0
            self._held.close()
            try:
                self._held.enter_context(model_server())
            except ModelServerError as error:
                say(f"It is tried again later: {error}")


def _keep(family: Path, port: int, look: Callable[[], None]) -> int:
    """Have a keeper run the processes until it is told to end, as this process is; look now and then."""
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(_number: int, _frame: object) -> None:
        for process in running:
            process.terminate()
        say("Ending. What was done is kept; `holocron ui` goes on from there.")

    # Before the child starts: a shell's background job ignores interrupts, and a child would inherit that.
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, pass_on)
    command = [sys.executable, "-m", "holocron_assets.orchestration.keeper"]
    keeper = subprocess.Popen(  # noqa: S603 - our own module
        [*command, "--lock-file", str(family), "--port", str(port)],
        cwd=PROJECT_FOLDER,
        stdin=subprocess.PIPE,  # closes when this process dies; the keeper ends all of it then
        # A Ctrl-C is for us: the runs are told to end before the model server that they ask.
        start_new_session=True,
    )
    running.append(keeper)
    while (code := _ended(keeper)) is None:
        look()
    end_leftovers(family)  # if the keeper was killed
    return 1 if code else 0


def _ended(process: "subprocess.Popen[bytes]") -> int | None:
    """The exit code of a process; None if it has not ended some seconds later."""
    try:
        return process.wait(_LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _refuse_wrong_target(job: str, config: Mapping[str, Any], partition: str | None) -> None:
    every_job = defs.resolve_all_job_defs()
    jobs = {definition.name: definition for definition in every_job if not definition.name.startswith("__")}
    if job not in jobs:
        raise ValueError(f"there is no job {job!r}; there are {', '.join(sorted(jobs))}")
    takes = _configured(job)
    if wrong := config.keys() - takes.allowed:
        raise ValueError(f"job {job} takes no {_options(wrong)}")
    if lacking := takes.needed - config.keys():
        raise ValueError(f"job {job} needs {_options(lacking)}")
    partitioned = jobs[job].partitions_def is not None
    if partitioned != bool(partition):
        raise ValueError(f"job {job} {'needs' if partitioned else 'takes no'} --partition")


def _configured(job: str) -> _Configured:
    if job == GPU_JOB or job.startswith(f"{GPU_JOB}_"):  # one for each pool of models
        return _Configured(defs.resolve_job_def(job).nodes[0].name, frozenset(), frozenset({"model"}))
    return _CONFIGURED.get(job, _Configured("", frozenset(), frozenset()))


def _options(names: Iterable[str]) -> str:
    return " and ".join(sorted(_OPTIONS[name] for name in names))


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
