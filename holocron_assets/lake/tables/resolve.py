"""Tables of the knowledge base: candidates, entities with their history, and their names."""

from holocron_assets.lake.declaration.schema import Column, Table, type_bool, type_int, type_string, type_time
from holocron_assets.lake.tables.classify import CONFIDENCE, METHOD, NEEDS_REVIEW, RULE_IDS
from holocron_assets.lake.tables.shared import (
    BATCH,
    PAGE_ID,
    REVISION_ID,
    RUN_ID,
    SOURCE,
    TITLE,
    TITLE_KEY,
)

ENTITY_TYPE = Column("entity_type", type_string, "One of the taxonomy's entity-worthy types")
ENTITY_NAME = Column("name", type_string, "Title without namespace prefix and continuity suffix")
CONTINUITY = Column("continuity", type_string, "'canon', 'legends', 'both', 'real' or 'unknown'")

ENTITY_CANDIDATES = Table(
    name="entity_candidates",
    layer="resolve",
    description="A page whose type is an entity type and sure enough (.80), so that it becomes an entity",
    key=("title_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        PAGE_ID,
        REVISION_ID,
        ENTITY_TYPE,
        ENTITY_NAME,
        CONTINUITY,
        CONFIDENCE,
        METHOD,
        RULE_IDS,
        NEEDS_REVIEW,
        Column("has_lead", type_bool, "Whether the page has any prose about it"),
        RUN_ID,
    ),
)

ENTITIES = Table(
    name="entities",
    layer="resolve",
    description="The state of one entity from one time to another",
    key=("entity_id", "valid_from"),
    columns=(
        Column("entity_id", type_string, "Stable id; survives re-runs, new revisions and rebuilds"),
        ENTITY_TYPE,
        SOURCE,
        ENTITY_NAME,
        CONTINUITY,
        TITLE,
        TITLE_KEY,
        PAGE_ID,
        REVISION_ID,
        BATCH,
        CONFIDENCE,
        METHOD,
        RULE_IDS,
        Column("origin", type_string, "'page', or 'mention': no page is about it, only a list names it"),
        Column(
            "state",
            type_string,
            "'staged', 'candidate', 'promoted' (by policy), 'adjudicated' (confirmed by a person), "
            "'suppressed', or 'merged' (it is `merged_into`)",
        ),
        Column("state_by", type_string, "Who set the state: 'policy:ID', or 'person:NAME'"),
        Column("state_reason", type_string, "Why it has this state"),
        Column("merged_into", type_string, "The entity that this one is the same as", nullable=True),
        Column("state_at", type_time, "Since when it has this state", provenance=True),
        Column(
            "review_reason",
            type_string,
            "Why a person should check it: its page was deleted, moved, restored or retyped, or redirects; "
            "or it keeps a type or state that the machine would not give it now",
            nullable=True,
            added=True,
        ),
        Column(
            "review_since",
            type_time,
            "Since when this reason holds",
            nullable=True,
            provenance=True,
            added=True,
        ),
        Column("valid_from", type_time, "When this row became valid"),
        Column("valid_to", type_time, "When it stopped being valid; empty while it is valid", nullable=True),
        RUN_ID,
    ),
)

ENTITY_ALIASES = Table(
    name="entity_aliases",
    layer="resolve",
    description="A name of an entity",
    key=("entity_id", "alias", "kind"),
    columns=(
        Column("entity_id", type_string, "The entity; if it was merged, the one that it is now"),
        ENTITY_TYPE,
        SOURCE,
        Column("alias", type_string, "The name"),
        Column("alias_key", type_int, "Title key of the alias"),
        Column("kind", type_string, "'title', 'name', 'redirect', 'infobox' or 'mention'"),
        Column("from_title", type_string, "Page from which the alias was read"),
        REVISION_ID,
    ),
)
