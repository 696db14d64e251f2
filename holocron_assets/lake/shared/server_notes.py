"""Notes that all machines see: rows instead of files."""

from holocron_assets.lake.shared.sessions import Session


class ServerNote:
    """A note that the server of a shared lake keeps; see `lake/journals/notes.py`."""

    def __init__(self, session: Session, name: str) -> None:
        """Name it."""
        self._session, self._name = session, name

    def read(self) -> str | None:
        """The note's text; None if there is no note."""
        found = self._session.note(self._name)
        return found[0] if found else None

    def write(self, text: str) -> None:
        """Replace the note's text."""
        self._session.write_note(self._name, text)

    def remove(self) -> None:
        """Remove the note, if it is there."""
        self._session.remove_note(self._name)

    def mark(self) -> int | None:
        """A mark of this version of the note."""
        found = self._session.note(self._name)
        return found[1] if found else None
