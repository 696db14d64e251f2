"""Which type bytes have, by how they begin; and whether it is one that was expected."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

import puremagic

HTML = "text/html"
_UNMISTAKABLE = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"OggS", "application/ogg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
"""Signatures that nothing else has; puremagic would name several types for some of them."""
_WEBP = re.compile(rb"RIFF.{4}WEBP", re.DOTALL)
# Atomic: otherwise each of many comments could also end where a later one does, and all would be tried.
_START = rb"^(?:\xef\xbb\xbf)?\s*(?>(?:<\?xml[^>]*>\s*|<!--.*?-->\s*|<!DOCTYPE svg[^>]*>\s*)*)"
_HTML = re.compile(_START + rb"<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_SVG = re.compile(_START + rb"<svg\b", re.IGNORECASE | re.DOTALL)
_SURE = 0.4
"""Least confidence of puremagic that counts: three bytes that agree may do so by chance."""

_ALIKE = (
    {"audio/ogg", "video/ogg", "application/ogg", "audio/opus"},
    {"application/zip", "application/epub+zip", "application/java-archive"},
    {"image/svg+xml", "application/xml", "text/xml"},
    {"application/gzip", "application/x-gzip"},
    {HTML, "application/xhtml+xml"},
)


def type_of(head: bytes, stated: Collection[str] = ()) -> str | None:
    """The type of bytes by how they begin; None if they begin like nothing that is known.

    Args:
        head: the first bytes; a few thousand are enough.
        stated: types that the source and the server state: one of them counts where several are possible.
    """
    possible = _possible_types(head)
    return next((mime for mime in stated if mime in possible), next(iter(possible), None))


def is_html(head: bytes) -> bool:
    """Whether bytes begin as a page for people."""
    return bool(_HTML.match(head))


def disagrees(mime: str | None, stated: str | None) -> bool:
    """Whether bytes are certainly not of the type that their source states."""
    known = {kind for _, kind in _UNMISTAKABLE} | {"image/webp", HTML}
    if mime is None or stated is None or mime == stated or not {mime, stated} <= known:
        return False
    return not any({mime, stated} <= group for group in _ALIKE)


def is_expected(mime: str | None, expect: Collection[str]) -> bool:
    """Whether a type is one of those that a source expects: `image/png`, or `image/*` for all of a kind.

    Anything is expected where nothing is named. A type that is not known is not expected then.
    """
    if not expect:
        return True
    alike = {mime} | {kind for group in _ALIKE if mime in group for kind in group}
    return any(
        kind is not None and (kind == one or (one.endswith("/*") and kind.startswith(one[:-1])))
        for kind in alike
        for one in expect
    )


def _possible_types(head: bytes) -> Sequence[str]:
    if _WEBP.match(head):
        return ["image/webp"]
    if is_html(head):
        return [HTML]
    if _SVG.match(head):
        return ["image/svg+xml"]
    for start, mime in _UNMISTAKABLE:
        if head.startswith(start):
            return [mime, *_others_like(mime)]
    return _by_puremagic(head)


def _others_like(mime: str) -> list[str]:
    return [kind for group in _ALIKE if mime in group for kind in sorted(group - {mime})]


@lru_cache(maxsize=64)  # the same bytes are looked at when they come, at their end, and for their row
def _by_puremagic(head: bytes) -> Sequence[str]:
    try:
        found = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return []
    # It takes any comment for the start of a page; `is_html` knows better.
    return [one.mime_type for one in found if one.mime_type not in {"", HTML} and one.confidence >= _SURE]
