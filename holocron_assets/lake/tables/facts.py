"""Tables of statements: what infoboxes and models say of an entity, and of its relations to others.

A statement is never merged with a different one: several and conflicting values stay next to each other.
"""

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_bool,
    type_float,
    type_int,
    type_string,
)
from holocron_assets.lake.tables.resolve import ENTITY_TYPE
from holocron_assets.lake.tables.shared import BATCH, REVISION_ID, RUN_ID, SOURCE, TITLE, TITLE_KEY

_QUALIFIER = Column("qualifier", type_string, "What the page adds in parentheses: 'formerly'", nullable=True)
_NUMBER = (
    Column("number", type_float, "The value as a number, if it is one; in its unit", nullable=True),
    Column("unit", type_string, "The number's unit, as written", nullable=True),
)
_CALENDAR = Column(
    "calendar",
    type_string,
    "Calendar of the dates: 'gregorian', or one of eras.yaml such as 'galactic' (BBY, ABY)",
    nullable=True,
)
_DATE = (
    Column(
        "date_from",
        type_float,
        "Start of the date in the value: years of its calendar, BBY negative",
        nullable=True,
    ),
    Column("date_to", type_float, "End of the date; the same year plus one for a whole year", nullable=True),
)
_PERIOD = (
    Column("start_time", type_string, "Since when, as written", nullable=True),
    Column("end_time", type_string, "Until when, as written", nullable=True),
    Column("starts_from", type_float, "Earliest start: years of the calendar, BBY negative", nullable=True),
    Column("ends_to", type_float, "Latest end, likewise", nullable=True),
)
_WORK = Column(
    "work", type_string, "Title of the work that it comes from, if the page says so", nullable=True
)
_EVIDENCE = (
    Column("evidence", type_string, "Words of the page that say it"),
    Column(
        "evidence_start",
        type_int,
        "First character of these words in the wikitext; empty if unknown",
        nullable=True,
    ),
    Column("evidence_end", type_int, "Character after the last", nullable=True),
    Column("supported", type_bool, "Whether the page has these words"),
)
_STATED_BY = (
    Column("method", type_string, "'infobox', 'sentence' (a pattern of the vocabulary) or 'model'"),
    Column("rule_id", type_string, "The infobox rule FILE:FIELD, or vocabulary:KEY", nullable=True),
    Column("model", type_string, "The model", nullable=True),
    Column("confidence", type_float, "Between 0 and 1; for a rule, its measured reliability"),
)
_STANDING = (
    Column(
        "failed_checks",
        type_string,
        "Checks that a model's statement failed, separated by ', '; empty text if none, null if it was not "
        "checked yet or an infobox says it; 'types' for an infobox of a type that the relation is not for",
        nullable=True,
    ),
    Column(
        "verified_by",
        type_string,
        "What verifies a statement that no infobox gives: 'infobox', 'page' (another page says it too), "
        "'sentence' (a pattern reads it too) or 'checks' (measured for its key)",
        nullable=True,
    ),
    Column(
        "status",
        type_string,
        "'stated' (an infobox says so, or a sentence or model and what verifies it), 'proposed' (only a "
        "sentence or a model says so, or the infobox of a type that the relation is not for), "
        "'unmapped' (a model says so in words that the vocabulary lacks), 'unsupported' (the page lacks the "
        "words), 'accepted' or 'rejected' (by a person)",
    ),
    Column("decision_id", type_string, "The person's decision", nullable=True),
)

PAGE_FACTS = Table(
    name="page_facts",
    layer="resolve",
    description="A fact or relation that an infobox rule reads from one revision of a page",
    key=("title_key", "position"),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        REVISION_ID,
        Column("position", type_int, "Place on the page, from 0"),
        Column(
            "kind",
            type_string,
            "'fact', 'relation' (to the thing that `target` names), 'name' (of the entity) or 'external_id'",
        ),
        Column("key", type_string, "Key of the fact, or name of the relation"),
        Column("is_single", type_bool, "Whether only one value of the key can be true"),
        Column("field", type_string, "Infobox field, as written"),
        Column("value", type_string, "What it says, as clean text"),
        Column("target", type_string, "Title that the value links to", nullable=True),
        Column("target_key", type_int, "Title key of it", nullable=True),
        _QUALIFIER,
        *_NUMBER,
        _CALENDAR,
        *_DATE,
        *_PERIOD,
        _WORK,
        *_EVIDENCE,
        Column("rule_id", type_string, "The infobox rule: FILE:FIELD"),
        Column("confidence", type_float, "How reliable the rule was when measured, between 0 and 1"),
    ),
)

ENTITY_FACTS = Table(
    name="entity_facts",
    layer="resolve",
    description="Something that a source says of an entity",
    key=("fact_id",),
    columns=(
        Column(
            "fact_id",
            type_string,
            "Hash of page (by its first title), entity (if a list names it), key, value, qualifier, method "
            "and unit; "
            "the same in any rebuild",
        ),
        Column("entity_id", type_string, "The entity; if it was merged, the one that it is now"),
        ENTITY_TYPE,
        Column("fact_key", type_string, "Name of the fact, such as 'homeworld'"),
        Column("value", type_string, "The value, as clean text"),
        _QUALIFIER,
        *_NUMBER,
        _CALENDAR,
        *_DATE,
        Column("is_disputed", type_bool, "Whether there is another value although only one can be true"),
        SOURCE,
        TITLE,
        TITLE_KEY,
        BATCH,
        REVISION_ID,
        *_EVIDENCE,
        *_STATED_BY,
        *_STANDING,
        RUN_ID,
    ),
)

ENTITY_RELATIONS = Table(
    name="entity_relations",
    layer="resolve",
    description="A relation between two entities, as a source states it",
    key=("relation_id",),
    columns=(
        Column(
            "relation_id",
            type_string,
            "Hash of page (by its first title), entity, relation, other entity, qualifier, method, times and "
            "work; "
            "the same in any rebuild",
        ),
        Column("from_id", type_string, "The entity; if it was merged, the one that it is now"),
        ENTITY_TYPE,
        Column("relation", type_string, "Name of the relation, such as 'member_of'"),
        Column("to_id", type_string, "The other entity, if it is known", nullable=True),
        Column("to_type", type_string, "Its type", nullable=True),
        Column("to_name", type_string, "What the page calls it"),
        Column("to_title", type_string, "Title that the page links to", nullable=True),
        _QUALIFIER,
        _CALENDAR,
        *_PERIOD,
        _WORK,
        Column("work_id", type_string, "That work's entity, if it is known", nullable=True),
        SOURCE,
        TITLE,
        TITLE_KEY,
        BATCH,
        REVISION_ID,
        *_EVIDENCE,
        *_STATED_BY,
        *_STANDING,
        RUN_ID,
    ),
)
