"""An artifact is fetched once, however many sources name it. A candidate is an address that may give it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urlsplit, urlunsplit

import xxhash

from holocron_assets.crawl.http.client import normal_address
from holocron_assets.crawl.sources.source import DEFAULT_PORTS
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Row

_ID = re.compile(r"sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64}|doi:10\.[0-9]{4,9}/\S+|url:https?://\S+")
_LONGEST_HOST = 253
"""Characters that the name of a host may have (RFC 1035 section 2.3.4, less two bytes that are no text)."""


class ArtifactError(PermanentError, ValueError):
    """A list names something that is no artifact. The message says what, and what is allowed."""


@dataclass(frozen=True)
class Artifact:
    """Something to be fetched, as its batch's manifest describes it.

    Attributes:
        artifact_id: what makes it one artifact.
        name: title of a wiki's file, or the name or URL that a list gives.
        url: the address that its source states; None if it states none.
        size_bytes: the bytes that its source states.
        sha1: the SHA-1 that its source states, hexadecimal.
        sha256: the SHA-256 that its source states, hexadecimal.
        mime: the type that its source states.
        fields: what else the source says of it.
    """

    artifact_id: str
    name: str
    url: str | None = None
    size_bytes: int | None = None
    sha1: str | None = None
    sha256: str | None = None
    mime: str | None = None
    fields: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Candidate:
    """An address that may give an artifact.

    Attributes:
        resolver: name of the resolver that gave it.
        url: the address.
        size_bytes: the bytes that the resolver states; counts where the artifact's source states none.
        sha1: the SHA-1 that it states, hexadecimal; likewise.
        mime: the type that it states; likewise.
    """

    resolver: str
    url: str
    size_bytes: int | None = None
    sha1: str | None = None
    mime: str | None = None


def artifact_of(row: Row) -> Artifact:
    """The artifact of a row of table `file_batches` or `file_list`."""
    stated = {name: row.get(name) for name in ("url", "size_bytes", "sha1", "sha256", "mime")}
    stated |= {name: stated[name] and str(stated[name]).lower() for name in ("sha1", "sha256", "mime")}
    fields = json.loads(row["fields"]) if row.get("fields") else None
    return Artifact(row["artifact_id"], row["name"], **stated, fields=fields)


def artifact_key(artifact_id: str) -> int:
    """The key of an artifact: a signed 64-bit xxhash of its id, the same in every source."""
    return int.from_bytes(xxhash.xxh3_64_digest(artifact_id.encode()), "big", signed=True)


def url_id(url: str) -> str:
    """The id of what is known by its address alone.

    Addresses that differ only in the case of scheme and host, in a default port, in a fragment, or in how
    characters are escaped are one (RFC 3986 section 6.2.2).

    Raises:
        ArtifactError: it is no address that can be asked for.
    """
    return f"url:{normalized_url(url)}"


def normalized_url(url: str) -> str:
    """An address in its normal form (RFC 3986 section 6.2.2), without fragment.

    Raises:
        ArtifactError: it is no `http` or `https` address.
    """
    try:
        parts = urlsplit(normal_address(urldefrag(url.strip()).url))
        port = parts.port
    except ValueError as error:
        raise ArtifactError(f"{url[:200]!r} is no address: {error}") from error
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or port == 0:
        raise ArtifactError(f"{url[:200]!r} is no http or https address")
    if len(parts.hostname) > _LONGEST_HOST:
        raise ArtifactError(f"the host of {url[:200]!r} has a longer name than any host can have")
    if parts.username is not None or parts.password is not None:
        raise ArtifactError(
            f"the address of {parts.hostname!r} holds a user name or a password: leave them out"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port in (None, DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"
    return urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))


def checked_id(text: str) -> str:
    """An id that a list gives, in its normal form.

    Raises:
        ArtifactError: it is none.
    """
    kind, _, value = text.strip().partition(":")
    if kind == "url":
        return url_id(value)
    normal = f"{kind}:{value.lower() if kind in {'sha1', 'sha256', 'doi'} else value}"
    if not _ID.fullmatch(normal):
        raise ArtifactError(
            f"{text[:200]!r} is no id of an artifact: it must be sha1:, sha256:, doi: or url: with its value"
        )
    return normal
