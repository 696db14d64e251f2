"""Keys and hashes: the only place where titles and contents become numbers."""

import json
import unicodedata
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

_SEPARATOR = "\x1f"
_SIGN_BIT = 1 << 63

_Streams = defaultdict[tuple[str, ...], xxhash.xxh3_128]


def title_key(source: str, title: str) -> int:
    """The signed 64-bit key of a page title within a source.

    Joins on it are faster than joins on text, which matters for hundreds of millions of links.

    Args:
        source: the source's name.
        title: the canonical title with its namespace prefix; it is composed (NFC) first, as MediaWiki does.

    Returns:
        xxhash64 of source and title, as a signed integer.
    """
    text = f"{source}{_SEPARATOR}{unicodedata.normalize('NFC', title)}"
    unsigned = xxhash.xxh64_intdigest(text.encode("utf-8", "surrogatepass"))
    return unsigned - (unsigned & _SIGN_BIT) * 2


def content_hash(text: str) -> str:
    """The 128-bit xxhash of a text, as 32 hexadecimal digits."""
    return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))


def rows_hash_sql(columns: str) -> str:
    """DuckDB's SQL of a hash of rows in any order: an aggregate, null if there are none.

    DuckDB's hash(a, b) ends with XOR hash(b). If two rows change alike in b, the XOR over both does not
    change. A hash of each hash prevents that.

    Args:
        columns: of a row, separated by commas.
    """
    return f"bit_xor(hash(hash({columns})))"


def rows_mark_sql(columns: str) -> str:
    """DuckDB's SQL of a text that changes when rows do, in any order: an aggregate.

    Args:
        columns: of a row, separated by commas.
    """
    return f"count(*) || '-' || coalesce({rows_hash_sql(columns)}, 0)"


def table_hash(table: pa.Table) -> str:
    """The 128-bit hash of a table's values in row order, the same on every machine and at every time.

    Column names, types and values count. Metadata, the name of a list's items, the chunks of the rows and
    other bytes in memory do not.

    Raises:
        TypeError: a column has a type that the lake does not use.
    """
    whole = TableHash()
    whole.update(table)
    return whole.hexdigest()


class TableHash:
    """Computes `table_hash` for a table that comes in pieces."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._streams: _Streams = defaultdict(xxhash.xxh3_128)

    def update(self, piece: pa.Table) -> None:
        """Add the next rows. All pieces must have the same columns.

        Raises:
            TypeError: a column has a type that the lake does not use.
        """
        for name, column in zip(piece.column_names, piece.columns, strict=True):
            for chunk in (*column.chunks, pa.array([], column.type)):
                _feed(self._streams, (name,), chunk)

    def hexdigest(self) -> str:
        """The hash of all rows so far. At least one piece must have been added, even if it had no rows."""
        whole = xxhash.xxh3_128()
        for path, stream in self._streams.items():
            whole.update(json.dumps([*path, stream.hexdigest()]).encode())
        return whole.hexdigest()


def _feed(streams: _Streams, path: tuple[str, ...], values: pa.Array) -> None:
    """Add values to the streams of their parts: which are present, lengths, contents.

    Each part has its own stream, so that the limits of chunks do not change the hash.
    """
    kind = values.type
    streams[*path, "is there"].update(values.is_valid().to_numpy(zero_copy_only=False))
    if pa.types.is_struct(kind):
        for field, part in zip(kind, values.flatten(), strict=True):
            _feed(streams, (*path, field.name), part)
    elif pa.types.is_list(kind):
        streams[*path, "items"].update(_numbers(pc.list_value_length(values)))
        _feed(streams, (*path, "item"), values.flatten())
    elif pa.types.is_string(kind):
        values = values.fill_null("")
        streams[*path, "bytes"].update(_numbers(pc.binary_length(values)))
        streams[*path, str(kind)].update(_text(values))
    elif pa.types.is_primitive(kind):
        streams[*path, str(kind)].update(_numbers(values))
    else:
        raise TypeError(f"column {path[0]!r}: values of type {kind} have no hash")


def _numbers(values: pa.Array) -> Any:
    """The values as a NumPy array of numbers; an empty one is 0."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    elif pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    return values.fill_null(0).to_numpy()


def _text(values: pa.StringArray) -> Any:
    """The UTF-8 bytes of all values, joined."""
    if not len(values):
        return b""
    _, offsets, data = values.buffers()
    limits = memoryview(offsets).cast("i")
    start, end = limits[values.offset], limits[values.offset + len(values)]
    return data[start:end]
