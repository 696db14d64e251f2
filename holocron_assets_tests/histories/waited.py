"""The time that a history lets pass without waiting for it, in a file: all its processes know it at once."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

_LOCK = Lock()


@dataclass(frozen=True)
class Waited:
    """The time that passed so, by a file in a folder."""

    folder: Path

    @property
    def seconds(self) -> float:
        return float(self._file.read_text()) if self._file.exists() else 0.0

    def add(self, seconds: float) -> None:
        """Let time pass. Only one process does so at a time."""
        with _LOCK:
            self._write(self.seconds + seconds)

    def reset(self) -> None:
        self._write(0.0)

    @property
    def _file(self) -> Path:
        return self.folder / "waited"

    def _write(self, seconds: float) -> None:
        new = self.folder / "waited.new"
        new.write_text(f"{seconds}")
        new.replace(self._file)
