"""What is known of a page, and why it is as it is, for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from holocron_assets.crawl.sources.files import read_any_sources
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.named_pages import composed, find_page, nearest_pages
from holocron_assets.operations.why.explaining import explain
from holocron_assets.operations.why.page_report import page_report
from holocron_assets.settings import sources_folder


class NoPageError(PermanentError, LookupError):
    """No page is called so; the message names those that are nearest."""


def all_sources() -> list[Source]:
    """Every source of pages whose file can be read."""
    known, _ = read_any_sources(sources_folder())
    return [source for source in known.values() if isinstance(source, Source)]


def reports_on(lake: Lake, sources: Sequence[Source], title: str, source: str | None) -> list[dict[str, Any]]:
    """What is known of the pages of a title, one of each source that has it.

    Args:
        lake: what is known.
        sources: all sources of pages.
        title: as a person writes it.
        source: only of this source.

    Raises:
        NoPageError: there is none.
    """
    found = find_page(lake, title, source)
    if not found:
        raise NoPageError(f"no page is called {composed(title)!r}.{nearest_pages(lake, title, source)}")
    return [page_report(lake, sources, one, name) for one, name in found]


def why(lake: Lake, sources: Sequence[Source], report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Why a page was fetched, has its type, is an entity and was asked about; or why not.

    Args:
        lake: what is known.
        sources: all sources of pages.
        report: what is known of the page, by `reports_on`.
    """
    known = {source.name: source for source in sources}
    if report["source"] not in known:
        raise NoPageError(f"source {report['source']!r} has no file any more, so nothing explains its pages")
    return [asdict(answer) for answer in explain(lake, known[report["source"]], report)]
