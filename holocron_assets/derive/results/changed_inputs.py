"""How many items of a partition have inputs that say something else now: told without making the items.

Each row of `llm_runs` holds a hash of what the item's inputs had been answered. Where nothing else changed,
nothing else can have an item asked again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.inputs import Subject, input_answers
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

_COLUMNS = ("item_id", "status", "inputs_hash")


class Changed(NamedTuple):
    """The items of a partition, by whether their inputs changed.

    Attributes:
        changed: to be asked again, unless what they show of their inputs stayed the same.
        answered: of the others, those with an answer.
        dead: of the others, those given up.
    """

    changed: int
    answered: int
    dead: int


def only_inputs_changed(interrogation: Interrogation, differences: Sequence[str]) -> bool:
    """Whether a partition is stale for nothing but what its inputs were answered.

    Args:
        interrogation: whose partition.
        differences: as `Recipe.differences` tells them.
    """
    return bool(differences) and set(differences) <= {one.table.name for one in interrogation.upstream}


def changed_inputs(lake: Lake, interrogation: Interrogation, partition: str) -> Changed | None:
    """Compare what the inputs of a partition's items say with what they said when these were asked about.

    Returns:
        None where that is not known: of pairs, and where it was not written down.
    """
    if interrogation.over == "pairs":
        return None
    try:
        runs = read_partition(lake, LLM_RUNS, scope_of(interrogation.name, partition), _COLUMNS)
    except MissingPartitionError:
        return None
    answers = input_answers(lake, interrogation, partition)
    same = [run for run in runs if run["inputs_hash"] == answers.hash_of(_subject(interrogation, run))]
    answered = sum(run["status"] == "ok" for run in same)
    return Changed(len(runs) - len(same), answered, sum(run["status"] == "dead" for run in same))


def _subject(interrogation: Interrogation, run: Row) -> Subject:
    item: str = run["item_id"]
    return (int(item.partition("#")[0]) if interrogation.over == "pages" else item,)
