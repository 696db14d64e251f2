"""The parts of a page that evidence is taken from, as clean text, from the rows of its batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import Site

if TYPE_CHECKING:
    from holocron_assets.derive.evidence.chunks import Chunk

SQL_VALUES = ("source", "batch", "title", "title_key", "page_id", "revision_id")
"""Columns of `pages` that a query may name."""


QUOTABLE_PARTS = ("lead", "infobox", "categories", "text")
"""The parts with text of a page. Its lead is at hand, and to read its whole text takes a while."""


def query_values(pages: "Mapping[str, PageParts]") -> dict[str, Any]:
    """The values that a query about an item may name.

    Args:
        pages: the item's page by the name 'page', or a pair's by 'first' and 'second'.
    """
    values: dict[str, Any] = {}
    for role, page in pages.items():
        prefix = "" if role == "page" else f"{role}_"
        values |= {f"{prefix}{name}": value for name, value in page.values.items()}
    return values


@dataclass(frozen=True)
class PageParts:
    """One page, read by parts; each part is read when it is first needed.

    Attributes:
        page: its row of table `pages`.
        signals: its row of table `page_signals`.
        site: the wiki that it is on.
        chunk: the chunk of its text that is asked about, if the page is read in chunks.
    """

    page: Row
    signals: Row
    site: Site
    chunk: "Chunk | None" = None

    @property
    def values(self) -> dict[str, Any]:
        """The values that a query may name."""
        return {name: self.page.get(name) for name in SQL_VALUES}

    @cached_property
    def text(self) -> str:
        """The whole page as clean text."""
        # What reads markup takes a tenth of a second to import. Who only counts items reads none.
        from holocron_assets.derive.evidence.page_text import page_text  # noqa: PLC0415

        return page_text(self.page.get("wikitext") or "", self.site, self.signals["name"])

    def part(self, name: str) -> str:
        """A part as clean text, empty where the page has none.

        Args:
            name: 'lead', 'text', 'infobox', 'categories' or 'sections'.

        Raises:
            KeyError: there is no such part.
        """
        return {
            "lead": self._lead,
            "text": lambda: self.text,
            "infobox": self._infobox,
            "categories": lambda: "\n".join(self.signals["categories"]),
            "sections": self._sections,
        }[name]()

    def _lead(self) -> str:
        return self.signals["lead_excerpt"] or ""

    def _infobox(self) -> str:
        fields = [
            f"{field['name']}: {field['value']}" for field in self.signals["infobox_fields"] if field["value"]
        ]
        template = self.signals["infobox_template"]
        return "\n".join([f"template: {template}", *fields] if template else fields)

    def _sections(self) -> str:
        return "\n".join(
            f"{'  ' * max(part['level'] - 2, 0)}{part['title']}" for part in self.signals["sections"]
        )
