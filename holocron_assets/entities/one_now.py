"""Finds the entity that another was merged into, by people's decisions and the lake, before the next run."""

from collections.abc import Iterable

from holocron_assets.decisions.log import Standing
from holocron_assets.lake.declaration.schema import Row


def id_now(entity: Row, decided: Standing) -> str:
    """The id of the entity that this one was merged into, by the decisions that count; else its own id.

    People's merges come first, through any number of entities; then the lake's, unless people took it back.

    Args:
        entity: a row of `entities`; columns `entity_id`, `merged_into` and `state_by` count.
        decided: the decisions that count.
    """
    own: str = entity["entity_id"]
    held: str | None = entity["merged_into"]
    if not held or own in _merged_by_people(decided) or _is_taken_back(entity, decided):
        return _end(own, decided)
    return _end(held, decided)


def one_with(identifier: str, merges: Iterable[frozenset[str]]) -> set[str]:
    """The entities that merges join with an entity, through any number of others, and the entity itself."""
    found, reached = set(), {identifier}
    while reached:
        found |= reached
        reached = {each for pair in merges if pair & reached for each in pair} - found
    return found


def _merges(decided: Standing) -> list[Row]:
    return [row for row in decided.pairs.values() if row["kind"] == "merge"]


def _merged_by_people(decided: Standing) -> set[str]:
    return {each for row in _merges(decided) for each in (row["entity_id"], row["other_id"])}


def _end(identifier: str, decided: Standing) -> str:
    """The entity that people's merges lead to from this one.

    Of several such entities it is one that a person promoted, else the first by id. The next run chooses
    again, and knows their pages too: `clusters.survivor_of`.
    """
    merges = _merges(decided)
    together = one_with(identifier, [frozenset((row["entity_id"], row["other_id"])) for row in merges])
    targets = {row["other_id"] for row in merges} & together
    ends = targets - {row["entity_id"] for row in merges} or targets
    if not ends or identifier in ends:
        return identifier
    first: str = min(ends, key=lambda end: (not _is_promoted(end, decided), end))
    return first


def _is_promoted(identifier: str, decided: Standing) -> bool:
    last = decided.states.get(identifier)
    return bool(last and last["kind"] == "promote")


def _is_taken_back(entity: Row, decided: Standing) -> bool:
    """Whether the lake's merge of an entity no longer counts, if no merge by people is part of it."""
    last = decided.pairs.get(frozenset((entity["entity_id"], entity["merged_into"])))
    return bool((last and last["kind"] == "split") or entity["state_by"].startswith("person:"))
