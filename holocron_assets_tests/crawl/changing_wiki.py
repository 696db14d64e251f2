"""A fake wiki that people work on: it lists its changes as MediaWiki does, and can forget them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from crawl_rows import wiki_source
from fake_mediawiki import FakeWiki

from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.clock import utc_now

SITE: Mapping[str, Any] = {
    "general": {"sitename": "Changing", "case": "first-letter", "generator": "MediaWiki 1.43"},
    "namespaces": {
        "0": {"id": 0, "name": ""},
        "1": {"id": 1, "name": "Talk", "canonical": "Talk"},
        "10": {"id": 10, "name": "Template", "canonical": "Template"},
        "14": {"id": 14, "name": "Category", "canonical": "Category"},
    },
}


@dataclass
class ChangingWiki:
    """Pages by title, and what happened to them. Its clock may be wrong by `clock_ahead`."""

    clock_ahead: timedelta = timedelta()
    list_limit: int = 500
    fake: FakeWiki = field(default_factory=FakeWiki)
    pages: dict[str, tuple[int, str]] = field(default_factory=dict)
    deleted: dict[str, tuple[int, str]] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    revisions: int = 0
    numbers: int = 0

    def edit(self, title: str, text: str = "text", *, listed: bool = True) -> int:
        """Save a revision; give its id. A revision that is not `listed` is in no list of changes."""
        self.revisions += 1
        kind = "edit" if title in self.pages else "new"
        self.pages[title] = (self.revisions, text)
        if listed:
            self._list(type=kind, title=title, revid=self.revisions)
        return self.revisions

    def delete(self, title: str, *, listed: bool = True) -> None:
        self.deleted[title] = self.pages.pop(title)
        if listed:
            # As MediaWiki does: the edits of a deleted page leave the list.
            self.entries = [one for one in self.entries if one["title"] != title or one["type"] == "log"]
            self._log("delete", "delete", title)

    def restore(self, title: str) -> None:
        self.pages[title] = self.deleted.pop(title)
        self._log("delete", "restore", title)

    def move(self, title: str, target: str, *, leaves_redirect: bool = True) -> None:
        text = self.pages.pop(title)[1]
        self.revisions += 1
        self.pages[target] = (self.revisions, text)
        parameters = {"target_title": target, "suppressredirect": not leaves_redirect}
        self._log("move", "move", title, revid=self.revisions, logparams=parameters)
        if leaves_redirect:
            self.edit(title, f"#REDIRECT [[{target}]]", listed=False)

    def protect(self, title: str) -> None:
        revision = self.edit(title, self.pages[title][1], listed=False)
        self._log("protect", "protect", title, revid=revision)

    def forget(self, *, older_than: datetime) -> None:
        """Let entries leave the list."""
        self.entries = [entry for entry in self.entries if _time(entry["timestamp"]) >= older_than]

    def now(self) -> datetime:
        return (utc_now() + self.clock_ahead).replace(microsecond=0)

    def asked(self, **parameters: str) -> list[Mapping[str, str]]:
        """The requests so far that had these parameters."""
        requests = [request.parameters for request in self.fake.requests]
        return [said for said in requests if parameters.items() <= said.items()]

    def fetched(self) -> list[str]:
        """Titles of pages whose text was asked for, in order."""
        requests = [request.parameters for request in self.fake.requests]
        texts = [said["titles"].split("|") for said in requests if "revisions" in said.get("prop", "")]
        return [title for titles in texts for title in titles]

    def answer(self, asked: Mapping[str, str]) -> dict[str, Any]:
        said = {"curtimestamp": _text(self.now())} if "curtimestamp" in asked else {}
        if asked.get("meta") == "siteinfo":
            general = {**SITE["general"], "time": _text(self.now())}
            return {**said, "batchcomplete": True, "query": {**SITE, "general": general}}
        match asked.get("list"):
            case "recentchanges":
                return said | self._recent_changes(asked)
            case "allpages":
                return said | {"query": {"allpages": [{"title": title} for title in sorted(self.pages)]}}
            case "random":
                return said | {"query": {"random": [{"title": title} for title in sorted(self.pages)]}}
        found = [self._page(title, asked["prop"]) for title in asked["titles"].split("|")]
        return said | {"batchcomplete": True, "query": {"pages": found}}

    def _recent_changes(self, asked: Mapping[str, str]) -> dict[str, Any]:
        assert (asked["rcdir"], asked["rctype"]) == ("newer", "edit|new|log")
        limit = self.list_limit if asked["rclimit"] == "max" else int(asked["rclimit"])
        start = _time(asked["rcstart"]) if "rcstart" in asked else datetime.min.replace(tzinfo=UTC)
        number = int(asked.get("rccontinue", "|0").split("|")[1])
        fitting = [
            entry for entry in self.entries if _time(entry["timestamp"]) >= start and entry["rcid"] >= number
        ]
        more = {}
        if len(fitting) > limit:
            place = f"{fitting[limit]['timestamp']}|{fitting[limit]['rcid']}"
            more = {"continue": {"rccontinue": place, "continue": "-||"}}
        return {"batchcomplete": True, "query": {"recentchanges": fitting[:limit]}, **more}

    def _page(self, title: str, properties: str) -> dict[str, Any]:
        namespace = 1 if title.startswith("Talk:") else 0
        if title not in self.pages:
            return {"ns": namespace, "title": title, "missing": True}
        revision_id, text = self.pages[title]
        page = {"ns": namespace, "title": title, "pageid": sum(map(ord, title))}
        if properties == "info":
            return {**page, "lastrevid": revision_id}
        slot = {"contentmodel": "wikitext", "content": text}
        revision = {"revid": revision_id, "timestamp": "2026-01-01T00:00:00Z", "slots": {"main": slot}}
        return {**page, "revisions": [revision]}

    def _log(self, log: str, action: str, title: str, **more: Any) -> None:
        said = {"revid": 0, "logparams": {}, **more}
        self._list(type="log", title=title, logtype=log, logaction=action, **said)

    def _list(self, **entry: Any) -> None:
        self.numbers += 1
        self.entries.append({"rcid": self.numbers, "timestamp": _text(self.now()), "ns": 0, **entry})


@contextmanager
def changing_wiki(titles: Iterable[str] = (), **settings: Any) -> Iterator[ChangingWiki]:
    """A running wiki that holds some pages, none of which is in its list of changes."""
    wiki = ChangingWiki(**settings)
    wiki.fake.answer = wiki.answer
    for title in titles:
        wiki.edit(title, listed=False)
    with wiki.fake:
        yield wiki


def source_of(wiki: ChangingWiki, **changes: Any) -> Source:
    return wiki_source(address=wiki.fake.api_url, **changes)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
