"""Everything known about one entity, and where each part comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from holocron_assets.decisions.log import standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_JUDGEMENTS,
    ENTITY_TAGS,
    REVIEW_ITEMS,
    SITES,
)
from holocron_assets.lake.views.named_pages import page_ids
from holocron_assets.languages.language import language_code
from holocron_assets.review.about import Mention, Summary, mentions_of, summary_of
from holocron_assets.review.past_decisions import PastDecision, decisions_about, fingerprint_of
from holocron_assets.review.pictures import Picture, pictures_of
from holocron_assets.review.queue import read_queue
from holocron_assets.review.reading import Reader, reading
from holocron_assets.review.statements import (
    NOT_STANDING,
    Statement,
    by_predicate,
    relations_to,
    statements_of,
)
from holocron_assets.review.timeline import Era, timeline

_MOST_RELATIONS_TO = 100
_TIMELINES = "derived_entity_timeline"
_MOST_FOUND = 50

# For each entity, the shortest name that contains the words: the words themselves, if that is a name.
_NAMED_SO = f"""
    contains(lower(alias), lower($text))
    qualify row_number() over (partition by entity_id order by length(alias), alias, kind) = 1
    order by not starts_with(lower(alias), lower($text)), length(alias), alias, entity_id
    limit {_MOST_FOUND}
"""


class Member(NamedTuple):
    """An entity that was merged into the one shown.

    Attributes:
        entity: its row.
        judgements: why it was merged: the judgements that tie it to the others.
    """

    entity: Row
    judgements: Sequence[Row]


@dataclass(frozen=True)
class EntityDetail:
    """What is known about an entity.

    Attributes:
        entity: its row of `entities`; if `merged_into` is set, the entity was merged into another.
        summary: it in a few words; None if nothing is known of it.
        history: its rows of all times, the newest first.
        members: those that were merged into it.
        names: rows of `entity_aliases`.
        facts: those that are stated or accepted, by key.
        relations: likewise, by relation.
        others: facts and relations that do not count, by status, in the order of `NOT_STANDING`.
        relations_to: relations of other entities to it that are stated or accepted, the first hundred.
        timeline: what has a date, by calendar.
        mentions: passages of other pages that name it.
        tags: rows of `entity_tags`.
        pictures: those that its page shows and the lake holds.
        decisions: what people decided about it.
        open_items: its items in the review queue.
    """

    entity: Row
    summary: Summary | None
    history: Sequence[Row]
    members: Sequence[Member]
    names: Sequence[Row]
    facts: Mapping[str, Sequence[Statement]]
    relations: Mapping[str, Sequence[Statement]]
    others: Mapping[str, Sequence[Statement]]
    relations_to: Sequence[Statement]
    timeline: Sequence[Era]
    mentions: Sequence[Mention]
    tags: Sequence[Row]
    pictures: Sequence[Picture]
    decisions: Sequence[PastDecision]
    open_items: Sequence[Row]

    @property
    def fingerprint(self) -> str:
        """A text that changes with the decisions that count about it or about one of its statements."""
        return fingerprint_of(self.decisions)

    @property
    def statements(self) -> list[Statement]:
        """Its facts and relations, whether they count or not."""
        groups = (*self.facts.values(), *self.relations.values(), *self.others.values())
        return [statement for statements in groups for statement in statements]

    @property
    def open_ids(self) -> set[str]:
        """The statements that its items in the review queue are about."""
        return {name for item in self.open_items for name in item["statement_ids"]}


def entity_detail(lake: Lake, entity_id: str) -> EntityDetail | None:
    """Look up an entity; None if there is none of this id.

    Args:
        lake: where it is.
        entity_id: its id.
    """
    with reading(lake) as reader:
        entity = reader.entities([entity_id]).get(entity_id)
        return _detail(reader, entity) if entity else None


def _detail(reader: Reader, entity: Row) -> EntityDetail:
    entity_id, of_type = entity["entity_id"], [entity["entity_type"]]
    about = {"id": entity_id}
    members = _members(reader, entity)
    decided = standing(reader.lake)
    statements = statements_of(reader, "entity_id = $id", about, decided, within=of_type)
    standing_ones = [one for one in statements if one.is_standing]
    facts = by_predicate(statement for statement in standing_ones if "fact_key" in statement.row)
    of_others = relations_to(reader, entity_id, decided, _MOST_RELATIONS_TO)
    names = reader.find(ENTITY_ALIASES, "entity_id = $id order by kind, alias", about, within=of_type)
    answers = reader.answers(_TIMELINES, "entity_id = $id order by position", about, within=of_type)
    return EntityDetail(
        entity,
        summary_of(reader, entity, facts),
        reader.find(ENTITIES, "entity_id = $id order by valid_from desc", about),
        members,
        names,
        facts,
        by_predicate(statement for statement in standing_ones if "relation" in statement.row),
        {
            status: of_status
            for status in NOT_STANDING
            if (of_status := [one for one in statements if one.status == status])
        },
        of_others,
        timeline([*standing_ones, *of_others], answers, _language(reader, entity["source"])),
        mentions_of(reader.lake, entity, [row["alias"] for row in names]),
        reader.find(ENTITY_TAGS, "entity_id = $id order by weight desc, tag_id", about, within=of_type),
        pictures_of(reader, entity),
        decisions_about(
            reader.lake,
            pages=[entity],
            entity_ids=[entity_id, *(member.entity["entity_id"] for member in members)],
            statement_ids=[statement.statement_id for statement in statements],
        ),
        [row for row in read_queue(reader.lake) if entity_id in (row["entity_id"], row["other_id"])],
    )


def _language(reader: Reader, source: str) -> str:
    """The code of the language of a source's wiki."""
    sites = reader.find(SITES, "true", {}, within=[source], columns="language")
    return language_code(sites[0]["language"] if sites else None)


