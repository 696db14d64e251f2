"""`docs/tables.md`: every table of the lake with its columns, written from the declarations.

.venv/bin/python -m holocron_assets.lake.declaration.reference > docs/tables.md
"""

import sys
from collections.abc import Iterable, Sequence

import pyarrow as pa

from holocron_assets.lake.declaration.schema import Column, Table
from holocron_assets.lake.tables import ALL_TABLES

_HEAD = """\
# Tables

The tables of the lake as they are declared in `holocron_assets/lake/tables/`; [lake.md](lake.md) says how
they are stored and read. A test compares this page with the declarations. After a change:

    .venv/bin/python -m holocron_assets.lake.declaration.reference > docs/tables.md

A column marked `?` may be empty. Columns in *italics* say how or when a row was made; a change in them alone
is no change of content.
"""
_TYPE_NAMES = {
    pa.string(): "text",
    pa.int64(): "integer",
    pa.float64(): "number",
    pa.bool_(): "true or false",
    pa.timestamp("us", tz="UTC"): "time",
}


def tables_markdown() -> str:
    """Every table with its meaning, place, key and columns, as Markdown."""
    return "\n".join([_HEAD, *map(_section, ALL_TABLES)])


def section(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A heading, and a table below it, as Markdown."""
    return f"## {title}\n\n{markdown_table(columns, rows)}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown."""
    lines = ([cell.replace("|", "\\|") for cell in line] for line in (columns, ["---"] * len(columns), *rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(texts: Iterable[str]) -> str:
    """Words of the code in a row, as Markdown."""
    return ", ".join(f"`{text}`" for text in texts)


def _section(table: Table) -> str:
    columns = markdown_table(("column", "type", "what it holds"), map(_row, table.columns))
    return (
        f"## `{table.name}`\n\n"
        f"{table.description}. In `lake/{table.layer}/{table.name}/`; "
        f"key: {', '.join(f'`{name}`' for name in table.key)}.\n\n"
        f"{columns}"
    )


def _row(column: Column) -> Sequence[str]:
    name = f"*`{column.name}`*" if column.provenance else f"`{column.name}`"
    optional = "?" if column.nullable else ""
    return name, f"{_type_name(column.type)}{optional}", column.description


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {_type_name(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "(" + ", ".join(f"`{field.name}` {_type_name(field.type)}" for field in kind) + ")"
    return _TYPE_NAMES[kind]


if __name__ == "__main__":
    sys.stdout.write(tables_markdown())
