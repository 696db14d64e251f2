"""What an answer to a request for a file means: its body is the whole, the rest, or nothing of use. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

Kind = Literal["whole", "rest", "all_held", "unchanged", "moved", "missing", "refused", "wrong"]
"""What came.

`whole` and `rest` have a body that is stored; `all_held` says that no byte is left to send; `unchanged` that
the held bytes are current; `moved` names another address. `missing` and `refused` are for good, `wrong`
may be right the next time.
"""

_RANGE = re.compile(r"bytes +([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes +\*/([0-9]{1,19})", re.IGNORECASE)
_STRONG = re.compile(r'"[\x21\x23-\x7e\x80-\xff]+"')
_MOVED = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True)
class Asked:
    """What a request asked for.

    Attributes:
        start: the first byte that was asked for; 0 for all.
        validator: the strong ETag of the bytes before it; None if all were asked for.
        length: bytes of the whole, as an earlier answer said.
        held_etag: ETag of the bytes that are held whole, if the request was conditional on it.
        is_conditional: whether it asked only for bytes that are not held.
    """

    start: int = 0
    validator: str | None = None
    length: int | None = None
    held_etag: str | None = None
    is_conditional: bool = False


@dataclass(frozen=True)
class Verdict:
    """What an answer means.

    Attributes:
        kind: what came.
        reason: in one word, for tables.
        problem: what is wrong with it, for people; None if nothing is.
        length: bytes of the whole file on the wire; None if the answer does not say.
        validator: the strong ETag of the body; None without one.
        is_resumable: whether the bytes that came are right as far as they go.
    """

    kind: Kind
    reason: str
    problem: str | None = None
    length: int | None = None
    validator: str | None = None
    is_resumable: bool = False


def strong(etag: str | None) -> str | None:
    """An ETag, if it is a strong one (RFC 9110 section 8.8.3)."""
    return etag if etag and _STRONG.fullmatch(etag.strip()) else None


def verdict_of(asked: Asked, status: int, headers: Mapping[str, str]) -> Verdict:
    """Say what an answer means, by its status and headers.

    Args:
        asked: what was asked for.
        status: HTTP status.
        headers: the answer's headers, their names in lower case.
    """
    reason = f"http-{status}"
    if status == HTTPStatus.OK:
        return Verdict("whole", reason, length=_length(headers), validator=strong(headers.get("etag")))
    if status == HTTPStatus.PARTIAL_CONTENT:
        return _of_a_part(asked, headers)
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and asked.start:
        return _of_no_range(asked, headers)
    if status == HTTPStatus.NOT_MODIFIED:
        return _of_unchanged(asked, headers)
    if status in _MOVED and headers.get("location"):
        return Verdict("moved", reason)
    is_for_good = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    kind: Kind = "refused" if is_for_good and status not in _PASSING else "wrong"
    return Verdict("missing" if status in _MISSING else kind, reason, f"HTTP {status}")


def is_encoded(headers: Mapping[str, str]) -> bool:
    """Whether a body is packed for the way, though `identity` was asked for."""
    return headers.get("content-encoding", "").strip().lower() not in {"", "identity"}


def _of_a_part(asked: Asked, headers: Mapping[str, str]) -> Verdict:
    """A 206 (section 15.3.7): used only if its bytes follow ours and are of the same whole."""
    found = _RANGE.fullmatch(headers.get("content-range", "").strip())
    if misfit := next(_misfits(asked, headers, found), None):
        reason, problem = misfit
        return Verdict("wrong", reason, f"HTTP 206, {problem}")
    total = asked.length if not found or found[3] == "*" else int(found[3])
    return Verdict("rest", "http-206", length=total, validator=asked.validator)


def _misfits(
    asked: Asked, headers: Mapping[str, str], found: re.Match[str] | None
) -> Iterator[tuple[str, str]]:
    """Why the body of a 206 cannot be appended: reasons, and what is wrong."""
    if not asked.start:
        yield "range-unasked", "though no range was asked for"
    if headers.get("content-type", "").lower().startswith("multipart/"):
        yield "range-multipart", "with several ranges, though one was asked for"
    if is_encoded(headers):
        yield "range-encoded", "with a Content-Encoding, so that its bytes do not follow ours"
    if headers.get("etag", asked.validator) != asked.validator:
        yield "range-changed", f"of another version, {headers['etag'][:100]}"
    if not found:
        yield "range-mismatch", f"with Content-Range {headers.get('content-range', '')[:100]!r}"
        return
    first, last = int(found[1]), int(found[2])
    total = asked.length if found[3] == "*" else int(found[3])
    if first != asked.start:
        yield "range-mismatch", f"from byte {first}, though byte {asked.start} was asked for"
    if total is None or last < first or last >= total or total != (asked.length or total):
        yield "range-mismatch", f"of bytes {found[0][:100]!r}, and the file has {asked.length}"
    if _length(headers) not in {None, last - first + 1}:
        yield "range-mismatch", f"with {_length(headers)} bytes for {found[0][:100]!r}"


def _of_no_range(asked: Asked, headers: Mapping[str, str]) -> Verdict:
    """A 416 (section 15.5.17): good if we hold all bytes already."""
    found = _UNSATISFIED.fullmatch(headers.get("content-range", "").strip())
    total = int(found[1]) if found else asked.length
    is_same = headers.get("etag", asked.validator) == asked.validator
    if total == asked.start and is_same and asked.length in {None, total}:
        return Verdict("all_held", "http-416", length=total, validator=asked.validator)
    return Verdict("wrong", "range-refused", f"HTTP 416, and we hold {asked.start} bytes of {total}")


def _of_unchanged(asked: Asked, headers: Mapping[str, str]) -> Verdict:
    """A 304 (section 15.4.5): good only if it was asked for, and of the version that is held."""
    if not asked.is_conditional:
        return Verdict("wrong", "unasked-304", "HTTP 304, though no condition was asked for")
    etag = headers.get("etag")
    if etag and asked.held_etag and _opaque(etag) != _opaque(asked.held_etag):
        return Verdict("wrong", "other-304", f"HTTP 304 of another version, {etag[:100]}")
    return Verdict("unchanged", "http-304")


def _opaque(etag: str) -> str:
    """An ETag for weak comparison (section 8.8.3.2)."""
    return etag.strip().removeprefix("W/")


def _length(headers: Mapping[str, str]) -> int | None:
    value = headers.get("content-length", "").strip()
    return int(value) if value.isascii() and value.isdigit() else None
