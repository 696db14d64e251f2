"""Turning `meta=siteinfo` of the MediaWiki API into a row of table `sites`. Pure."""

import re
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.mediawiki.values import Number, TimeInUtc
from holocron_assets.lake.titles import case_sensitive_namespaces

PROPERTIES = "general|namespaces|namespacealiases|interwikimap|statistics"


class _General(BaseModel):
    sitename: str
    case: Literal["first-letter", "case-sensitive"]
    generator: str | None = None
    base: str | None = None
    articlepath: str | None = None
    lang: str | None = None
    time: TimeInUtc | None = None


class _Namespace(BaseModel):
    id: Number
    name: str
    canonical: str = ""
    case: str | None = None


class _Alias(BaseModel):
    id: Number
    alias: str


class _Interwiki(BaseModel):
    prefix: str
    localinterwiki: bool = False


class _Statistics(BaseModel):
    articles: Number | None = None
    pages: Number | None = None


class _SiteInfo(BaseModel):
    general: _General
    namespaces: dict[str, _Namespace]
    namespacealiases: list[_Alias] = []
    interwikimap: list[_Interwiki] = []
    statistics: _Statistics = _Statistics()


# Texts come in slots (https://www.mediawiki.org/wiki/API:Revisions) from this version on.
_OLDEST = (1, 32)
_VERSION = re.compile(r"MediaWiki (\d+)\.(\d+)")


def too_old(generator: str | None) -> str | None:
    """Why the pages of a wiki with this software cannot be read; None if they can, or nobody knows."""
    found = _VERSION.match(generator or "")
    if found is None or (int(found[1]), int(found[2])) >= _OLDEST:
        return None
    return f"its software is {generator}; Holocron needs MediaWiki 1.32 or newer, or an export of the wiki"


def site_row(answered: JsonObject, source: str, fetched_at: datetime) -> dict[str, Any]:
    """Make the row of one wiki.

    Args:
        answered: the `query` object of `meta=siteinfo` with the properties in `PROPERTIES`.
        source: name of the source.
        fetched_at: when the wiki answered.

    Returns:
        A row of table `sites`.

    Raises:
        ValueError: a value is missing that reading titles needs; the error names it.
    """
    info = _SiteInfo.model_validate(answered)
    cases = {item.id: item.case for item in info.namespaces.values()}
    return {
        "source": source,
        "site_name": info.general.sitename,
        "generator": info.general.generator,
        "base_url": info.general.base,
        "title_case": info.general.case,
        "namespaces": [_namespace(item, info) for item in info.namespaces.values()],
        "interwiki_prefixes": [item.prefix for item in info.interwikimap if not item.localinterwiki],
        "article_count": info.statistics.articles,
        "page_count": info.statistics.pages,
        "fetched_at": fetched_at,
        "language": info.general.lang,
        "wiki_time": info.general.time,
        "case_sensitive_namespaces": case_sensitive_namespaces(info.general.case, cases),
        "article_path": info.general.articlepath,
        "own_prefixes": [item.prefix for item in info.interwikimap if item.localinterwiki] or None,
    }


def _namespace(namespace: _Namespace, info: _SiteInfo) -> dict[str, Any]:
    aliases = [item.alias for item in info.namespacealiases if item.id == namespace.id]
    return {
        "id": namespace.id,
        "name": namespace.name,
        "canonical": namespace.canonical,
        "aliases": aliases,
    }
