"""All that is to be said of why a page is where it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.operations.why.answers import Answer
from holocron_assets.operations.why.asking import why_asked
from holocron_assets.operations.why.fetching import Page, why_fetched, why_given_up
from holocron_assets.operations.why.judging import why_entity, why_typed


def explain(
    lake: Lake,
    source: Source,
    report: Mapping[str, Any],
    *,
    politeness_folder: Path,
    settings: DispatchSettings,
) -> list[Answer]:
    """Why a page was fetched or not, is of its type, is an entity or none, and is asked about or not yet.

    Args:
        lake: what is known.
        source: the page's source.
        report: what is known of the page; see `reports.page_report`.
        politeness_folder: what processes share about hosts.
        settings: how work is dispatched to models.
    """
    page = Page(source, report["title"], title_key(source.name, report["title"]), report)
    return [
        why_fetched(lake, page, politeness_folder),
        *why_typed(page),
        *why_entity(page),
        *why_given_up(page, PAGES.name),
        *why_asked(lake, page, settings),
    ]