def _members(reader: Reader, entity: Row) -> list[Member]:
    of_type = [entity["entity_type"]]
    merged = "merged_into = $id and valid_to is null order by source, title"
    rows = reader.find(ENTITIES, merged, {"id": entity["entity_id"]}, within=of_type)
    ids = [entity["entity_id"], *(row["entity_id"] for row in rows)]
    one_thing = """
        judgement = 'same'
        and first_id in (select unnest($ids)) and second_id in (select unnest($ids))
        order by pair_id
    """
    judgements = reader.find(ENTITY_JUDGEMENTS, one_thing, {"ids": ids}, within=of_type) if rows else []
    return [
        Member(
            row, [line for line in judgements if row["entity_id"] in (line["first_id"], line["second_id"])]
        )
        for row in rows
    ]


def search_entities(lake: Lake, text: str) -> list[dict[str, Any]]:
    """Entities with a name that contains some words: rows of `entities`, each with the `alias` found.

    Args:
        lake: where they are.
        text: part of a name, whatever its case.
    """
    with reading(lake) as reader:
        found = {row["entity_id"]: row for row in reader.find(ENTITY_ALIASES, _NAMED_SO, {"text": text})}
        entities = reader.entities(list(found))
    return [{**entity, "alias": found[name]["alias"]} for name, entity in entities.items()]


def entity_titled(lake: Lake, title: str, source: str | None) -> Row | None:
    """The entity that was read from the page of a title; None if there is none.

    An entity whose page had the title does not count where another page has it now.

    Args:
        lake: where it is.
        title: the page's title; an exact match wins over one that differs in upper or lower case.
        source: the page's source; any by default.
    """
    condition = """
        lower(title) = lower($title) and coalesce(source = $source, true) and valid_to is null
        order by title <> $title, state = 'suppressed', source, valid_from desc
    """
    with reading(lake) as reader:
        found = reader.find(ENTITIES, condition, {"title": title, "source": source})
    pages = page_ids(lake, [row["title_key"] for row in found]) if found else {}
    of_page = (row for row in found if row["page_id"] in {None, pages.get(row["title_key"], row["page_id"])})
    return next(of_page, None)


def has_queue(lake: Lake) -> bool:
    """Whether the review queue was made at least once."""
    return bool(lake.partitions(REVIEW_ITEMS))
