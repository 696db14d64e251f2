"""The words that a search or a list can be narrowed to. A misspelt one would find nothing, without a word."""

from collections.abc import Iterable, Mapping, Sequence

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.crawl.sources.files import read_any_sources
from holocron_assets.doors.questions import Some
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.key_problems import suggestion
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_LIST, SITES
from holocron_assets.retrieval.index.full_text import FILTERS
from holocron_assets.settings import sources_folder

STATES = ("staged", "candidate", "promoted", "adjudicated", "suppressed", "merged")
"""States of entities."""
SEARCHED_STATES = ("staged", "candidate", "promoted", "adjudicated", "none")
"""States that pages have in the search index: that of their entity, if they have one that counts."""
CONTINUITIES = ("canon", "legends", "both", "real", "unknown")


class NarrowingError(PermanentError, ValueError):
    """There is no such type, state, continuity or source; the message names those that there are."""


def check_narrowing(lake: Lake, wanted: Mapping[str, Some], states: Sequence[str] = SEARCHED_STATES) -> None:
    """Refuse words that no page, or no entity, can have.

    Args:
        lake: the lake. Pages of a source stay in it when the source's file is gone.
        wanted: values of 'type', 'state', 'continuity' or 'source'. Others are not checked.
        states: the states that there are: those of a search by default.

    Raises:
        NarrowingError: there is no such value.
    """
    for name in FILTERS:
        value = wanted.get(name)
        for given in [value] if isinstance(value, str) else value or ():
            check_word(name, given, states if name == "state" else _known(lake, name))


def check_word(name: str, given: str, known: Iterable[str]) -> None:
    """Refuse a word that is not among those that there are.

    Args:
        name: what the word says, such as 'state'.
        given: the word.
        known: the words that there are.

    Raises:
        NarrowingError: it is none of them.
    """
    words = list(known)
    if given not in words:
        there = ", ".join(words) or "none"
        raise NarrowingError(
            f"there is no {name} {given!r}{suggestion(given, words) or f'; there is {there}'}"
        )


def _known(lake: Lake, name: str) -> Iterable[str]:
    match name:
        case "type":
            return load_taxonomy().types
        case "continuity":
            return CONTINUITIES
    found, broken = read_any_sources(sources_folder())
    return sorted(
        {*found, *(error.path.stem for error in broken), *lake.partitions(SITES), *lake.partitions(FILE_LIST)}
    )
