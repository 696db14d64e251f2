"""All explanations about a page."""

from collections.abc import Mapping
from typing import Any

from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.why.answers import Answer
from holocron_assets.operations.why.asking import why_asked
from holocron_assets.operations.why.fetching import Page, why_fetched, why_given_up
from holocron_assets.operations.why.judging import why_entity, why_typed
from holocron_assets.settings import dispatch_file, politeness_folder


def explain(lake: Lake, source: Source, report: Mapping[str, Any]) -> list[Answer]:
    """Why a page was fetched, has its type, is an entity and is asked about; or why not.

    Args:
        lake: the lake.
        source: the page's source.
        report: the known rows about the page; see `page_report`.
    """
    page = Page(source, report["title"], title_key(source.name, report["title"]), report)
    return [
        why_fetched(lake, page, politeness_folder()),
        *why_typed(page),
        *why_entity(page),
        *why_given_up(page),
        *why_asked(lake, page, read_dispatch_settings(dispatch_file())),
    ]
