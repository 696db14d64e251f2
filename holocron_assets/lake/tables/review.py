"""The table of questions that people should decide, the most important first."""

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_float,
    type_int,
    type_ints,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.tables.shared import BATCH, SOURCE

REVIEW_ITEMS = Table(
    name="review_items",
    layer="review",
    description="A question that a person should decide; made anew from what machines left open",
    key=("item_id",),
    columns=(
        Column("item_id", type_string, "KIND-KEY, the same in any rebuild"),
        Column(
            "kind",
            type_string,
            "'page' (its type is unsure), 'pair' (two entities may be the same), 'entity' (its page "
            "changed, or a machine contradicts a person), 'promotion' (sure enough to be shown, not to be "
            "promoted) or 'statement' (conflicting or unsupported)",
        ),
        SOURCE,
        Column("subject", type_string, "What it is about, for people"),
        Column("question", type_string, "The question to decide"),
        Column("reason", type_string, "Why machines left it open"),
        Column("title", type_string, "Page to read first"),
        Column("title_key", type_int, "Title key of it"),
        Column("page_id", type_int, "Id of the page that has this title", nullable=True, added=True),
        BATCH,
        Column("entity_type", type_string, "Entity type, if it has one", nullable=True),
        Column("entity_id", type_string, "The entity, or the first of a pair", nullable=True),
        Column("other_id", type_string, "The second of a pair", nullable=True),
        Column(
            "statement_ids",
            type_strings,
            "The fact or relation, or the facts that contradict each other, the surest first",
        ),
        Column("inbound", type_int, "Links to the page from other pages; for a pair, to the page with fewer"),
        Column(
            "dependants",
            type_int,
            "Facts, relations and names that depend on it; for a pair, on the entity with fewer",
        ),
        Column("uncertainty", type_float, "How unsure the machines are, between 0 and 1"),
        Column(
            "rank",
            type_float,
            "How much a decision would change, the highest first: uncertainty x (1 + ln(1 + inbound) + "
            "ln(1 + dependants))",
        ),
        Column(
            "since", type_time, "Only a decision after this time settles it", nullable=True, provenance=True
        ),
        Column(
            "alike",
            type_string,
            "What it has in common with others that one answer may settle, as a sentence about them: the "
            "same infobox template (or else strongest rule) and proposed type; for a promotion, the same "
            "type and reason. Empty if it is always asked about by itself",
            nullable=True,
            added=True,
        ),
        Column(
            "proposed_type",
            type_string,
            "The type that is proposed for the page, if its type is unsure",
            nullable=True,
            added=True,
        ),
        Column(
            "covered_by",
            type_ints,
            "For a page: title keys of the rows of `type_proposals` whose answer would settle it, a template "
            "first, then the category with most open pages",
            nullable=True,
            added=True,
        ),
    ),
)
