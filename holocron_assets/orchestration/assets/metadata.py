"""The metadata of a materialization: schema, counts, rates and samples."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import dagster as dg
import pyarrow.compute as pc

from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import Footer, read_table
from holocron_assets.lake.place.paths import Lake

OWNER = "team:holocron"
_SAMPLES = 5


class TableArguments(TypedDict):
    """The arguments of an asset that its table's declaration gives."""

    description: str
    kinds: set[str]
    metadata: dict[str, Any]
    owners: list[str]


def table_arguments(table: Table, *made_with: str, note: str = "", **more: Any) -> TableArguments:
    """Arguments of the asset that stores a table.

    Args:
        table: the table that it stores.
        made_with: the tool that makes it, if a run does; Dagster's UI has icons for some, as 'duckdb'.
        note: a further paragraph of its description.
        more: metadata in addition to the table's.
    """
    paragraphs = [
        f"{table.description}.",
        f"One Parquet file a partition; key: {', '.join(table.key)}.",
        note,
    ]
    return {
        "description": "\n\n".join(filter(None, paragraphs)),
        "kinds": {"parquet", *made_with},
        "metadata": {**_table_metadata(table), **more},
        "owners": [OWNER],
    }


def _table_metadata(table: Table) -> dict[str, Any]:
    """The metadata of an asset's definition: its column schema and key."""
    columns = [
        dg.TableColumn(
            column.name,
            type=str(column.type),
            description=column.description,
            constraints=dg.TableColumnConstraints(
                nullable=column.nullable, unique=table.key == (column.name,)
            ),
        )
        for column in table.columns
    ]
    return {
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "dagster/table_name": table.name,
        "key": ", ".join(table.key),
    }


def written_metadata(
    footer: Footer, rows: Sequence[Row], *, counted: str, seconds: float | None = None, titles: str = "title"
) -> dict[str, Any]:
    """The metadata of one written partition. Numbers become plots over partitions in the UI.

    Args:
        footer: of the file written.
        rows: its rows.
        counted: column whose values are counted, most frequent first.
        seconds: how long it took, if the caller adds no `timing` of its own.
        titles: column that names a row to a person.
    """
    counts = Counter(str(row[counted]) for row in rows)
    names = [str(row[titles]) for row in rows]
    step = max(len(names) // _SAMPLES, 1)
    return _metadata(footer, counted, counts, [*names[::step][:_SAMPLES], *names[-1:]], seconds)


def large_metadata(  # noqa: PLR0913 - three name the file, the rest says what its metadata holds
    lake: Lake,
    table: Table,
    partition: str,
    footer: Footer,
    *,
    counted: str,
    seconds: float | None = None,
    titles: str = "title",
) -> dict[str, Any]:
    """The same as `written_metadata`, for a partition with more rows than memory should hold.

    Args:
        lake: where it was written.
        table: which table.
        partition: the partition's name.
        footer: of the file written.
        counted: column whose values are counted, most frequent first.
        seconds: how long it took, if the caller adds no `timing` of its own.
        titles: column that names a row to a person.
    """
    columns = read_table(lake, table, partition, sorted({counted, titles}))
    counts = {str(each["values"]): each["counts"] for each in pc.value_counts(columns[counted]).to_pylist()}
    places = [*range(0, footer.rows, max(footer.rows // _SAMPLES, 1))[:_SAMPLES], footer.rows - 1]
    names = [str(columns[titles][place].as_py()) for place in places] if footer.rows else []
    return _metadata(footer, counted, Counter(counts), names, seconds)


def _metadata(
    footer: Footer, counted: str, counts: Counter[str], names: Sequence[str], seconds: float | None
) -> dict[str, Any]:
    """The metadata of a file: `names` are titles of some of its rows; the last one is of its last row."""
    return {
        "dagster/row_count": footer.rows,
        **({} if seconds is None else timing(footer, seconds)),
        "content_id": footer.content_id,
        "code_version": footer.code_version or "-",
        f"rows_by_{counted}": dg.MetadataValue.md(_counts_table(counted, counts)),
        **{f"{counted}: {value}": count for value, count in sorted(counts.items())[:20]},
        "first_title": names[0] if names else "-",
        "last_title": names[-1] if names else "-",
        "sample_titles": sample_list(names[:-1]),
    }


def timing(footer: Footer, seconds: float) -> dict[str, Any]:
    """The time that a file took, and its rows per second."""
    return {
        "seconds": round(seconds, 3),
        "rows_per_second": round(footer.rows / max(seconds, 1e-6), 1),
    }


def picture(png: bytes, about: str) -> dg.MarkdownMetadataValue:
    """A PNG as metadata that Dagster's UI shows; `about` says what it shows."""
    return dg.MetadataValue.md(f"![{about}](data:image/png;base64,{b64encode(png).decode('ascii')})")


def sample_list(texts: Iterable[str]) -> dg.MarkdownMetadataValue:
    """Some texts of any origin as a Markdown list."""
    return dg.MetadataValue.md("\n".join(f"- {escaped(text)}" for text in texts))


def _counts_table(name: str, counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "\n".join(
        [f"| {name} | rows |", "| --- | ---: |", *(f"| {escaped(v)} | {n} |" for v, n in ordered)]
    )


def escaped(text: str) -> str:
    """A text of a wiki or model as a plain line: no part of it acts as markup, an address or an image."""
    line = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]()<>#+-.!|~:/@&" else c for c in line)
