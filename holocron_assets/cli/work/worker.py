"""`holocron worker`: executes runs of a shared lake on this machine."""

import os
import sys
from pathlib import Path

import click

from holocron_assets.cli.shared import clear_errors
from holocron_assets.errors import PermanentError
from holocron_assets.settings import PROJECT_FOLDER, broker

_APP = "dagster_celery.app"
_CONFIGURATION = PROJECT_FOLDER / "deploy" / "celery" / "worker.yaml"


@click.command()
@click.option(
    "--concurrency", type=click.IntRange(1, 64), default=2, show_default=True, help="The most runs at once."
)
@click.option("--queue", default="dagster", show_default=True, help="The queue to take runs from.")
@click.option("--name", help="Name of the worker, if not the machine's name.")
@clear_errors
def worker(concurrency: int, queue: str, name: str | None) -> None:
    """Take runs that the daemon of another machine hands out, until Ctrl-C; those under way end first.

    HOLOCRON_BROKER, HOLOCRON_LAKE and HOLOCRON_POSTGRES_URL say where broker, lake and database are.
    """
    from holocron_assets.orchestration.internals.instance import open_instance

    program = Path(sys.executable).with_name("dagster-celery")
    if not broker():
        raise PermanentError("HOLOCRON_BROKER is not set: set it to the broker that hands out runs")
    if not program.exists():
        raise PermanentError("a worker needs extra `scale`: make EXTRAS=scale setup")
    open_instance().dispose()  # prepares the home, and refuses a lake other than the one that Dagster knows
    # Each run has its own process, as on a single machine: what it leaks or breaks ends with it.
    own = ["--concurrency", str(concurrency), "--max-tasks-per-child", "1"]
    command = [str(program), "worker", "start", "-A", _APP, "-y", str(_CONFIGURATION), "-q", queue]
    named = ["-n", name] if name else []
    os.environ["PATH"] = os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])
    os.execv(program, [*command, *named, "--", *own])  # noqa: S606 - our own
