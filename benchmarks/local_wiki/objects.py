"""Objects of MediaWiki's API, as its format version 2 has them."""

from hashlib import sha1
from typing import Any

API_PATH = "/api.php"
SITE = {
    "general": {
        "sitename": "Benchmark",
        "case": "first-letter",
        "generator": "MediaWiki 1.43.0",
        "base": "http://127.0.0.1/wiki/Main_Page",
    },
    "namespaces": {
        "0": {"id": 0, "name": ""},
        "14": {"id": 14, "name": "Category", "canonical": "Category"},
    },
}
"""The `query` object of `meta=siteinfo`."""


def page_object(title: str, page_id: int, revision_id: int, at: str, text: str) -> dict[str, Any]:
    """A page with its newest revision, its information and its categories.

    Args:
        title: of namespace 0.
        page_id: the page's.
        revision_id: the newest revision's.
        at: when that was made, as the API writes times.
        text: its wikitext.
    """
    categories = [link.partition("]]")[0] for link in text.split("[[Category:")[1:]]
    return {
        **page_information(title, page_id, revision_id, at, text),
        "revisions": [
            {
                "revid": revision_id,
                "parentid": 0,
                "timestamp": at,
                "size": len(text.encode()),
                "sha1": sha1(text.encode(), usedforsecurity=False).hexdigest(),
                "slots": {
                    "main": {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": text}
                },
            }
        ],
        "categories": [{"ns": 14, "title": f"Category:{name}"} for name in categories],
    }


def page_information(title: str, page_id: int, revision_id: int, at: str, text: str) -> dict[str, Any]:
    """A page as `prop=info` describes it (arguments as for `page_object`)."""
    return {
        "pageid": page_id,
        "ns": 0,
        "title": title,
        "contentmodel": "wikitext",
        "pagelanguage": "en",
        "touched": at,
        "lastrevid": revision_id,
        "length": len(text.encode()),
        **({"redirect": True} if text.startswith("#REDIRECT") else {}),
    }
