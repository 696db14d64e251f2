"""Finds the entity that another was merged into, by people's decisions and the lake, before the next run."""

from collections.abc import Collection, Sequence

from holocron_assets.decisions.log import Standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_footer, read_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_JUDGEMENTS
from holocron_assets.lake.views.database import connect, query

_SIDES = ("entity_id", "other_id")
_OF_TYPE = "select entity_id from entities where entity_type = $type and entity_id in (select unnest($ids))"


def id_now(lake: Lake, entity: Row, decided: Standing) -> str:
    """The id of the entity that this one was merged into, by the decisions that count; else its own id.

    The lake's word comes first: by pages and by what else people decided, a run may have made another one of
    them stay than a merge names. Then merges that no run has followed yet lead on, through any number of
    entities. Where people took back what the lake's word follows from, their other merges count alone. No
    run follows a merge of two entities that have different types now, so it leads nowhere.

    Args:
        lake: where the entity is.
        entity: a row of `entities`; columns `entity_id`, `entity_type`, `merged_into` and `state_by` count.
        decided: the decisions that count.
    """
    own: str = entity["entity_id"]
    held: str = entity["merged_into"] or own
    merges = _merges_within(lake, entity["entity_type"], decided)
    if held != own and _is_taken_back(entity, merges, decided):
        return _end(own, own, merges, merges, decided)
    followed = _followed(lake, entity["entity_type"]) if merges else frozenset()
    unknown = [row for row in merges if row["decision_id"] not in followed]
    return _end(own, held, merges, unknown, decided)


def one_with(identifier: str, merges: Collection[frozenset[str]]) -> set[str]:
    """The entities that merges join with an entity, through any number of others, and the entity itself."""
    found, reached = set(), {identifier}
    while reached:
        found |= reached
        reached = {each for pair in merges if pair & reached for each in pair} - found
    return found


def _merges_within(lake: Lake, entity_type: str, decided: Standing) -> Sequence[Row]:
    """The decisions that merge two entities of a type that the lake holds."""
    merges = [row for row in decided.pairs.values() if row["kind"] == "merge"]
    if not merges:
        return []
    named = {"type": entity_type, "ids": sorted({row[side] for row in merges for side in _SIDES})}
    with connect(lake, tables=[ENTITIES]) as connection:
        ids = {row["entity_id"] for row in query(connection, _OF_TYPE, named)}
    return [row for row in merges if all(row[side] in ids for side in _SIDES)]


def _followed(lake: Lake, entity_type: str) -> frozenset[str]:
    """The ids of the decisions about pairs that the last run knew when it made a type's entities.

    It is empty while the entities are older than their judgements: a run was killed between the two.
    """
    entities, judgements = (read_footer(lake, table, entity_type) for table in (ENTITIES, ENTITY_JUDGEMENTS))
    if not entities or not judgements or entities.inputs.get("judgements") != judgements.content_id:
        return frozenset()
    decided = read_table(lake, ENTITY_JUDGEMENTS, entity_type, ["decision_id"]).column("decision_id")
    return frozenset(decided.drop_null().to_pylist())


def _pairs(merges: Sequence[Row]) -> list[frozenset[str]]:
    return [frozenset(row[side] for side in _SIDES) for row in merges]


def _end(own: str, held: str, merges: Sequence[Row], unknown: Sequence[Row], decided: Standing) -> str:
    """The entity that some merges lead to from one that the lake has merged into `held`, if that is another.

    They lead on from all that people's merges join with it. Of several such entities it is one that a person
    promoted, else the first by id. The next run chooses again, and knows their pages too:
    `clusters.survivor_of`.
    """
    together = one_with(own, [*_pairs(merges), frozenset((own, held))])
    targets = {row["other_id"] for row in unknown} & together
    ends = targets - {row["entity_id"] for row in unknown} or targets
    if not ends or held in ends:
        return held
    first: str = min(ends, key=lambda end: (not _is_promoted(end, decided), end))
    return first


def _is_promoted(identifier: str, decided: Standing) -> bool:
    last = decided.states.get(identifier)
    return bool(last and last["kind"] == "promote")


def _is_taken_back(entity: Row, merges: Sequence[Row], decided: Standing) -> bool:
    """Whether the lake's merge of an entity no longer counts.

    A split takes back any merge. One by people counts as long as merges of theirs join the two.
    """
    own, held = entity["entity_id"], entity["merged_into"]
    last = decided.pairs.get(frozenset((own, held)))
    if last and last["kind"] == "split":
        return True
    return entity["state_by"].startswith("person:") and held not in one_with(own, _pairs(merges))
