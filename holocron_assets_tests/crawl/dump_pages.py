"""What an export holds: all of its pages, and the pages that rows of table `pages` were made from."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from holocron_assets.crawl.dumps.export import ListedPage, listed_page, site_rules, wanted_pages
from holocron_assets.crawl.dumps.pages import DumpPage, parse_page
from holocron_assets.crawl.dumps.parser import ALL_PAGES, NO_PAGES, PageParser, parse_pages, read_chunks
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import DEFAULT_SITE


def read_pages(path: Path, start: int = 0, stop: int | None = None) -> Iterator[DumpPage]:
    """The pages of an export in its order, from one ordinal up to another."""
    wanted = ALL_PAGES[start:stop]
    if wanted:
        yield from wanted_pages(path, read_chunks(path), PageParser(wanted), wanted, wanted[-1])


def list_pages(path: Path) -> Iterator[ListedPage]:
    """The pages of an export in its order, without their texts."""
    parser = PageParser(NO_PAGES)
    with closing(parse_pages(path, read_chunks(path), parser)) as parsed:
        for _ in parsed:
            yield from (listed_page(page, site_rules(parser.site)) for page in parser.pages)
            parser.pages.clear()
            parser.starts.clear()


def exported_page(row: Row) -> DumpPage:
    """The page of an export that a row of table `pages` was made from."""
    payload = json.loads(row["payload"])
    page = parse_page(payload["ordinal"], payload["page"], row["wikitext"], DEFAULT_SITE)
    error = row["error"].removeprefix(f"{row['requested_title']}: ") if row["error"] else None
    # the title rules of its wiki are not known here, but the row holds their results
    return replace(page, title=row["title"], namespace=row["namespace"], status=row["status"], error=error)
