"""`holocron worker`: takes runs on this machine, of a lake that several machines share."""

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
@click.option("--concurrency", type=click.IntRange(1, 64), default=2, show_default=True, help="Runs at once.")
@click.option("--queue", default="dagster", show_default=True, help="Of which runs are taken.")
@click.option("--name", help="Another one than the machine's own.")
@clear_errors
def worker(concurrency: int, queue: str, name: str | None) -> None:
    """Take runs that the daemon of another machine hands out, until Ctrl-C; those under way end first.

    HOLOCRON_BROKER, HOLOCRON_LAKE and HOLOCRON_POSTGRES_URL say where broker, lake and database are.
    """
    from holocron_assets.orchestration.internals.instance import open_instance

    program = Path(sys.executable).with_name("dagster-celery")
    if not broker():
        raise PermanentError("HOLOCRON_BROKER is not set: from where should a worker take runs?")
    if not program.exists():
        raise PermanentError("a worker needs extra `scale`: make EXTRAS=scale setup")
    open_instance().dispose()  # the home is there, and this is the lake that Dagster knows
    # A run has a process of its own, as it has on one machine: what it leaks or breaks ends with it.
    own = ["--concurrency", str(concurrency), "--max-tasks-per-child", "1"]
    command = [str(program), "worker", "start", "-A", _APP, "-y", str(_CONFIGURATION), "-q", queue]
    named = ["-n", name] if name else []
    os.environ["PATH"] = os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])
    os.execv(program, [*command, *named, "--", *own])  # noqa: S606 - our own
