"""Finds the entity or statement that a person means: by title, name, id or the start of an id."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from holocron_assets.decisions.log import DecisionError, standing
from holocron_assets.entities.one_now import id_now
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS
from holocron_assets.lake.views.database import connect, query

SHORTEST_START = 8
"""Fewest characters for the start of an id, so that it is not taken for a title."""

_ENTITIES = """
    select
        entity_id, entity_type, source, name, title, continuity, origin, state, state_by,
        merged_into,
        case
            when entity_id = $named then 0
            when title = $named then 1
            when name = $named then 2
            when starts_with(entity_id, lower($named)) and length($named) >= $shortest then 3
            when lower($named) in (lower(title), lower(name)) then 4
        end as how
    from entities
    where how is not null and coalesce(entity_type = $type, true) and coalesce(source = $source, true)
    qualify how = min(how) over ()
    order by source, title, entity_type
"""

_STATEMENTS = """
    select fact_id as statement_id, entity_id, source, title, fact_key || ': ' || value as said, status
    from lake.entity_facts
    where starts_with(fact_id, $named)
    union all
    select relation_id, from_id, source, title, relation || ': ' || to_name, status
    from lake.entity_relations
    where starts_with(relation_id, $named)
    order by all
"""


def find_entities(
    lake: Lake, named: str, *, entity_type: str | None = None, source: str | None = None
) -> list[dict[str, Any]]:
    """The entities that a person may mean, by the surest way that finds any.

    Args:
        lake: the lake.
        named: an id; the title of its page; its name; the start of an id, of at least eight characters; title
            or name in other capitals. Tried in this order.
        entity_type: only of this type.
        source: only of this source.

    Returns:
        Columns `entity_id`, `entity_type`, `source`, `name`, `title`, `continuity`, `origin`, `state`,
        `state_by` and `merged_into`. One that was merged into another of those found is left out.
    """
    wanted = {
        "named": unicodedata.normalize("NFC", named).replace("_", " ").strip(),
        "shortest": SHORTEST_START,
        "type": entity_type,
        "source": source,
    }
    with connect(lake, tables=[ENTITIES]) as connection:
        found = query(connection, _ENTITIES, wanted)
    ids = {row["entity_id"] for row in found}
    return [row for row in found if row["merged_into"] not in ids]


def named_entity(lake: Lake, named: str, *, entity_type: str | None = None, source: str | None = None) -> Row:
    """The one entity that a person means; otherwise like `find_entities`.

    Raises:
        DecisionError: there is none, or there are several; the message lists them.
    """
    found = find_entities(lake, named, entity_type=entity_type, source=source)
    if not found:
        kind = f" of type {entity_type}" if entity_type else ""
        raise DecisionError(
            f"no entity{kind} is called {named!r}{_too_short(named)}. "
            "`holocron page` shows what is known about a page."
        )
    if len(found) > 1:
        listed = " or ".join(map(described, found))
        raise DecisionError(f"{named!r} may be {listed}: name one by its id, or with --type or --source")
    return found[0]


def survivor(lake: Lake, entity: Row) -> Row:
    """The entity that an entity was merged into; itself, unless it was merged.

    A decision counts at once, unless it waits for something that the lake does not hold yet.
    """
    now = id_now(lake, entity, standing(lake))
    if now == entity["entity_id"]:
        return entity
    return next(iter(find_entities(lake, now, entity_type=entity["entity_type"])), entity)


def named_statement(lake: Lake, named: str) -> Row:
    """The fact or relation that a person means.

    Args:
        lake: what is known.
        named: its id, or the start of it, of at least eight characters.

    Returns:
        Columns `statement_id`, `entity_id`, `source`, `title`, `said` and `status`.

    Raises:
        DecisionError: there is none, or there are several.
    """
    found: Sequence[Row] = ()
    if len(named) >= SHORTEST_START:
        with connect(lake, tables=[ENTITY_FACTS, ENTITY_RELATIONS]) as connection:
            found = query(connection, _STATEMENTS, {"named": named})
    if len(found) != 1:
        listed = "; ".join(f"{row['statement_id']} ({row['title']}, {row['said']})" for row in found)
        raise DecisionError(
            f"{named!r} may be {listed}"
            if found
            else f"no fact or relation has the id {named!r}{_too_short(named)}"
        )
    return found[0]


def _too_short(named: str) -> str:
    """What to say of a name that may be the start of an id, but is too short for one."""
    is_short = len(named) < SHORTEST_START and re.fullmatch("[0-9a-fA-F-]+", named)
    return f"; the start of an id needs {SHORTEST_START} characters or more" if is_short else ""


def described(entity: Row) -> str:
    """An entity in words that identify it."""
    return f"{entity['title']!r} of {entity['source']} ({entity['entity_type']}, {entity['entity_id'][:13]})"
