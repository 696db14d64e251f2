"""The journal of a listing, which a killed one goes on from."""

from collections.abc import Mapping
from pathlib import Path

from holocron_assets.lake.journals.journal import Journal


def listing_journal(path: Path, marks: Mapping[str, str]) -> Journal:
    """The journal at `path`, begun for what `marks` tell of; that of another listing is thrown away.

    Args:
        path: where it is kept.
        marks: what the listing depends on. Its first record holds them, as `listing`.
    """
    journal = Journal(path)
    begun = next(journal.records(), None)
    if begun is not None and begun != {"listing": marks}:
        journal.remove()
        begun = None
    if begun is None:
        journal.append({"listing": dict(marks)})
    return journal
