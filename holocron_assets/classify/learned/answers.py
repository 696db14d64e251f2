"""What the learned model of a source says of the open pages of a batch, for the types of pages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.freshness import RowsOf
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import TYPE_PREDICTIONS

_ANSWER = (
    *("title_key", "revision_id", "primary_type", "probability", "second_type", "second_probability"),
    *("is_familiar", "abstains", "reasons"),
)
"""Columns that a page's type is made from. A model that says the same again makes no type anew."""

_KEPT_SOURCES = 4


def read_predictions(lake: Lake) -> RowsOf:
    """Read what the learned models say; returns a function that gives the rows for the pages of a batch.

    A process reads a source's predictions once, until they change.
    """
    listing = lake.listing(TYPE_PREDICTIONS)

    def of_batch(batch: str) -> Sequence[Row]:
        source = source_of(batch)
        mark = listing.mark(source)
        return _by_batch(lake, source, mark).get(batch, ()) if mark else ()

    return of_batch


def sure_pages(lake: Lake, batch: str) -> AbstractSet[int]:
    """Title keys of the pages of a batch of whose type the learned model is sure."""
    return {row["title_key"] for row in read_predictions(lake)(batch) if not row["abstains"]}


def sure_digests(lake: Lake) -> Mapping[str, str]:
    """A digest of the pages of each batch of which the learned model is sure; none without such pages."""
    found: dict[str, list[int]] = defaultdict(list)
    listing = lake.listing(TYPE_PREDICTIONS)
    for source in listing.names:
        if mark := listing.mark(source):
            for batch, rows in _by_batch(lake, source, mark).items():
                found[batch] += (row["title_key"] for row in rows if not row["abstains"])
    return {batch: content_hash(repr(sorted(keys))) for batch, keys in found.items() if keys}


@lru_cache(maxsize=_KEPT_SOURCES)
def _by_batch(lake: Lake, source: str, _mark: FileMark) -> Mapping[str, Sequence[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in read_partition(lake, TYPE_PREDICTIONS, source, ["batch", *_ANSWER]):
        found[row.pop("batch")].append(row)
    return found


def in_words(prediction: Mapping[str, Any]) -> str:
    """What the learned model says of a page, and why, in a sentence.

    Args:
        prediction: the page's row of table type_predictions.
    """
    said = f"{prediction['primary_type']} at {prediction['probability']:.2f}"
    sentence = f"the learned model says {said}"
    if prediction["abstains"]:
        second = f"{prediction['second_type']} at {prediction['second_probability']:.2f}"
        sentence = f"the learned model abstains: {said} or {second}"
        if not prediction["is_familiar"]:
            sentence = f"the learned model knows too few pages of this sort and abstains: {said} or {second}"
    speaking, against = (
        ", ".join(reason["feature"] for reason in prediction["reasons"] if (reason["weight"] > 0) is is_for)
        for is_for in (True, False)
    )
    because = f"{sentence}, because of {speaking or 'nothing much'}"
    return f"{because}; against it: {against}" if against else because
