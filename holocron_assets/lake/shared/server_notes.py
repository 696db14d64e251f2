"""Notes that all machines see: rows instead of files."""

from holocron_assets.lake.shared.sessions import Session


class ServerNote:
    """A note that the server of a shared lake keeps; see `lake/journals/notes.py`."""

    def __init__(self, session: Session, name: str) -> None:
        """Name it."""
        self._session, self._name = session, name

    def read(self) -> str | None:
        """What it says; None if there is none."""
        found = self._session.note(self._name)
        return found[0] if found else None

    def write(self, text: str) -> None:
        """Let it say something else."""
        self._session.write_note(self._name, text)

    def remove(self) -> None:
        """Remove it, if it is there."""
        self._session.remove_note(self._name)

    def mark(self) -> int | None:
        """What tells this version of it from others."""
        found = self._session.note(self._name)
        return found[1] if found else None
