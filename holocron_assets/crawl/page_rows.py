"""What a row of table `pages` holds of any page, whether a wiki's API or an export gave it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.tables import PAGES


class Extract(Protocol):
    """Reads links, categories and the redirect target out of wikitext."""

    def __call__(self, wikitext: str, /, *, is_redirect: bool) -> tuple[list[str], list[str], str | None]:
        """Read a text; `is_redirect` is whether the wiki says that its page is a redirect."""


@dataclass(frozen=True)
class Asked:
    """What is known of a page without its content: columns of table `pages`.

    Earlier attempts are added by `fetch`.
    """

    source: str
    batch: str
    position: int
    requested_title: str
    depth: int
    discovered_from: str | None
    fetched_at: datetime
    run_id: str
    attempts: int = 1
    http_status: int | None = None

    def row(self, status: str, error: str | None) -> dict[str, Any]:
        """A row with all of this; the columns of the page's content are empty."""
        key = title_key(self.source, self.requested_title)
        return {
            **dict.fromkeys(column.name for column in PAGES.columns),
            **vars(self),
            "requested_key": key,
            "title": self.requested_title,
            "title_key": key,
            "namespace": 0,
            "status": status,
            "error": f"{self.requested_title}: {error}" if error else None,
        }


def text_columns(
    text: str, links: Iterable[str], categories: Iterable[str], redirect_target: str | None
) -> dict[str, Any]:
    """The columns of a page's text."""
    return {
        "wikitext": text,
        "size_bytes": len(text.encode("utf-8")),
        "content_hash": content_hash(text),
        "links": list(dict.fromkeys(links)),
        "categories": list(dict.fromkeys(categories)),
        "redirect_target": redirect_target,
    }
