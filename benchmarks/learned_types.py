"""How often a model that a wiki taught types a page rightly, where the infobox is removed.

Run: python benchmarks/learned_types.py [--test]

Needs ../shared/wookieepedia. The pages are those of `sample_pages`, `lead_pages` and `category_pages` that
keep a lead, text or categories without their infobox, once each by page id. The true type of a page is what
the rules say with its infobox, where they are certain. The split is a rule, and was committed before anything
was tuned: a page is for the test if the hash of its page id is odd, else for development. `--test` scores the
half for the test; without it, the development half is scored by five folds.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import xxhash
from type_accuracy import Case, page_row, prose, rebuilt, rows

from holocron_assets.lake.declaration.schema import Row

DEVELOPMENT, TEST = "development", "test"


class WikiPage(NamedTuple):
    """A page of the wiki.

    Attributes:
        page_id: its page id, or its title where no file has its id.
        shown: its row of table `pages` with the infobox.
        hidden: the row without the infobox.
    """

    page_id: str
    shown: Row
    hidden: Row

    @property
    def half(self) -> str:
        """The half of the split that it is in."""
        return (DEVELOPMENT, TEST)[xxhash.xxh64_intdigest(self.page_id.encode()) % 2]


def wiki_pages() -> Iterator[WikiPage]:
    """Every page that keeps a lead, text or categories without its infobox, once."""
    with_infobox = {row["title"]: row for row in rows("infobox_pages")}
    seen: set[str] = set()
    for name in ("sample_pages", "lead_pages", "category_pages"):
        for row in rows(name):
            known: dict[str, Any] = {**with_infobox.get(row["title"], {}), **row}
            page_id = str(known.get("pageid", known["title"]))
            template = known.get("infobox_template")
            if template is None or page_id in seen or not (text := prose(row, template)):
                continue
            seen.add(page_id)
            shown, hidden = (
                page_row(Case(known["title"], template, wikitext, infobox_hidden=wikitext is text))
                for wikitext in (rebuilt(known), text)
            )
            yield WikiPage(page_id, shown, hidden)
