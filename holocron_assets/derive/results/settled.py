"""Which items of a partition have a final outcome, so that items that build on them need not wait.

The footer of the rows of `llm_runs` says which items were open, and what was asked of which pages. As long as
the same would be asked now, every other item is settled, however much of the partition is left.
"""

import json
from collections.abc import Callable, Iterable, Mapping

from holocron_assets.derive.interrogations.derived_tables import ID_COLUMNS
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.inputs import ABOUT, Subject, subject_of
from holocron_assets.derive.items.recipe import ANY_MODEL, CODE, MODEL, derivation_of, recipe_of
from holocron_assets.derive.items.wanted import Superseded, wanted_rows
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.parquet import MissingPartitionError, read_footer
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

_ASKED_OF = "asked_of"
_OPEN = "open"

_Waits = Callable[[Subject], bool]


def runs_inputs(asked_of: str, digest: str, open_items: Iterable[str]) -> dict[str, str]:
    """The inputs that the footer of a scope's rows of `llm_runs` is to name.

    Args:
        asked_of: the result of the function of this name.
        digest: of the model that is asked.
        open_items: ids of the items without an outcome.
    """
    return {_ASKED_OF: asked_of, MODEL: digest, _OPEN: " ".join(sorted(open_items))}


def asked_of(lake: Lake, interrogation: Interrogation, partition: str, digest: str) -> str:
    """A hash of all that decides which items there are and what is asked about them, also for their inputs.

    Call it before the items are read: then a file that is replaced meanwhile changes the hash. The inputs'
    answers are left out: they grow, and settled items stay settled.

    Args:
        lake: where.
        interrogation: what is asked.
        partition: of which partition.
        digest: of the model that is asked.
    """
    derivation = derivation_of(interrogation)
    footers = [read_footer(lake, table, partition) for table in derivation.inputs]
    recipe = recipe_of(interrogation, digest)
    versions = sorted(recipe.versions.items())
    queried = recipe.digests_of(lake).get(partition) if recipe.digests_of else None
    above = []
    for one in interrogation.upstream:
        runs = read_footer(lake, LLM_RUNS, scope_of(one.name, partition))
        model = runs.inputs.get(MODEL, ANY_MODEL) if runs else ANY_MODEL
        above.append(asked_of(lake, one, partition, model))
    made_from = [footer.content_id if footer else None for footer in footers]
    return content_hash(json.dumps([made_from, versions, queried, above]))


def waiting_subjects(
    lake: Lake, interrogation: Interrogation, partition: str, superseded: Superseded = ()
) -> Callable[[Subject], str | None]:
    """A function that names the input that may still get an answer about a subject.

    Args:
        lake: where.
        interrogation: the interrogation that has the inputs.
        partition: a batch; for pairs, an entity type.
        superseded: pages that are not asked about.
    """
    waits = {one.name: _waits(lake, one, partition, superseded) for one in interrogation.upstream}

    def waits_for(subject: Subject) -> str | None:
        return next((name for name, waits_there in waits.items() if waits_there(subject)), None)

    return waits_for


def _waits(lake: Lake, interrogation: Interrogation, partition: str, superseded: Superseded) -> _Waits:
    """A function that says whether an interrogation may still get an outcome about a subject."""
    made = read_footer(lake, interrogation.table, partition) is not None
    differences = recipe_of(interrogation, ANY_MODEL).differences(lake, partition)
    if made and differences in ((), (CODE,)):
        return lambda _: False
    columns = tuple(dict.fromkeys((ID_COLUMNS[interrogation.over], *ABOUT[interrogation.over])))
    try:
        rows = wanted_rows(lake, interrogation, partition, superseded=superseded, columns=columns)
    except MissingPartitionError:
        return lambda _: True
    wanted = {_item_id(interrogation, row): subject_of(interrogation.over, row) for row in rows}
    still_open = _open_items(lake, interrogation, partition)
    if still_open is None:
        return set(wanted.values()).__contains__
    return {wanted[item] for item in still_open if item in wanted}.__contains__


def _open_items(lake: Lake, interrogation: Interrogation, partition: str) -> set[str] | None:
    """Pages or pairs that were open when outcomes were last written; None if that no longer holds."""
    footer = read_footer(lake, LLM_RUNS, scope_of(interrogation.name, partition))
    inputs: Mapping[str, str] = footer.inputs if footer else {}
    if inputs.get(_ASKED_OF) != asked_of(lake, interrogation, partition, inputs.get(MODEL, ANY_MODEL)):
        return None
    return {item.partition("#")[0] for item in inputs[_OPEN].split()}


def _item_id(interrogation: Interrogation, row: Mapping[str, object]) -> str:
    return str(row[ID_COLUMNS[interrogation.over]])
