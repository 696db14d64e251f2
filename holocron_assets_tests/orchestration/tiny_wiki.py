"""A live wiki of a few pages on loopback, for jobs and commands that ask one."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fake_crawl import page_object
from fake_mediawiki import FakeWiki
from sample_holocron import Holocron

from holocron_assets.lake.place.clock import utc_now

TEXTS = {
    "Lamp": "{{Character|name=Lamp}}\n'''Lamp''' was a female human pilot who knew [[Shade]].",
    "Shade": "'''Shade''' is a planet. [[Category:Planets]]",
}
_SITE = {
    "general": {
        "sitename": "Tiny",
        "case": "first-letter",
        "generator": "MediaWiki 1.43",
        "base": "http://tiny",
    },
    "namespaces": {
        "0": {"id": 0, "name": ""},
        "10": {"id": 10, "name": "Template", "canonical": "Template"},
        "14": {"id": 14, "name": "Category", "canonical": "Category"},
    },
}


def tiny_wiki(texts: Mapping[str, str] = TEXTS, *, address: str = "127.0.0.1") -> FakeWiki:
    """A wiki that answers for its site and for pages by title, once it is entered."""

    def answer(asked: Mapping[str, str]) -> dict[str, Any]:
        if asked.get("meta") == "siteinfo":
            return {"batchcomplete": True, "query": _SITE}
        if asked.get("list") == "recentchanges":
            nothing_changed = {
                "curtimestamp": f"{utc_now():%Y-%m-%dT%H:%M:%SZ}",
                "query": {"recentchanges": []},
            }
            return {"batchcomplete": True, **nothing_changed}
        titles = asked["titles"].split("|")
        return {"batchcomplete": True, "query": {"pages": [_page(title, texts) for title in titles]}}

    return FakeWiki(answer=answer, address=address)


def add_tiny_source(  # noqa: PLR0913 - each says one line of the file
    holocron: Holocron,
    wiki: FakeWiki,
    *,
    enabled: bool = False,
    polite: str = "requests_per_second: 100.0",
    titles: Iterable[str] = ("Lamp",),
    more: str = "",
) -> None:
    """Write the source file of a tiny wiki; its one seed is "Lamp", unless `titles` are given."""
    holocron.sources_folder.mkdir(parents=True, exist_ok=True)
    (holocron.sources_folder / "tiny.yaml").write_text(
        f"name: tiny\nenabled: {str(enabled).lower()}\nkind: mediawiki_api\naddress: {wiki.api_url}\n"
        f"private_hosts: [{wiki.address}]\nseeds: {{titles: [{', '.join(titles)}]}}\n"
        f"politeness: {{contact: test@example.org, {polite}}}\n{more}",
        encoding="utf-8",
    )


def copy_of_export(export: Path, target: Path, *, pages: int, cut: bool = False) -> Path:
    """An export's first pages: closed as it should be, or broken off in the middle of the next page."""
    text = export.read_text(encoding="utf-8")
    end = 0
    for _ in range(pages):
        end = text.index("</page>", end) + len("</page>")
    rest = text[end : end + 400] if cut else "\n</mediawiki>\n"
    target.write_text(text[:end] + rest, encoding="utf-8")
    return target


def _page(title: str, texts: Mapping[str, str]) -> dict[str, Any]:
    if title not in texts:
        return {"ns": 0, "title": title, "missing": True}
    return page_object(title, texts[title], pageid=sorted(texts).index(title) + 1)
