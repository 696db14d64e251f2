"""What people decided about pages: rows that are never changed, only followed by others."""

import uuid
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.freshness import RowsOf
from holocron_assets.lake.keys import title_key
from holocron_assets.lake.listing import Listing
from holocron_assets.lake.packs import FileMark
from holocron_assets.lake.parquet import read_partition, read_table, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import DECISIONS, PAGE_SIGNALS

_CLASSIFY = "classify"
_WITHDRAW = "withdraw"

_Keys = npt.NDArray[np.int64]

_READ: dict[Path, dict[str, Row]] = {}
"""Decisions read so far, by data folder and id: a process reads each once."""

_TITLES: dict[tuple[Path, str], tuple[FileMark, _Keys]] = {}
"""The title keys of batches, sorted, and the mark of their file: 4 KB a batch, once there is a decision."""


class DecisionError(ValueError):
    """A decision that cannot be made; the message says why."""


def decide_type(  # noqa: PLR0913 - each is a column
    lake: Lake, *, source: str, title: str, type_name: str | None, author: str, reason: str
) -> Row:
    """Decide of which type a page is. It counts over rules and models, until it is followed by another.

    Args:
        lake: where the decision goes.
        source: the page's source.
        title: its canonical title.
        type_name: one of the taxonomy's types; None leaves the page to rules and models again.
        author: who decides.
        reason: why.

    Returns:
        The row of table `decisions` that was written.

    Raises:
        DecisionError: there is no such type, no reason, or no decision to withdraw.
    """
    types, key = load_taxonomy().types, title_key(source, title)
    if type_name is not None and type_name not in types:
        raise DecisionError(f"{type_name!r} is no type of page; the types are {', '.join(types)}")
    if type_name is None and key not in standing_decisions(lake):
        raise DecisionError(f"no decision about {title!r} of {source} stands, so there is none to withdraw")
    if not reason.strip():
        raise DecisionError("a decision needs a reason: say why, for those who come after")
    now = utc_now()
    decision_id = f"{now:%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:8]}"
    row = {
        "decision_id": decision_id,
        "kind": _CLASSIFY if type_name else _WITHDRAW,
        "source": source,
        "title": title,
        "title_key": key,
        "value": type_name,
        "author": author,
        "reason": reason,
        "decided_at": now,
    }
    write_partition(lake, DECISIONS, decision_id, [row])
    return row


def standing_decisions(lake: Lake) -> Mapping[int, Row]:
    """The decisions that count, by title key: the last about each page, unless it is a withdrawal."""
    names = lake.listing(DECISIONS).names
    known = _READ.get(lake.root, {})
    read = {name: known.get(name) or read_partition(lake, DECISIONS, name)[0] for name in names}
    _READ[lake.root] = read
    in_time = sorted(read.values(), key=itemgetter("decided_at", "decision_id"))
    last = {row["title_key"]: row for row in in_time}
    return {key: row for key, row in last.items() if row["kind"] == _CLASSIFY}


def look_at_decisions(lake: Lake) -> RowsOf:
    """Look once at people's decisions; gives the rows that count for the pages of a batch.

    A batch's titles are read once a process, and not at all as long as nobody decided anything.
    """
    decided = standing_decisions(lake)
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
    """Those of the wanted keys that are among a batch's, both sorted."""
    if not len(titles):
        return []
    places = np.minimum(titles.searchsorted(wanted), len(titles) - 1)
    found: list[int] = wanted[titles[places] == wanted].tolist()
    return found
