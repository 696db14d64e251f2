"""Tables of passages, which searches find and answers quote."""

from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string, type_strings
from holocron_assets.lake.tables.shared import BATCH, REVISION_ID, SOURCE, TITLE, TITLE_KEY

SPACE_PREFIX = "chunk_embeddings_"
"""The start of the names of spaces' tables, assets and journals."""

PASSAGE_ID = Column("passage_id", type_string, "128-bit xxhash of its page, headings and text")

PAGE_CHUNKS = Table(
    name="page_chunks",
    layer="retrieval",
    description="A passage of a page's clean text: some paragraphs, a list or a table, of one section",
    key=("title_key", "position"),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        REVISION_ID,
        PASSAGE_ID,
        Column("position", type_int, "Place of the passage on its page, from 0"),
        Column("headings", type_strings, "Headings that it stands under, the outermost first"),
        Column("text", type_string, "What it holds"),
        Column("text_hash", type_string, "128-bit xxhash of its headings and text"),
        Column("start_offset", type_int, "Where it starts in the page's clean text, in characters"),
        Column("end_offset", type_int, "Where it ends there, after its last character"),
    ),
)
