"""Notices of steps of groups that were left out because one before them failed."""

from collections.abc import Mapping
from typing import Any

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GROUP_STEPS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.notifications.notifications import Notice

TABLES = (GROUP_STEPS,)

_LEFT_OUT = """
    select steps.*, list(failed.step order by failed.position) as failed
    from lake.group_steps as steps
    join lake.group_steps as failed
        on failed.group_run_id = steps.group_run_id
        and failed.position < steps.position
        and failed.status = 'failed'
    where steps.status in ('skipped', 'canceled') and steps.ended_at is not null
    group by all
    order by steps.ended_at, steps.position
"""


def group_notices(lake: Lake) -> list[Notice]:
    """A notice for each step that was skipped or canceled.

    Raises:
        DamagedPartitionError: a file cannot be read.
    """
    with connect(lake, tables=TABLES) as connection:
        return [_notice(row) for row in query(connection, _LEFT_OUT)]


def _notice(row: Mapping[str, Any]) -> Notice:
    return Notice(
        notice_id=f"{row['group_run_id']}-{row['step']}",
        event=f"run.{row['status']}",
        subject=f"group {row['group_name']}: {row['step']}",
        happened_at=row["ended_at"],
        data={
            "run_id": row["group_run_id"],
            "group": row["group_name"],
            "step": row["step"],
            "command": row["command"],
            "ended_at": row["ended_at"],
            "reason": f"failed before it: {', '.join(row['failed'])}",
        },
    )
