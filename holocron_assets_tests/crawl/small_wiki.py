"""A fake wiki of a few pages, some of which it cannot serve."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from crawl_rows import wiki_source
from fake_mediawiki import Behaviour, FakeWiki, Handler

from holocron_assets.crawl.fetch import BatchReader
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.readers import page_reader, wiki_client
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.paths import Lake

Pages = Mapping[str, str]


class Always(deque[Behaviour]):
    """A script that never ends."""

    def popleft(self) -> Behaviour:
        """The same behaviour for each request."""
        return self[0]


@dataclass
class SmallWiki:
    """Pages by title. It fails with HTTP status `failure` whenever it `refuses` the titles asked for.

    It does what `refusal` says in place of that, if there is one.
    """

    pages: Pages
    failure: int = 400
    refusal: Behaviour | None = None
    refuses: Callable[[set[str]], bool] = lambda _: False
    list_limit: int = 2
    fake: FakeWiki = field(default_factory=FakeWiki)

    @property
    def asked(self) -> list[str]:
        """Titles of pages whose text was asked for, in order."""
        return [title for request in self.fake.requests for title in _titles(request.parameters)]

    def listings(self) -> list[Mapping[str, str]]:
        """The requests for lists, in order."""
        return [request.parameters for request in self.fake.requests if "list" in request.parameters]

    def behave(self, handler: Handler) -> None:
        titles = _titles(handler.parameters)
        if self.refuses(set(titles)):
            if self.refusal:
                self.refusal(handler)
                return
            handler.reply(self.failure, b"cannot do that", {"Content-Type": "text/html"})
            return
        answer = json.dumps(self._answer(handler.parameters, titles)).encode()
        handler.reply(200, answer, {"Content-Type": "application/json; charset=utf-8"})

    def _answer(self, parameters: Mapping[str, str], titles: Sequence[str]) -> dict[str, Any]:
        match parameters.get("list"):
            case None:
                return {"batchcomplete": True, "query": {"pages": [self._page(title) for title in titles]}}
            case "random":
                return {"query": {"random": [{"title": title} for title in self.pages]}}
            case name:
                return self._list(name, parameters)

    def _list(self, name: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        start = int(parameters.get("place", 0))
        listed = [{"title": title} for title in self.pages][start : start + self.list_limit]
        more = {"continue": {"place": str(start + self.list_limit)}} if len(listed) == self.list_limit else {}
        return {"batchcomplete": True, "query": {name: listed}, **more}

    def _page(self, title: str) -> dict[str, Any]:
        text = self.pages.get(title)
        if text is None:
            return {"ns": 0, "title": title, "missing": True}
        slot = {"contentmodel": "wikitext", "content": text}
        revision = {"revid": 7, "timestamp": "2026-01-01T00:00:00Z", "slots": {"main": slot}}
        return {"ns": 0, "title": title, "pageid": 1, "revisions": [revision]}


@contextmanager
def small_wiki(pages: Pages | Iterable[str]) -> Iterator[SmallWiki]:
    """A running wiki."""
    texts = pages if isinstance(pages, Mapping) else dict.fromkeys(pages, "text")
    wiki = SmallWiki(texts)
    wiki.fake.script = Always([wiki.behave])
    with wiki.fake:
        yield wiki


def source_of_wiki(wiki: SmallWiki, **changes: Any) -> Source:
    return wiki_source(address=wiki.fake.api_url, **changes)


@contextmanager
def reading(lake: Lake, source: Source, batch: str) -> Iterator[BatchReader]:
    """The reader of a batch, as an asset has it, but for the links."""
    with page_reader(
        lake, source, batch, lambda _, **_flags: ([], [], None), lake.root / "politeness"
    ) as reader:
        yield reader


@contextmanager
def asking(lake: Lake, source: Source) -> Iterator[WikiClient]:
    """A client for a source's seeds."""
    with wiki_client(lake, source, f"{source.name}-seeds", lake.root / "politeness") as client:
        yield client


def _titles(parameters: Mapping[str, str]) -> list[str]:
    return parameters["titles"].split("|") if "titles" in parameters else []
