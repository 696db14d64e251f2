"""The journal of a listing. A killed listing continues from it."""

from collections.abc import Mapping
from pathlib import Path

from holocron_assets.lake.journals.journal import Journal


def listing_journal(path: Path, marks: Mapping[str, str]) -> Journal:
    """The journal at `path` for the listing with these `marks`; that of another listing is thrown away.

    Args:
        path: where the journal is.
        marks: what the listing depends on. The first record holds them, as `listing`.
    """
    journal = Journal(path)
    begun = next(journal.records(), None)
    if begun is not None and begun != {"listing": marks}:
        journal.remove()
        begun = None
    if begun is None:
        journal.append({"listing": dict(marks)})
    return journal
