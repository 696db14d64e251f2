"""Tables of tags: words to find pages, entities and chunks by, and relations between the words."""

from holocron_assets.lake.declaration.schema import Column, Table, type_float, type_int, type_string
from holocron_assets.lake.tables.resolve import ENTITY_TYPE
from holocron_assets.lake.tables.shared import BATCH, REVISION_ID, RUN_ID, SOURCE, TITLE, TITLE_KEY

TAG_ID = Column("tag_id", type_string, "TYPE:NAME, the name normalised")
_WORTH = (
    Column("weight", type_float, "How much of the target is about it, between 0 and 1"),
    Column("confidence", type_float, "How sure this is, between 0 and 1"),
    Column(
        "method", type_string, "Where it comes from: 'category', 'signals', 'types', 'model' or 'vocabulary'"
    ),
)

TAGS = Table(
    name="tags",
    layer="tags",
    description="A tag of a page, chunk or entity, or of the vocabulary",
    key=("tag_id",),
    columns=(
        SOURCE,
        TAG_ID,
        Column("name", type_string, "The tag's name for people"),
        Column(
            "type", type_string, "'category', 'continuity', 'medium', 'type', 'topic' or a vocabulary's own"
        ),
        Column("visibility", type_string, "'public', 'internal' (for the wiki's editors) or 'hidden'"),
        Column("description", type_string, "What it means", nullable=True),
    ),
)

TAG_RELATIONS = Table(
    name="tag_relations",
    layer="tags",
    description="A relation between two tags",
    key=("from_tag", "relation", "to_tag"),
    columns=(
        SOURCE,
        Column("from_tag", type_string, "Tag id"),
        Column(
            "relation",
            type_string,
            "What the other tag is: 'synonym' (the word to use for both), 'broader', 'narrower' or "
            "'replaced_by' (the tag to use instead)",
        ),
        Column("to_tag", type_string, "Tag id of the other"),
        Column("method", type_string, "'category' (the wiki's own), or 'vocabulary'"),
    ),
)

PAGE_TAGS = Table(
    name="page_tags",
    layer="tags",
    description="A tag of a page or of a chunk of a page",
    key=("target_id", "tag_id", "method"),
    partition_column="batch",
    columns=(
        Column("target_kind", type_string, "'page' or 'chunk'"),
        Column("target_id", type_string, "Title key; for a chunk, with '#' and its number"),
        TAG_ID,
        Column("name", type_string, "The tag's name on the page"),
        *_WORTH,
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        Column("chunk", type_int, "The chunk's number", nullable=True),
        REVISION_ID,
    ),
)

ENTITY_TAGS = Table(
    name="entity_tags",
    layer="tags",
    description="A tag of an entity: that of its pages, or the vocabulary's word for it",
    key=("entity_id", "tag_id", "method"),
    columns=(
        Column("entity_id", type_string, "The entity; if it was merged, the one that it is now"),
        ENTITY_TYPE,
        TAG_ID,
        *_WORTH,
        Column("from_title", type_string, "Page that has it"),
        RUN_ID,
    ),
)
