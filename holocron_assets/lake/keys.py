"""Keys and hashes: the one place where titles and contents become numbers."""

import unicodedata

import pyarrow as pa
import xxhash

_SEPARATOR = "\x1f"
_SIGN_BIT = 1 << 63


def title_key(source: str, title: str) -> int:
    """The signed 64-bit key of a page title within a source.

    Joining on it instead of on text keeps "what is unfetched" fast over hundreds of millions of links.

    Args:
        source: the source's name.
        title: the canonical title with its namespace prefix; composed (NFC) first, as MediaWiki stores it.

    Returns:
        xxhash64 of source and title, as a signed integer.
    """
    text = f"{source}{_SEPARATOR}{unicodedata.normalize('NFC', title)}"
    unsigned = xxhash.xxh64_intdigest(text.encode("utf-8", "surrogatepass"))
    return unsigned - (unsigned & _SIGN_BIT) * 2


def content_hash(text: str) -> str:
    """The 128-bit xxhash of a text, as 32 hexadecimal digits."""
    return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))


def table_hash(table: pa.Table) -> str:
    """The 128-bit hash of a table's values in row order, the same wherever and whenever it is computed."""
    digest = xxhash.xxh3_128()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None).combine_chunks())
    digest.update(sink.getvalue())
    return digest.hexdigest()
