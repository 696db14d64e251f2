"""What pages mean, as vectors: those of a space that were made for search, where there is one."""

from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from holocron_assets.classify.learned.features import MEANING, Features
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import Footer, read_partition
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.tables import RULE_CLASSIFICATIONS
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX

_QUERIES, _UNANSWERED = "queries", "unanswered"
"""Inputs of a space that chooses its pages by a query, and of a batch that it is not done with."""

_DIGITS = 8


class Meanings:
    """The vectors of one space that a source's model sees: of the space that is done with most batches.

    A space that chooses its pages by `page_types`, or by a query, is not seen: these types follow from the
    model, which would then change what it sees.
    """

    def __init__(self, listings: LakeListings, batches: Sequence[str]) -> None:
        """Choose the space.

        Args:
            listings: of the lake.
            batches: the source's.
        """
        self._lake = listings.lake
        self._footers: Mapping[str, Footer] = {}
        self._space: Table | None = None
        for space in listings.lake.derived_tables:
            if space.name.startswith(SPACE_PREFIX):
                footers = _seen(listings, space, batches)
                if len(footers) > len(self._footers):
                    self._space, self._footers = space, footers

    def content_id(self, batch: str) -> str:
        """The content id of a batch's vectors; empty where there are none."""
        return self._footers[batch].content_id if batch in self._footers else ""

    def of_batch(self, batch: str) -> Mapping[int, Features]:
        """The mean direction of each page's passages, by title key; empty where there is none.

        A feature's name has the space and the build of its model: vectors of two builds are never compared.
        """
        if self._space is None or batch not in self._footers:
            return {}
        of_pages: dict[tuple[int, str], list[bytes]] = defaultdict(list)
        for row in read_partition(self._lake, self._space, batch, ["title_key", "vector", "model_digest"]):
            of_pages[row["title_key"], row["model_digest"]].append(b64decode(row["vector"]))
        kind = f"{MEANING} by {self._space.name.removeprefix(SPACE_PREFIX)}"
        return {
            page: {
                f"{kind} {digest[:_DIGITS]}: {place}": value for place, value in enumerate(_mean(directions))
            }
            for (page, digest), directions in of_pages.items()
        }


def _seen(listings: LakeListings, space: Table, batches: Iterable[str]) -> Mapping[str, Footer]:
    """The footers of a space's batches that are done, and that do not depend on the merged types."""
    footers = ((batch, listings.footer(space, batch)) for batch in batches)
    return {
        batch: footer
        for batch, footer in footers
        if footer
        and RULE_CLASSIFICATIONS.name in footer.inputs
        and not footer.inputs.keys() & {_QUERIES, _UNANSWERED}
    }


def _mean(directions: Iterable[bytes]) -> list[float]:
    """The mean of directions of a signed byte a number, at length 1."""
    vectors = np.array([np.frombuffer(one, np.int8) for one in directions], np.float64)
    mean = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0)
    values: list[float] = np.round(mean / (np.linalg.norm(mean) or 1.0), 6).tolist()
    return values
