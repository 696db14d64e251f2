"""The table of an interrogation's answers."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

from holocron_assets.derive.interrogations.answer_schema import Schema, columns_of
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Column, Table, type_bool, type_int, type_string
from holocron_assets.lake.tables import ENTITIES, ENTITY_PAIRS, PAGE_SIGNALS
from holocron_assets.lake.tables.derive import ITEM_ID, MODEL, MODEL_DIGEST, PARTITION, RESULT_KEY
from holocron_assets.lake.tables.resolve import ENTITY_NAME, ENTITY_TYPE
from holocron_assets.lake.tables.shared import BATCH, REVISION_ID, RUN_ID, SOURCE, TITLE, TITLE_KEY

Over = Literal["pages", "pairs", "entities"]

ROW_TABLES: Mapping[Over, Table] = {"pages": PAGE_SIGNALS, "pairs": ENTITY_PAIRS, "entities": ENTITIES}
"""The table whose partitions are worked on, and that has a row for each item."""

ID_COLUMNS: Mapping[Over, str] = {"pages": "title_key", "pairs": "pair_id", "entities": "entity_id"}
"""The column of such a row that is its item's id; for a chunk, the part of the id that names the page."""

LAYER = "derive"

_ROW = (ITEM_ID, Column("position", type_int, "Place of the row in its answer, from 0"))
_PAGE = (
    SOURCE,
    BATCH,
    TITLE,
    TITLE_KEY,
    REVISION_ID,
    Column(
        "chunk", type_int, "Which chunk of the page was read, from 0; empty for a whole page", nullable=True
    ),
)
_PAIR = (
    ENTITY_TYPE,
    Column("first_id", type_string, "Entity whose id sorts first"),
    Column("second_id", type_string, "The other"),
    Column("first_title", type_string, "Page of the first"),
    Column("second_title", type_string, "Page of the second"),
)
_ENTITY = (
    ENTITY_TYPE,
    Column("entity_id", type_string, "The entity; its id when it was asked about"),
    ENTITY_NAME,
    Column("title", type_string, "Its page"),
)
_ABOUT: Mapping[Over, tuple[Column, ...]] = {"pages": _PAGE, "pairs": _PAIR, "entities": _ENTITY}
_END = (
    Column(
        "supported",
        type_bool,
        "Whether every quote in the row is in the page's text; a row that is not is never promoted by itself",
    ),
    MODEL,  # part of the answer: how far to trust it depends on the model
    *(
        Column(column.name, column.type, column.description, provenance=True)
        for column in (MODEL_DIGEST, RESULT_KEY, RUN_ID)
    ),
)


class RowsError(ValueError):
    """The `rows` of an interrogation do not fit the schema of its answer."""


def derived_table(  # noqa: PLR0913 - each is a key of an interrogation's file
    name: str,
    *,
    over: Over,
    schema: Schema,
    each: str | None,
    title: str,
    quotes: tuple[str, ...] = (),
    origin: Collection[str] = (),
) -> Table:
    """The table of an interrogation's answers.

    Args:
        name: the table's.
        over: what it asks about.
        schema: of an answer.
        each: the answer's array of which each object is a row; an answer is a row if None.
        title: the interrogation's title, for the table's description.
        quotes: columns that quote the page.
        origin: columns of the answer that say how it came, and are no part of what it says.

    Raises:
        RowsError: the answer has no such array, a column's name is taken, or a quote is no text.
    """
    own = tuple(replace(column, provenance=column.name in origin) for column in answer_columns(schema, each))
    common = (*_ROW, *_ABOUT[over])
    taken = sorted({c.name for c in (*common, *_END, PARTITION)} & {c.name for c in own})
    if taken:
        raise RowsError(f"answer_schema: {', '.join(taken)}: taken by a column that every such table has")
    texts = {column.name for column in own if column.type == type_string}
    if unknown := [quote for quote in quotes if quote not in texts]:
        raise RowsError(f"rows.quotes: {', '.join(unknown)}: the answer's rows have no such text")
    return Table(
        name=name,
        layer=LAYER,
        description=title,
        key=("item_id", "position"),
        columns=(*common, *own, *_END),
        partition_column=(BATCH if over == "pages" else ENTITY_TYPE).name,
        folder=f"{name}-{_shape((*common, *own, *_END))}",
    )


def answer_columns(schema: Schema, each: str | None) -> tuple[Column, ...]:
    """The columns for the answer itself.

    Raises:
        RowsError: the answer has no array of objects of the name `each`, or a name is there twice.
    """
    if each is None:
        return columns_of(schema)
    around, items = split_schema(schema, each)
    own = (*columns_of(around), *columns_of(items))
    names = [column.name for column in own]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise RowsError(f"answer_schema: {', '.join(repeated)}: in the answer and in its {each} too")
    return own


def split_schema(schema: Schema, each: str) -> tuple[Schema, Schema]:
    """The schema of an answer without its array `each`, and that of the array's objects.

    Raises:
        RowsError: the answer has no such array.
    """
    array = schema["properties"].get(each)
    if not array or array.get("type") != "array" or array["items"].get("type") != "object":
        raise RowsError(f"rows.each: the answer has no array of objects called {each!r}")
    if each not in schema["required"]:
        raise RowsError(f"rows.each: the answer must require {each!r}: no rows are an empty list")
    properties = {name: part for name, part in schema["properties"].items() if name != each}
    return {**schema, "properties": properties}, array["items"]


def _shape(columns: tuple[Column, ...]) -> str:
    """A hash of names and types: answers of another shape have another place, and are found by their hash."""
    return content_hash("\n".join(f"{column.name} {column.type}" for column in columns))[:8]
