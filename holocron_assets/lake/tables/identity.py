"""Tables of identity: pairs that may be one entity, judgements of them, and names in list pages."""

import pyarrow as pa

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_bool,
    type_float,
    type_int,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.tables.resolve import ENTITY_TYPE
from holocron_assets.lake.tables.shared import BATCH, PAGE_ID, REVISION_ID, RUN_ID, SOURCE, TITLE, TITLE_KEY

_PAIR = (
    Column("pair_id", type_string, "Both entity ids, the smaller first, joined by '+'"),
    Column("entity_type", type_string, "Type of both"),
    Column("first_id", type_string, "Entity whose id sorts first"),
    Column("second_id", type_string, "The other"),
)

ENTITY_PAIRS = Table(
    name="entity_pairs",
    layer="resolve",
    description="Two entities of one type whose names are alike, so that they may be the same",
    key=("pair_id",),
    columns=(
        *_PAIR,
        Column("first_source", type_string, "Source of the first"),
        Column("second_source", type_string, "Source of the second"),
        Column("first_title", type_string, "Page of the first"),
        Column("second_title", type_string, "Page of the second"),
        Column("first_batch", type_string, "Batch of the first's page"),
        Column("second_batch", type_string, "Batch of the second's page"),
        Column("first_origin", type_string, "'page', or 'mention' (only a list names the first)"),
        Column("second_origin", type_string, "The same for the second"),
        Column("continuity", type_string, "Continuity of both, or of the one whose continuity is known"),
        Column("reason", type_string, "Why they may be the same"),
        Column("score", type_float, "How alike their names are, between 0 and 1"),
        Column("method", type_string, "'exact' (the same normalised name), or 'fuzzy'"),
        Column(
            "verdict",
            type_string,
            "Result of the identity policy: 'same', or 'unsure' (a model or person is asked)",
        ),
        Column(
            "evidence",
            pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())])),
            "What speaks for and against it, between -1 and 1, without what is 0: 'name' (how alike names "
            "are, from 0.8 to 1), 'settled' (one page or identifier), 'doubt' (a rival, or one wiki), "
            "'template' (one infobox template), 'targets' (common targets of relations), 'facts' (that "
            "agree), 'contradictions' (of facts)",
            added=True,
            nullable=True,
        ),
    ),
)

COMPARED_NAMES = Table(
    name="compared_names",
    layer="resolve",
    description="What an entity was compared by when pairs were made: only changed ones are compared again",
    key=("entity_id",),
    columns=(
        Column("entity_id", type_string, "The entity"),
        Column("mark", type_string, "A mark of its names, continuity, source, origin and page"),
        Column("blocks", pa.list_(pa.int64()), "Numbers of what it may have in common with others"),
    ),
)

ENTITY_JUDGEMENTS = Table(
    name="entity_judgements",
    layer="resolve",
    description="Whether two entities are the same: by a person's decision, else by the identity policy",
    key=("pair_id",),
    columns=(
        *_PAIR,
        Column("judgement", type_string, "'same', 'different' or 'unsure'"),
        Column("judged_by", type_string, "'person:NAME', or 'policy:ID' of the identity policy"),
        Column("method", type_string, "'person', 'exact' or 'fuzzy'"),
        Column("score", type_float, "How alike their names are, between 0 and 1", nullable=True),
        Column("reason", type_string, "Why"),
        Column("proposal", type_string, "What a model proposes: 'same' or 'different'", nullable=True),
        Column("proposed_by", type_string, "The model", nullable=True),
        Column("proposal_confidence", type_float, "How sure it says it is; not calibrated", nullable=True),
        Column("decision_id", type_string, "The person's decision", nullable=True),
        Column(
            "into_id", type_string, "For a person's merge, the entity that the other goes into", nullable=True
        ),
        Column("is_followed", type_bool, "Whether the entities are as it says"),
        Column(
            "refused",
            type_string,
            "Why it is not followed: it would join canon and legends, or entities that a person keeps apart",
            nullable=True,
        ),
        Column("judged_at", type_time, "Since when the judgement is this one", provenance=True),
    ),
)

EXTRACTION = "derived_entity_extraction"
"""The table of names that a model reads on list pages. It exists if an interrogation declares it."""

LINKED = "derived_listed_names"
"""The table of names that list pages link to. It exists if an interrogation declares it."""

ENTITY_MENTIONS = Table(
    name="entity_mentions",
    layer="resolve",
    description="A thing that a list page names, and its page or name",
    key=("mention_id",),
    columns=(
        Column("mention_id", type_string, "Hash of list page, name and type; the same in any rebuild"),
        ENTITY_TYPE,
        SOURCE,
        Column("name", type_string, "The name that the list gives"),
        Column("aliases", type_strings, "Other names that the list gives"),
        Column("means_title", type_string, "Title that the name means; a page's title, if there is a page"),
        Column("means_key", type_int, "Title key of it"),
        Column(
            "method",
            type_string,
            "How that is known: 'link' (the list links to it), 'title', 'redirect', or "
            "'name' (no page has this name)",
        ),
        Column(
            "said_type",
            type_string,
            "Type that a model or the list's title gives it; the type of a page outranks it",
            nullable=True,
        ),
        Column("continuity", type_string, "Continuity of the page it means, or of the list page"),
        Column("list_title", type_string, "The list page"),
        TITLE_KEY,
        BATCH,
        REVISION_ID,
        Column("chunk", type_int, "Chunk of the list page", nullable=True),
        Column("evidence", type_string, "Words of the list page that name it"),
        Column("supported", type_bool, "Whether the list page has these words"),
        Column("model", type_string, "Model that read the list, or 'python' for its links"),
        RUN_ID,
    ),
)

ENTITY_DEPARTURES = Table(
    name="entity_departures",
    layer="resolve",
    description="An entity that leaves its type, since its page has another type now",
    key=("entity_id",),
    columns=(
        Column("entity_id", type_string, "The entity; the other type takes it under the same id"),
        ENTITY_TYPE,
        SOURCE,
        TITLE,
        TITLE_KEY,
        PAGE_ID,
        Column("to_type", type_string, "Type that its page has now"),
        Column("valid_from", type_time, "Start of the row that ends: the row that is valid since then"),
        RUN_ID,
    ),
)
