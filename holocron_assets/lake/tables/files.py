"""Tables of files: what sources list, the batches that are cut from it, what was fetched, and its uses."""

import pyarrow as pa

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_int,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.tables.shared import BATCH, RUN_ID, SOURCE, TITLE, TITLE_KEY

_ARTIFACT_ID = Column("artifact_id", type_string, "What makes it one artifact: 'sha1:…', 'url:…' or 'doi:…'")
_ARTIFACT_KEY = Column("artifact_key", type_int, "Signed 64-bit xxhash of the artifact's id")
_NAME = Column("name", type_string, "Title of a wiki's file, or the name or URL that a list gives")
_ARTIFACT = (_NAME, _ARTIFACT_ID, _ARTIFACT_KEY)
"""What makes it one artifact, and what it is called."""
_VERSION = Column(
    "version", type_string, "What the source states of its version; another one is fetched", nullable=True
)

_STATED = (
    Column("url", type_string, "Address that the source states", nullable=True),
    Column("size_bytes", type_int, "Bytes that the source states", nullable=True),
    Column("sha1", type_string, "SHA-1 that the source states, hexadecimal", nullable=True),
    Column("sha256", type_string, "SHA-256 that the source states, hexadecimal", nullable=True),
    Column("mime", type_string, "Type that the source states", nullable=True),
    Column("fields", type_string, "What else the list says of it, as JSON; for resolvers", nullable=True),
)
"""What a source states of an artifact."""

FILE_LIST = Table(
    name="file_list",
    layer="files",
    description="An artifact that a source names: a file of a wiki, or an item of a list",
    key=("position",),
    columns=(
        SOURCE,
        *_ARTIFACT,
        Column("position", type_int, "Order in which the source's artifacts are fetched, from 0"),
        *_STATED,
        _VERSION,
        Column("saved_at", type_time, "When the wiki's file was uploaded", nullable=True),
        Column("archive_name", type_string, "Name of the version that this one replaced", nullable=True),
        Column("pages_of", type_strings, "Sources whose pages call it so; empty for an item of a list"),
        Column("origin", type_string, "'all_files', 'pages', 'entities', or the list that names it"),
        Column("listed_at", type_time, "When it was listed", provenance=True),
    ),
)

FILE_BATCHES = Table(
    name="file_batches",
    layer="files",
    description="Manifest: an artifact of a batch to be fetched. Written before the batch's partition exists",
    key=("artifact_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        Column("position", type_int, "Place in the batch, from 0"),
        *_ARTIFACT,
        *_STATED,
        _VERSION,
        Column("failures", type_int, "Failed attempts made in earlier batches, since the last requeue"),
        Column(
            "reason",
            type_string,
            "Why it was cut: 'new', 'changed', 'retry', 'requeue', 'lost', 'settings', 'recheck'",
        ),
        Column("held_sha256", type_string, "SHA-256 of the bytes that the lake holds of it", nullable=True),
        Column("held_url", type_string, "Address that these bytes came from", nullable=True),
        Column("held_etag", type_string, "ETag that came with them", nullable=True),
        Column("held_last_modified", type_string, "Last-Modified that came with them", nullable=True),
        Column("held_fresh_until", type_time, "Until when the server said that they hold", nullable=True),
        Column("cut_at", type_time, "When the batch was cut"),
        Column(
            "settings",
            type_string,
            "Hash of the source's settings that may refuse a file; empty in files of earlier versions",
            nullable=True,
            added=True,
        ),
    ),
)

FILES = Table(
    name="files",
    layer="files",
    description="The outcome of fetching one artifact: which bytes, from where; or why there are none",
    key=("artifact_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        Column("position", type_int, "Place in the batch's manifest, from 0"),
        *_ARTIFACT,
        Column("status", type_string, "'ok', 'missing', 'refused', 'failed' (will be retried) or 'dead'"),
        Column("reason", type_string, "Of the last candidate: 'http-200', 'http-304', 'size-mismatch', ..."),
        Column("sha256", type_string, "SHA-256 of the bytes, which names their object", nullable=True),
        Column("sha1", type_string, "SHA-1 of the bytes", nullable=True),
        Column("size_bytes", type_int, "Bytes", nullable=True),
        Column("mime", type_string, "Type of the bytes, by how they begin", nullable=True),
        Column("stated_mime", type_string, "Type that the server stated", nullable=True),
        Column("url", type_string, "Address that gave the bytes", nullable=True),
        Column("resolver", type_string, "Resolver that gave that address", nullable=True),
        Column("http_status", type_int, "Status of the last answer", nullable=True),
        Column("etag", type_string, "ETag of that answer", nullable=True),
        Column("last_modified", type_string, "Last-Modified of that answer", nullable=True),
        Column("fresh_until", type_time, "Until when that answer says that it holds", nullable=True),
        _VERSION,
        Column("attempts", type_int, "Attempts so far, including those of earlier batches and crashes"),
        Column("error", type_string, "What went wrong, naming the artifact", nullable=True),
        Column("due_at", type_time, "When a failed one may be tried again", nullable=True),
        Column("fetched_at", type_time, "When the answer came"),
        Column("stored_at", type_time, "When the bytes were stored", nullable=True),
        Column(
            "candidates",
            pa.list_(
                pa.struct(
                    [
                        ("resolver", pa.string()),
                        ("url", pa.string()),
                        ("verb", pa.string()),
                        ("outcome", pa.string()),
                        ("reason", pa.string()),
                        ("http_status", pa.int64()),
                        ("bytes", pa.int64()),
                        ("resumed_from", pa.int64()),
                        ("latency_ms", pa.float64()),
                        ("started_at", pa.timestamp("us", tz="UTC")),
                        ("error", pa.string()),
                    ]
                )
            ),
            "Each address that was tried in this attempt, in order, and what became of it",
            provenance=True,
        ),
        RUN_ID,
    ),
)

FILE_USES = Table(
    name="file_uses",
    layer="files",
    description="A page that uses a file of its wiki, or cites an address, and in which role",
    key=("title_key", "role", "name"),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        Column("role", type_string, "'infobox', 'gallery', 'text', 'media' (a link to it) or 'reference'"),
        Column("name", type_string, "Title of the file, or the address that is cited"),
        Column("caption", type_string, "Caption on the page, clean text", nullable=True),
        Column("position", type_int, "Place of the first such use on the page, from 0"),
    ),
)
