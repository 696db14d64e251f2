"""Partitions that a process has taken to work on: no other works on them until it releases them."""

from dataclasses import dataclass

from filelock import Timeout

from holocron_assets.derive.dispatch.under_way import lock_name
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.results.superseded import superseded_pages
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import LLM_RUNS

_PROBE_SECONDS = 0.2  # a check whether a partition is worked on holds its lock for a moment


@dataclass(eq=False)
class OpenPartition:
    """A partition that this process works on, and no other.

    Attributes:
        work: its items and their outcomes.
        lock: held until it is closed.
        under_way: items that were taken and have no outcome yet.
        is_all_out: whether all of its items were handed out.
        inputs: the state in which its inputs' tables were read.
        is_over: whether the work on it has ended; it may be opened again.
        passed: how many questions of other processes went first when the journal was last read.
    """

    work: PartitionWork
    lock: Lock
    under_way: int = 0
    is_all_out: bool = False
    inputs: str = ""
    is_over: bool = False
    passed: int = 0


def open_partition(
    lake: Lake, interrogation: Interrogation, partition: str, *, model: str, digest: str
) -> OpenPartition | None:
    """Take a partition for this process; None if another process works on it.

    Raises:
        MissingPartitionError: a partition that its items are made from is missing.
        ConditionError: the interrogation's condition failed on a page.
    """
    lock = lake.lock(lock_name(interrogation, partition))
    inputs = inputs_mark(lake, interrogation, partition)  # before reading: they may grow meanwhile
    try:
        lock.acquire(timeout=_PROBE_SECONDS)
    except Timeout:
        return None
    try:
        work = PartitionWork(
            lake, interrogation, partition, model=model, digest=digest, superseded=superseded_pages(lake)
        )
    except BaseException:
        lock.release()
        raise
    return OpenPartition(work, lock, inputs=inputs)


def inputs_mark(lake: Lake, interrogation: Interrogation, partition: str) -> str:
    """A text that changes when the inputs of an interrogation's partition get other answers or outcomes."""
    places = [(LLM_RUNS, scope_of(one.name, partition)) for one in interrogation.upstream]
    places += [(one.table, partition) for one in interrogation.upstream]
    footers = [read_footer(lake, table, name) for table, name in places]
    return repr([(footer.content_id, footer.inputs) if footer else None for footer in footers])
