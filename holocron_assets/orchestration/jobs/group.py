"""The job that runs a group of work, for schedules and for people who start it in the UI."""

import subprocess
from contextlib import suppress

import dagster as dg
from filelock import Timeout

from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.groups import last_run, read_group
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held, refuse_all_held
from holocron_assets.orchestration.runs.orphans import command_that_ends_with_us
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.planning.job_names import GROUP_JOB, GROUP_JOB_TAGS
from holocron_assets.settings import groups_folder

_SECONDS_TO_END = 30


class GroupConfig(dg.Config):
    """Which group is run: the name of its file, without `.yaml`."""

    group: str


@dg.op(
    description="Run the steps of a group one after the other, as `holocron group run` does.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,  # finished steps are not done again
)
def run_steps(context: dg.OpExecutionContext, config: GroupConfig, lake: LakeResource) -> None:
    """Run a group, or continue it where it was killed; fail if any step failed."""
    opened, name = lake.open(), config.group
    with ended_when_held(context), clear_failures():
        refuse_all_held(context, opened)
        read_group(groups_folder(), name)
        _refuse_running(opened, name)
        code = _run("group", "run", name)
    rows = last_run(opened, name)
    for row in rows:
        context.log.info(f"{row['step']}: {row['status']} (holocron {row['command']})")
    if code:
        undone = [f"{row['step']} {row['status']}" for row in rows if row["status"] != "done"]
        why = ", ".join(undone) or "its steps could not be begun"
        raise dg.Failure(
            f"group {name} ended with exit code {code}: {why}; the run's stdout and stderr say why",
            allow_retries=False,
        )


@dg.job(
    name=GROUP_JOB,
    description="Run a group of work: commands in sequence, from a file in data/groups/.",
    executor_def=dg.in_process_executor,
    tags=GROUP_JOB_TAGS,
)
def run_group() -> None:
    """See `run_steps`."""
    run_steps()


def _refuse_running(lake: Lake, name: str) -> None:
    """Fail if another process runs the group: no step may run twice at once."""
    try:
        with lake.lock(f"group-{name}", timeout=0):
            return
    except Timeout as error:
        raise dg.Failure(f"another process runs group {name}", allow_retries=False) from error


def _run(*words: str) -> int:
    """Run a holocron command in a process that ends with this one, and return its exit code."""
    with command_that_ends_with_us(words) as process:
        try:
            return process.wait()
        finally:
            if process.poll() is None:  # the run was asked to stop
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_SECONDS_TO_END)
                process.kill()
