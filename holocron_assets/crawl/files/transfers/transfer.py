"""What becomes of one candidate address, and how it is asked for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holocron_assets.crawl.files.artifact import Candidate
from holocron_assets.crawl.files.transfers import kinds
from holocron_assets.crawl.files.transfers.answers import Asked, Verdict
from holocron_assets.crawl.files.transfers.parts import HEAD_BYTES, Part
from holocron_assets.crawl.files.transfers.receiving import HeadReception, Reception, Wanted, stated_type
from holocron_assets.crawl.http.client import Verb
from holocron_assets.crawl.http.polite_requests import Sent
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.clock import utc_now

_TYPES = (
    *("image/png", "image/jpeg", "image/gif", "image/svg+xml", "image/tiff", "image/bmp", "image/x-icon"),
    *("audio/*", "video/*", "application/*", "text/*", "font/*", "model/*"),
)
"""Types that are asked for by name. With `image/webp` or `*/*`, some servers send WebP in place of what was
uploaded; its checksum is another."""
_MIME = re.compile(r"[a-z]+/[a-z0-9.+-]+")
_UNSENT = Verdict("wrong", "unsent")
_OK = frozenset({"whole", "rest", "all_held", "unchanged"})


@dataclass(frozen=True)
class Held:
    """The bytes of an artifact that the store holds, and what came with them.

    Attributes:
        sha256: their hash.
        url: the candidate that gave them.
        etag: its ETag.
        last_modified: its Last-Modified.
        fresh_until: until when the server said that they hold.
    """

    sha256: str
    url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    fresh_until: datetime | None = None


@dataclass
class Transfer:
    """What became of one candidate.

    Attributes:
        candidate: the address that was asked.
        verdict: what came in the end.
        verb: the last request's method.
        status: the last answer's status.
        headers: its headers.
        bytes: bytes on the wire, over all tries.
        resumed_from: bytes that were not asked for again.
        latency_ms: time that the answers took together.
        started_at: when it was begun.
        sha256: the bytes' hash; None without bytes. `sha1`, `size_bytes` and `mime` are about the same bytes.
        fresh_until: until when the answer says that it holds.
        stored_at: when the bytes became an object.
        due_at: when the host may be asked again, after a failure that may pass.
        host_outcome: what that failure says of the host, as in table `http_attempts`.
        counts: whether it was an attempt: it was none if the host may not be asked now.
        cause: the exception because of which no whole answer came.
    """

    candidate: Candidate
    verdict: Verdict = _UNSENT
    verb: Verb = "GET"
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    bytes: int = 0
    resumed_from: int = 0
    latency_ms: float = 0.0
    started_at: datetime = field(default_factory=utc_now)
    sha256: str | None = None
    sha1: str | None = None
    size_bytes: int | None = None
    mime: str | None = None
    fresh_until: datetime | None = None
    stored_at: datetime | None = None
    due_at: datetime | None = None
    host_outcome: str | None = None
    counts: bool = True
    cause: Exception | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the bytes are in the store."""
        return self.verdict.kind in _OK

    def note(self, verb: Verb, reception: Reception | HeadReception, sent: Sent) -> None:
        """Take in one answer."""
        assert reception.verdict  # noqa: S101 - it was read
        self.verb, self.verdict = verb, reception.verdict
        self.status, self.headers = reception.status, reception.headers
        self.bytes += sent.answer.streamed_bytes
        self.latency_ms += sent.answer.elapsed_seconds * 1000
        self.cause = sent.answer.cause

    def take_held(self, held: Held, wanted: Wanted, store: FileStore) -> None:
        """Describe bytes that are held, as far as that needs no reading of them all."""
        store.keep_young(held.sha256)
        said = {"etag": held.etag, "last-modified": held.last_modified}
        self.headers = {**{name: value for name, value in said.items() if value}, **self.headers}
        self.sha256, self.sha1, path = held.sha256, wanted.sha1, store.path(held.sha256)
        if path.is_file():  # it may be on another machine that shares the lake
            self.size_bytes = path.stat().st_size
            with path.open("rb") as opened:
                self.mime = kinds.type_of(opened.read(HEAD_BYTES), self.stated_types(wanted))

    def stated_types(self, wanted: Wanted) -> list[str]:
        """The types that source and server state."""
        return [mime for mime in (wanted.mime, stated_type(self.headers)) if mime]


def request_headers(asked: Asked, held: Held | None, wanted: Wanted) -> dict[str, str]:
    """The headers of a request for a file.

    Bytes that are held in part are asked for by Range, bytes that are held whole by a condition; never both.

    Args:
        asked: what is asked for.
        held: what the store holds of the artifact; None if it must not be asked whether it changed.
        wanted: what the bytes must be.
    """
    stated = [wanted.mime] if wanted.mime and _MIME.fullmatch(wanted.mime) else []
    types = dict.fromkeys([*stated, *wanted.expect, *_TYPES])
    headers = {"Accept": ", ".join(types), "Accept-Encoding": "identity"}
    if asked.start and asked.validator:
        return {**headers, "Range": f"bytes={asked.start}-", "If-Range": asked.validator}
    if asked.is_conditional and held:
        if held.etag:
            headers["If-None-Match"] = held.etag
        if held.last_modified:
            headers["If-Modified-Since"] = held.last_modified
    return headers


def asked_for(part: Part, held: Held | None) -> Asked:
    """What to ask for, by what is held: the rest of a part, whether the bytes changed, or all of them."""
    if part.side and part.size:
        return Asked(part.size, part.side.validator, part.side.length)
    is_conditional = held is not None and bool(held.etag or held.last_modified)
    return Asked(held_etag=held.etag if held else None, is_conditional=is_conditional)
