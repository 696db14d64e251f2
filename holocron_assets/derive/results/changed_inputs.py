"""How many items of a partition have inputs with other answers now, counted without making the items.

Each row of `llm_runs` holds a hash of the answers of the item's inputs. If nothing else changed, only items
with another hash are asked about again.
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
        changed: to be asked about again, unless the part of the inputs that they show is the same.
        answered: those of the others with an answer.
        dead: those of the others that were given up.
    """

    changed: int
    answered: int
    dead: int


def only_inputs_changed(interrogation: Interrogation, differences: Sequence[str]) -> bool:
    """Whether a partition is stale only because of its inputs' answers.

    Args:
        interrogation: the interrogation of the partition.
        differences: as `Recipe.differences` gives them.
    """
    return bool(differences) and set(differences) <= {one.table.name for one in interrogation.upstream}


def changed_inputs(lake: Lake, interrogation: Interrogation, partition: str) -> Changed | None:
    """Compare the inputs' answers about a partition's items with those at the time of asking.

    Returns:
        The counts; None for pairs, and where no hash was written down.
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
