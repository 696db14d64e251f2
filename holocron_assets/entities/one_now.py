"""Finds the entity that another was merged into, by people's decisions and the lake, before the next run."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from holocron_assets.decisions.log import Standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_footer, read_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_JUDGEMENTS


def followed_decisions(lake: Lake, entity_type: str) -> frozenset[str]:
    """The ids of the decisions about pairs that the last run knew when it made a type's entities.

    It is empty while the entities are older than their judgements: a run was killed between the two.
    """
    entities, judgements = (read_footer(lake, table, entity_type) for table in (ENTITIES, ENTITY_JUDGEMENTS))
    if not entities or not judgements or entities.inputs.get("judgements") != judgements.content_id:
        return frozenset()
    decided = read_table(lake, ENTITY_JUDGEMENTS, entity_type, ["decision_id"]).column("decision_id")
    return frozenset(decided.drop_null().to_pylist())


def id_now(entity: Row, decided: Standing, followed: AbstractSet[str]) -> str:
    """The id of the entity that this one was merged into, by the decisions that count; else its own id.

    The lake's word comes first: by pages and by what else people decided, a run may have made another one of
    them stay than a merge names. Then merges that no run has followed yet lead on, through any number of
    entities. Where people took back what the lake's word follows from, their other merges count alone.

    Args:
        entity: a row of `entities`; columns `entity_id`, `merged_into` and `state_by` count.
        decided: the decisions that count.
        followed: from `followed_decisions`, for the entity's type.
    """
    own: str = entity["entity_id"]
    held: str = entity["merged_into"] or own
    if held != own and _is_taken_back(entity, decided):
        return _end(own, own, _merges(decided), decided)
    unknown = [row for row in _merges(decided) if row["decision_id"] not in followed]
    return _end(own, held, unknown, decided)


def one_with(identifier: str, merges: Collection[frozenset[str]]) -> set[str]:
    """The entities that merges join with an entity, through any number of others, and the entity itself."""
    found, reached = set(), {identifier}
    while reached:
        found |= reached
        reached = {each for pair in merges if pair & reached for each in pair} - found
    return found


def _merges(decided: Standing) -> list[Row]:
    return [row for row in decided.pairs.values() if row["kind"] == "merge"]


def _merged_pairs(decided: Standing) -> list[frozenset[str]]:
    return [frozenset((row["entity_id"], row["other_id"])) for row in _merges(decided)]


def _end(own: str, held: str, merges: Sequence[Row], decided: Standing) -> str:
    """The entity that some merges lead to from one that the lake has merged into `held`, if that is another.

    They lead on from all that people's merges join with it. Of several such entities it is one that a person
    promoted, else the first by id. The next run chooses again, and knows their pages too:
    `clusters.survivor_of`.
    """
    together = one_with(own, [*_merged_pairs(decided), frozenset((own, held))])
    targets = {row["other_id"] for row in merges} & together
    ends = targets - {row["entity_id"] for row in merges} or targets
    if not ends or held in ends:
        return held
    first: str = min(ends, key=lambda end: (not _is_promoted(end, decided), end))
    return first


def _is_promoted(identifier: str, decided: Standing) -> bool:
    last = decided.states.get(identifier)
    return bool(last and last["kind"] == "promote")


def _is_taken_back(entity: Row, decided: Standing) -> bool:
    """Whether the lake's merge of an entity no longer counts.

    A split takes back any merge. One by people counts as long as merges of theirs join the two.
    """
    own, held = entity["entity_id"], entity["merged_into"]
    last = decided.pairs.get(frozenset((own, held)))
    if last and last["kind"] == "split":
        return True
    return entity["state_by"].startswith("person:") and held not in one_with(own, _merged_pairs(decided))
