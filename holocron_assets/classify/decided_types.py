"""People's decisions about the types of pages."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.decisions.log import (
    DecisionError,
    decided_now,
    new_decision,
    one_answer,
    record,
    refuse_unsaid,
    standing,
)
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.listing import Listing
from holocron_assets.lake.files.parquet import read_table
from holocron_assets.lake.freshness import RowsOf
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_SIGNALS
from holocron_assets.lake.views.named_pages import find_page, titles_there

_Keys = npt.NDArray[np.int64]

_TITLES: dict[tuple[Path, str], tuple[FileMark, _Keys]] = {}
"""Sorted title keys of batches, with the mark of their file: 4 KB a batch, only if there is a decision."""


def decide_type(  # noqa: PLR0913 - each is a column
    lake: Lake, *, source: str | None, title: str, type_name: str, author: str, reason: str
) -> Row:
    """Decide the type of a page. The decision outranks rules and models until it is undone.

    Args:
        lake: where the decision goes.
        source: the page's source; None where only one source has the page.
        title: its title, as `find_page` takes it.
        type_name: one of the taxonomy's types.
        author: who decides.
        reason: why.

    Returns:
        The row of table `decisions` that was written.

    Raises:
        DecisionError: there is no such type, page, author or reason, or several pages have the title.
    """
    _refuse_unknown(type_name, author, reason)
    [row] = _recorded(lake, [_one_page(lake, title, source)], type_name, author, reason)
    return row


def decide_types(  # noqa: PLR0913 - each is a column
    lake: Lake, *, source: str, titles: Sequence[str], type_name: str, author: str, reason: str
) -> Sequence[Row]:
    """Decide that several pages of a source are of one type, with one answer: all is written, or nothing.

    Args:
        lake: where the decisions go.
        source: the pages' source.
        titles: their titles.
        type_name: one of the taxonomy's types.
        author: who decides.
        reason: why.

    Returns:
        The rows of table `decisions` that were written.

    Raises:
        DecisionError: one of the decisions cannot be made.
    """
    _refuse_unknown(type_name, author, reason)
    exact = titles_there(lake, source, titles)
    pages = [(source, title) if title in exact else _one_page(lake, title, source) for title in titles]
    return _recorded(lake, pages, type_name, author, reason)


def _refuse_unknown(type_name: str, author: str, reason: str) -> None:
    types = load_taxonomy().types
    if type_name not in types:
        raise DecisionError(f"{type_name!r} is no type of page; the types are {', '.join(types)}")
    refuse_unsaid("a decision", author, reason)


def _recorded(
    lake: Lake, pages: Sequence[tuple[str, str]], type_name: str, author: str, reason: str
) -> Sequence[Row]:
    now = decided_now(lake)
    rows = one_answer(
        [
            new_decision(
                "classify", author=author, reason=reason, source=source, title=title, value=type_name, now=now
            )
            for source, title in pages
        ]
    )
    record(lake, rows)
    return rows


def _one_page(lake: Lake, title: str, source: str | None) -> tuple[str, str]:
    """Source and canonical title of the page that a person means."""
    found = find_page(lake, title, source)
    if not found:
        raise DecisionError(
            f"no page is called {title!r}: nothing can be decided about it. `holocron page` helps to find it"
        )
    if len(found) > 1:
        listed = " or ".join(f"{name!r} of {its_source}" for its_source, name in found)
        raise DecisionError(f"{title!r} may be {listed}: name one by its exact title and --source")
    return found[0]


def read_decided_types(lake: Lake) -> RowsOf:
    """Read people's decisions once; returns a function that gives the rows for the pages of a batch.

    A process reads a batch's titles once, and not at all while there is no decision on a type.
    """
    decided = standing(lake).types
    if not decided:
        return _nothing
    listing, keys = lake.listing(PAGE_SIGNALS), np.sort(np.fromiter(decided, np.int64, len(decided)))

    def of_batch(batch: str) -> Sequence[Row]:
        return [decided[key] for key in _among(keys, _titles(lake, listing, batch))]

    return of_batch


def _nothing(_batch: str) -> Sequence[Row]:
    return ()


def _titles(lake: Lake, listing: Listing, batch: str) -> _Keys:
    mark = listing.mark(batch)
    if mark is None:
        return np.empty(0, np.int64)
    known = _TITLES.get((lake.root, batch))
    if known is None or known[0] != mark:
        column = read_table(lake, PAGE_SIGNALS, batch, ["title_key"]).column("title_key")
        known = mark, np.sort(column.to_numpy())
        _TITLES[lake.root, batch] = known
    return known[1]


def _among(wanted: _Keys, titles: _Keys) -> list[int]:
    """The wanted keys that a batch has; both are sorted."""
    if not len(titles):
        return []
    places = np.minimum(titles.searchsorted(wanted), len(titles) - 1)
    found: list[int] = wanted[titles[places] == wanted].tolist()
    return found
