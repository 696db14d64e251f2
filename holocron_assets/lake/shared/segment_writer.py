"""Appending to a journal in a shared lake: one writer's segments, one after another."""

from pathlib import Path
from time import monotonic

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.segments import new_segment

_LARGE_BYTES = 64_000
_OLD_SECONDS = 60.0


class SegmentWriter:
    """Writes a journal's lines to segments of its own. One thread at a time."""

    def __init__(self, mirror: Mirror, journal: Path) -> None:
        """Prepare to write. The first line begins a segment."""
        self._mirror, self._journal = mirror, journal
        self._path: Path | None = None
        self._content = b""
        self._begun_at = 0.0

    def append(self, line: bytes) -> None:
        """Add a line and return when the store has it.

        Raises:
            StoreError, LocksLostError: the store does not have it, as far as is known. Later lines are safe.
            FolderGoneError: the segment was removed since it was begun.
        """
        path, content = self._path, self._content
        is_old = monotonic() - self._begun_at > _OLD_SECONDS
        if path is None or is_old or len(content) > _LARGE_BYTES:
            path, content = new_segment(self._journal, utc_now())
            self._begun_at = monotonic()
        elif not path.exists():
            raise FolderGoneError(f"{path} was removed while it was written to")
        content += line
        self._path = None  # if this fails, the next line begins another segment
        with self._mirror.publishing_grown(content, path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._path, self._content = path, content

    def close(self) -> None:
        """Let the next line begin another segment."""
        self._path, self._content = None, b""
