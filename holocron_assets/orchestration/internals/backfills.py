"""Backfills: starts one, and lists the remaining work of open ones.

Waits for: public calls of `DagsterInstance` that start a backfill and list open ones with their partitions.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from holocron_assets.errors import PermanentError

if TYPE_CHECKING:
    from dagster._core.execution.backfill import PartitionBackfill

# The command has no `__main__`; and its query comes on stdin, since an argument may be too short for it.
_GRAPHQL = "import sys; from dagster_graphql.cli import main; sys.argv += ['-v', sys.stdin.read()]; main()"
_OPEN = ("REQUESTED", "CANCELING", "FAILING")
_MUTATION = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on Error { message }
  }
}
"""


@dataclass(frozen=True)
class OpenBackfill:
    """A backfill that is not over.

    Attributes:
        id: its id.
        job: the job whose partitions it makes; None if it makes those of assets.
        of_assets: the partitions that it has yet to request, by asset; None for an asset without partitions.
        of_job: the partitions for which it has yet to request its job, in order.
    """

    id: str
    job: str | None
    of_assets: Mapping[dg.AssetKey, frozenset[str] | None]
    of_job: Sequence[str]


def open_backfills(instance: dg.DagsterInstance) -> Iterator[OpenBackfill]:
    """The backfills that are not over. Dagster has no public call that lists backfills."""
    for one in instance.get_backfills():
        if one.status.value in _OPEN:
            is_of_job = one.asset_backfill_data is None
            yield OpenBackfill(
                one.backfill_id,
                (one.job_name or "") if is_of_job else None,
                _left_of_assets(one),
                _left_of_job(one) if is_of_job else (),
            )


def _left_of_assets(backfill: "PartitionBackfill") -> dict[dg.AssetKey, frozenset[str] | None]:
    data = backfill.asset_backfill_data
    if data is None:
        return {}
    left = data.target_subset - data.requested_subset - data.failed_and_downstream_subset
    partitioned = left.partitions_subsets_by_asset_key.items()
    return {
        **{key: frozenset(subset.get_partition_keys()) for key, subset in partitioned if not subset.is_empty},
        **dict.fromkeys(left.non_partitioned_asset_keys),
    }


def _left_of_job(backfill: "PartitionBackfill") -> Sequence[str]:
    """The partitions that a backfill of a job has yet to request: it goes through them in order."""
    names, last = backfill.partition_names or (), backfill.last_submitted_partition_name
    return names[names.index(last) + 1 :] if last in names else names


def start_backfill(workspace: Path, params: Mapping[str, Any]) -> str:
    """Start a backfill over the instance that is open in this process, and return its id.

    Dagster has no public call that does so: this asks its GraphQL schema, in a process of its own.

    Args:
        workspace: the file that names the code location.
        params: the variables of the mutation `launchPartitionBackfill`.

    Raises:
        PermanentError: Dagster refused it.
    """
    command = [sys.executable, "-c", _GRAPHQL, "-w", str(workspace), "-t", _MUTATION]
    done = subprocess.run(  # noqa: S603 - our own
        command, input=json.dumps({"params": params}), capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    answer = json.loads(lines[-1]) if lines else {}
    if not answer.get("data"):
        said = done.stderr.strip() or done.stdout.strip()
        raise PermanentError(f"Dagster did not take the backfill: {said}")
    started = answer["data"]["launchPartitionBackfill"]
    if started["__typename"] != "LaunchBackfillSuccess":
        raise PermanentError(f"Dagster refused the backfill: {started.get('message', started['__typename'])}")
    return str(started["backfillId"])
