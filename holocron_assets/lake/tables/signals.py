"""Tables of what is read from a page's text without a judgement: links and signals."""

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
from holocron_assets.lake.tables.shared import (
    BATCH,
    NAMESPACE,
    PAGE_ID,
    REVISION_ID,
    RUN_ID,
    SOURCE,
    TITLE,
    TITLE_KEY,
)

PAGE_LINKS = Table(
    name="page_links",
    layer="signals",
    description="A link from one page to another title of the same wiki",
    key=("from_key", "kind", "target_key"),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        Column("from_key", type_int, "Title key of the linking page"),
        Column("from_title", type_string, "Title of the linking page"),
        Column("kind", type_string, "'link', 'category' or 'redirect'"),
        Column("target", type_string, "Canonical title linked to"),
        Column("target_key", type_int, "Title key of the target"),
        Column("target_namespace", type_int, "Namespace number of the target"),
        Column("position", type_int, "Place of the first such link on the page, from 0"),
    ),
)

PAGE_SIGNALS = Table(
    name="page_signals",
    layer="signals",
    description="What can be read from one revision of a page without judging its subject",
    key=("title_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        PAGE_ID,
        REVISION_ID,
        Column("name", type_string, "Title without namespace prefix and continuity suffix"),
        Column("continuity", type_string, "'canon', 'legends', 'both', 'real' or 'unknown'"),
        Column("continuity_evidence", type_strings, "Markers of a continuity, strongest first"),
        Column(
            "lead_sentence",
            type_string,
            "First sentence, clean text, at most 1,000 characters",
            nullable=True,
        ),
        Column("lead_excerpt", type_string, "Lead as clean text, cut at a sentence's end", nullable=True),
        Column("lead_offset", type_int, "Character of the wikitext where the lead starts", nullable=True),
        Column("lead_length", type_int, "Characters in the excerpt; 0 without a lead"),
        Column("lead_hash", type_string, "128-bit xxhash of the excerpt", nullable=True),
        Column("lead_method", type_string, "'bold_title', 'first_paragraph' or 'none'"),
        Column("infobox_template", type_string, "Name of the infobox's template", nullable=True),
        Column(
            "infobox_fields",
            pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())])),
            "Infobox fields in page order: name, clean value",
        ),
        Column("categories", type_strings, "Category names without prefix, in page order"),
        Column(
            "sections",
            pa.list_(pa.struct([("level", pa.int64()), ("title", pa.string())])),
            "Section headings in page order",
        ),
        Column("is_redirect", type_bool, "Whether the page is a redirect"),
        Column("redirect_target", type_string, "Where a redirect leads, with its fragment", nullable=True),
        Column("is_disambiguation", type_bool, "Whether the page lists pages with the same name"),
        Column("is_list", type_bool, "Whether the page is a list"),
        Column("timeline_markers", type_strings, "What marks the page as a year or timeline page"),
        Column("wikitext_length", type_int, "Characters of wikitext"),
        Column("method", type_string, "'mwparserfromhell', 'bounded' (too large or nested) or 'none'"),
        Column("extraction_error", type_string, "Why signals are incomplete, naming the page", nullable=True),
        Column("extraction_ms", type_float, "Milliseconds that the extraction took", provenance=True),
        Column("signals_version", type_string, "Version of the code that extracted this", provenance=True),
    ),
)

UNREAD_PAGES = Table(
    name="unread_pages",
    layer="signals",
    description="A page that a step could not read: it failed, or the process died four times",
    key=("title_key",),
    partition_column="scope",
    columns=(
        Column("scope", type_string, "Batch and step, joined by '-'"),
        SOURCE,
        BATCH,
        Column("step", type_string, "Table that lacks the page's rows"),
        TITLE,
        TITLE_KEY,
        Column("attempts", type_int, "Attempts so far"),
        Column("error", type_string, "What went wrong, naming the page"),
        Column("code_version", type_string, "Version of the code that could not read it"),
        Column("died_at", type_time, "When it was given up"),
        RUN_ID,
    ),
)
