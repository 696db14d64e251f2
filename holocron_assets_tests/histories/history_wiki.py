"""A wiki that people work on, whose pages keep their ids when they are moved or restored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from changing_wiki import ChangingWiki


@dataclass
class HistoryWiki(ChangingWiki):
    """Page ids by title, of pages that stand and of deleted ones."""

    ids: dict[str, int] = field(default_factory=dict)
    deleted_ids: dict[str, int] = field(default_factory=dict)
    _next_id: Any = field(default_factory=lambda: count(1))

    def edit(self, title: str, text: str = "text", *, listed: bool = True) -> int:
        if title not in self.pages:
            self.ids[title] = next(self._next_id)
            self.deleted.pop(title, None)
        return super().edit(title, text, listed=listed)

    def delete(self, title: str, *, listed: bool = True) -> None:
        super().delete(title, listed=listed)
        self.deleted_ids[title] = self.ids.pop(title)

    def restore(self, title: str) -> None:
        super().restore(title)
        self.ids[title] = self.deleted_ids.pop(title)

    def move(self, title: str, target: str, *, leaves_redirect: bool = True) -> None:
        self.ids[target] = self.ids.pop(title)
        self.deleted.pop(target, None)
        super().move(title, target, leaves_redirect=leaves_redirect)

    def _page(self, title: str, properties: str) -> dict[str, Any]:
        page = super()._page(title, properties)
        if title not in self.pages:
            return page
        is_redirect = self.pages[title][1].startswith("#REDIRECT")
        redirect: Mapping[str, bool] = {"redirect": True} if is_redirect else {}
        return {**page, "pageid": self.ids[title], **redirect}
