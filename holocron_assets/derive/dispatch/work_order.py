"""The order of work. Spaces embed the pages that others link to most first: people search for these most.

What spares the pages that the learned model is sure of begins with those that it is least sure of, spread
over infobox templates: pages of one template teach it much the same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import TypeVar

from holocron_assets.classify.learned.answers import read_predictions
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.item import Item
from holocron_assets.lake.files.parquet import rows_there
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS, PAGE_SIGNALS, PAGES
from holocron_assets.lake.views.database import connect

_T = TypeVar("_T")

_RANKED = 50_000
"""Pages that have a rank; the others come after them, in the order of batches."""

_MOST_LINKED = """
    select pages.title_key, pages.batch
    from current_pages as pages
    left join page_links as links on links.source = pages.source and links.target_key = pages.title_key
    where $sources is null or list_contains($sources, pages.source)
    group by all
    order by count(links.target_key) desc, pages.title_key
    limit $limit
"""


def most_linked(lake: Lake, limit: int, sources: Sequence[str] | None = None) -> list[tuple[int, str]]:
    """The title keys of the pages that others link to most, with their batches; those linked most first.

    Args:
        lake: whose.
        limit: the most pages.
        sources: only pages of these; of all if None.
    """
    with connect(lake, relations=("current_pages", "page_links")) as connection:
        values = {"sources": None if sources is None else list(sources), "limit": limit}
        return connection.execute(_MOST_LINKED, values).fetchall()


def in_turns(ordered: Iterable[_T], group: Callable[[_T], str | None]) -> list[_T]:
    """The first of each group, then the second of each, and so on, in the order that they had.

    Args:
        ordered: what is put in turns.
        group: gives the group of one; what has none (None) need not wait.
    """
    turns: Counter[str] = Counter()
    placed = []
    for one in ordered:
        turn = 0
        if (own := group(one)) is not None:
            turn = turns[own]
            turns[own] += 1
        placed.append((turn, one))
    return [one for _, one in sorted(placed, key=itemgetter(0))]


@dataclass(frozen=True)
class WorkOrder:
    """The order of some work, by links and predictions as they were first read. The rest keeps its own.

    Attributes:
        lake: whose.
    """

    lake: Lake

    def partitions(self, interrogation: Interrogation, names: Sequence[str]) -> Sequence[str]:
        """The batches, those that hold the most linked pages first."""
        return sorted(names, key=self._batch) if interrogation.is_space else names

    def items(self, items: Iterable[Item]) -> Sequence[Item]:
        """The items of a partition of one interrogation, those that matter most first."""
        some = list(items)
        if some and some[0].interrogation.is_space:
            return sorted(some, key=lambda item: self._pages.get(item.row["title_key"], _RANKED))
        if some and some[0].interrogation.wants.unpredicted:
            return self._least_sure(some)
        return some

    def _least_sure(self, items: Sequence[Item]) -> Sequence[Item]:
        batch = items[0].partition
        said = {row["title_key"]: row["probability"] for row in read_predictions(self.lake)(batch)}
        if not said:
            return items
        signals = rows_there(self.lake, PAGE_SIGNALS, batch, ["title_key", "infobox_template"])
        templates = {row["title_key"]: row["infobox_template"] for row in signals}
        ordered = sorted(items, key=lambda item: said.get(item.row["title_key"], 0.0))
        return in_turns(ordered, lambda item: templates.get(item.row["title_key"]))

    def _batch(self, name: str) -> int:
        return self._batches.get(name, _RANKED)

    @cached_property
    def _ranked(self) -> Sequence[tuple[int, str]]:
        return _most_linked(self.lake, self.lake.mark((PAGES, PAGE_LINKS)))

    @cached_property
    def _pages(self) -> Mapping[int, int]:
        return {key: rank for rank, (key, _) in enumerate(self._ranked)}

    @cached_property
    def _batches(self) -> Mapping[str, int]:
        """The rank of the most linked page of each batch."""
        found: dict[str, int] = {}
        for rank, (_, batch) in enumerate(self._ranked):
            found.setdefault(batch, rank)
        return found


@lru_cache(maxsize=1)
def _most_linked(lake: Lake, _mark: str) -> Sequence[tuple[int, str]]:
    return most_linked(lake, _RANKED)
