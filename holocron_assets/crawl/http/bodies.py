"""Reading an answer's body, within a limit that holds for its unpacked size too."""

import zlib
from collections.abc import AsyncIterable

_GZIP = zlib.MAX_WBITS | 16
_MEMBER_STARTS = b"\x1f"
_PLAIN = frozenset({"", "identity"})
_GZIPPED = frozenset({"gzip", "x-gzip"})  # RFC 9110 section 8.4.1.3: both mean the same


class BodyRefusedError(Exception):
    """A body is larger than the limit, or not what its headers say. The message says which."""


async def read_body(parts: AsyncIterable[bytes], encoding: str, limit: int) -> bytes:
    """Read a body to its end, unpacked.

    A few kilobytes can unpack to gigabytes. So memory holds one packed part and at most the limit of unpacked
    bytes.

    Args:
        parts: the body's bytes as they come.
        encoding: header Content-Encoding; empty without one.
        limit: the most bytes that the body may have, packed or unpacked.

    Raises:
        BodyRefusedError: the body is too large, packed in a way that was not asked for, damaged or cut off.
    """
    encoding = encoding.strip().lower()
    if encoding not in _PLAIN | _GZIPPED:
        # Encodings can be nested, and the limit would have to count at each level.
        raise BodyRefusedError(f"the body comes as {encoding[:100]!r}, which was not asked for")
    body = _Body(limit) if encoding in _PLAIN else _GzippedBody(limit)
    async for part in parts:
        body.add(part)
    return body.whole()


class _Body:
    """A body that is not packed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()

    def add(self, part: bytes) -> None:
        self._content += part
        if len(self._content) > self._limit:
            raise BodyRefusedError(f"the body is larger than {self._limit} bytes")

    def whole(self) -> bytes:
        return bytes(self._content)


class _GzippedBody(_Body):
    """A body that is unpacked as it comes. It may have several members (RFC 1952 section 2.2)."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._packed_bytes = 0
        self._member = zlib.decompressobj(_GZIP)

    def add(self, part: bytes) -> None:
        self._packed_bytes += len(part)
        if self._packed_bytes > self._limit:
            raise BodyRefusedError(f"the packed body is larger than {self._limit} bytes")
        while part:
            if self._member.eof:
                if not part.startswith(_MEMBER_STARTS):
                    return  # padding, which gzip ignores too
                self._member = zlib.decompressobj(_GZIP)
            part = self._unpacked(part)

    def whole(self) -> bytes:
        if self._packed_bytes and not self._member.eof:
            raise BodyRefusedError("the body's gzip breaks off")
        return super().whole()

    def _unpacked(self, part: bytes) -> bytes:
        """Unpack a part, to at most one byte beyond the limit; bytes after its member are left for later."""
        room = self._limit + 1 - len(self._content)
        try:
            super().add(self._member.decompress(part, room))
        except zlib.error as error:
            raise BodyRefusedError(f"the body's gzip is damaged: {error}") from error
        return self._member.unused_data
