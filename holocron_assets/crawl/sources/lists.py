"""Lists that name artifacts: JSON lines, CSV, sitemaps, and columns of views."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

from holocron_assets.crawl.files.artifact import ArtifactError, checked_id, normalized_url
from holocron_assets.crawl.sources.file_source import FileListing
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

_STATED = ("sha1", "sha256", "mime", "version")
_OWN_COLUMNS = frozenset({"id", "name", "url", "size", *_STATED})
LARGEST_SITEMAP = 50 * 2**20
"""Bytes that a sitemap may have, uncompressed (https://www.sitemaps.org/protocol.html)."""
_MOST_SITEMAPS = 50_000
# A cell may be an abstract or a whole text. The module's own limit, 128 KiB, is one of the process.
csv.field_size_limit(16 * 2**20)
_GZIP_START = b"\x1f\x8b"

ReadUrl = Callable[[str], bytes]
"""Gives the body of an address."""


@dataclass(frozen=True)
class Item:
    """An artifact that a list names.

    Attributes:
        artifact_id: its id.
        name: what people call it.
        stated: what the list states of it, as columns of table `file_list`; `fields` has everything else.
    """

    artifact_id: str
    name: str
    stated: Mapping[str, Any]


class ListError(PermanentError):
    """A list cannot be read. The message names it, and says what to do."""


def read_list(listing: FileListing, lake: Lake, read_url: ReadUrl) -> Iterator[Item | str]:
    """The artifacts that a list names, and a message for each line that names none.

    Args:
        listing: which list.
        lake: the lake of the view, if it is one.
        read_url: reads a sitemap.

    Yields:
        An artifact, or why a line, an address or a value is none; it names the list and the line.

    Raises:
        ListError: the list as a whole cannot be read.
    """
    if listing.file:
        yield from read_list_file(Path(listing.file))
    elif listing.sitemap:
        yield from _named(_sitemap(listing.sitemap, read_url), listing.label)
    else:
        yield from _named(_column(lake, str(listing.view), str(listing.column)), listing.label)


def read_list_file(path: Path) -> Iterator[Item | str]:
    """The artifacts that a file of JSON lines or CSV names, and a message for each line that names none.

    Raises:
        ListError: the file cannot be read.
    """
    yield from _named(read_records(path), str(path))


def read_records(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | Exception]]:
    """The lines of a file of JSON lines or CSV, as mappings. A JSON text is the value of `url`.

    Yields:
        `line N`, and the mapping, or the error that says why the line is none.

    Raises:
        ListError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _csv(file) if path.suffix.lower() == ".csv" else _json_lines(file)
    except OSError as error:
        raise ListError(
            f"the list {path} cannot be read: {error.strerror}; name another in `lists`"
        ) from error
    except UnicodeDecodeError as error:
        raise ListError(f"the list {path} is not UTF-8 text: save it as UTF-8") from error


def item_of(record: Mapping[str, Any]) -> Item:
    """The artifact that a record of a list names.

    Args:
        record: `url` or `id`, and optionally `name`, `size` (bytes), `sha1`, `sha256`, `mime` and `version`.
            All other values are for the templates of resolvers.

    Raises:
        ArtifactError: it names none, or a value is wrong.
    """
    given = {str(key).strip().lower(): value for key, value in record.items() if value not in (None, "")}
    url = normalized_url(str(given["url"])) if "url" in given else None
    stated: dict[str, Any] = {key: str(given[key]).strip() for key in _STATED if key in given}
    for algorithm in ("sha1", "sha256"):
        if algorithm in stated:
            stated[algorithm] = checked_id(f"{algorithm}:{stated[algorithm]}").partition(":")[2]
    if "id" in given:
        artifact_id = checked_id(str(given["id"]))
    elif url:
        artifact_id = f"url:{url}"
    else:
        raise ArtifactError("it has neither `url` nor `id`")
    if "size" in given:
        stated["size_bytes"] = _size(given["size"])
    name = str(given.get("name") or url or artifact_id)
    fields = {key: value for key, value in given.items() if key not in _OWN_COLUMNS}
    return Item(artifact_id, name, {**stated, "url": url or _url_in(artifact_id), "fields": fields or None})


def _named(records: Iterable[tuple[str, Mapping[str, Any] | Exception]], label: str) -> Iterator[Item | str]:
    for place, record in records:
        if isinstance(record, Exception):
            yield f"{label}, {place}: {record}"
            continue
        try:
            yield item_of(record)
        except ArtifactError as error:
            yield f"{label}, {place}: {error}"


def _size(value: object) -> int:
    try:
        size = int(str(value))
    except ValueError:
        size = -1
    if not 0 <= size < 2**63:
        raise ArtifactError(f"its size must be a number of bytes, not {value!r}")
    return size


def _url_in(artifact_id: str) -> str | None:
    return artifact_id.removeprefix("url:") if artifact_id.startswith("url:") else None


def _csv(file: TextIO) -> Iterator[tuple[str, Mapping[str, Any] | Exception]]:
    reader = csv.DictReader(file)
    try:
        for row in reader:
            extra = row.pop(None, None) if None in row else None
            problem = ArtifactError("it has more values than the first line has names") if extra else None
            yield f"line {reader.line_num}", problem or row
    except csv.Error as error:
        # What follows cannot be read: a list that ends here would look like the whole.
        raise ListError(f"the list {file.name} is no CSV after line {reader.line_num}: {error}") from error


def _json_lines(file: TextIO) -> Iterator[tuple[str, Mapping[str, Any] | Exception]]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            found = json.loads(line)
        except ValueError as error:
            yield place, ArtifactError(f"it is no JSON: {error}")
            continue
        if isinstance(found, str):
            found = {"url": found}
        is_mapping = isinstance(found, dict)
        yield place, found if is_mapping else ArtifactError("it is neither an object nor an address")


def _sitemap(url: str, read_url: ReadUrl) -> Iterator[tuple[str, Mapping[str, Any] | Exception]]:
    """The addresses of a sitemap, or of those that a sitemap index names (https://www.sitemaps.org/protocol.html)."""
    first = normalized_url(url)
    waiting, seen = [first], {first}
    while waiting:
        address = waiting.pop(0)
        root = _parsed(address, read_url(address))
        for number, entry in enumerate(root, start=1):
            values = {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in entry}
            kind, location = entry.tag.rpartition("}")[2], values.get("loc", "")
            place = f"{address}, entry {number}"
            if kind == "url":
                yield place, {"url": location, "version": values.get("lastmod")}
            elif kind == "sitemap":
                try:
                    named = _named_sitemap(address, location)
                except ArtifactError as error:
                    yield place, error
                    continue
                if named not in seen and len(seen) < _MOST_SITEMAPS:
                    seen.add(named)
                    waiting.append(named)


def _named_sitemap(index: str, location: str) -> str:
    """The address of a sitemap that an index names, in its normal form."""
    if not location:
        raise ArtifactError("it names no sitemap")
    try:
        return normalized_url(urljoin(index, location))
    except ValueError as error:
        raise ArtifactError(f"{location[:200]!r} is no address of a sitemap: {error}") from error


def _parsed(address: str, body: bytes) -> ET.Element:
    try:
        text = _unpacked(body)
        if b"<!DOCTYPE" in text[:4096] or b"<!ENTITY" in text:
            raise ListError(f"the sitemap {address} declares a document type, which no sitemap has")
        return ET.fromstring(text)  # noqa: S314 - without entities it cannot grow
    except (ET.ParseError, OSError, EOFError, zlib.error) as error:
        raise ListError(f"{address} is no sitemap: {error}") from error


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP_START):
        return body
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
        text = packed.read(LARGEST_SITEMAP + 1)
    if len(text) > LARGEST_SITEMAP:
        raise OSError(f"it unpacks to more than {LARGEST_SITEMAP} bytes")
    return text


def _column(lake: Lake, view: str, column: str) -> Iterator[tuple[str, Mapping[str, Any] | Exception]]:
    if not (view.isidentifier() and column.isidentifier()):
        raise ListError(f"{view!r} and {column!r} must be names of a view and of its column")
    sql = f'select distinct "{column}" as url from "{view}" where "{column}" is not null order by 1'  # noqa: S608 - checked names
    with connect(lake, relations=[view]) as connection:
        found = query(connection, sql)
    for row in found:
        values = row["url"] if isinstance(row["url"], list) else [row["url"]]
        yield from (("a value", {"url": value}) for value in values)
