"""A fake wiki of files, as its API describes them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any

from fake_mediawiki import FakeWiki, Handler
from small_wiki import Always


@dataclass
class WikiOfFiles:
    """Files by title, each with its bytes, and the archive names of versions that were replaced.

    Of the `lost` ones the wiki has a page, and no original any more.
    """

    files: dict[str, bytes]
    list_limit: int = 2
    archived: dict[str, str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    fake: FakeWiki = field(default_factory=FakeWiki)

    @property
    def asked(self) -> list[str]:
        """Titles that were asked about, in order."""
        asked = [request.parameters.get("titles", "") for request in self.fake.requests]
        return [title for titles in asked if titles for title in titles.split("|")]

    def behave(self, handler: Handler) -> None:
        said = json.dumps(self._answer(handler.parameters)).encode()
        handler.reply(200, said, {"Content-Type": "application/json; charset=utf-8"})

    def _answer(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        if parameters.get("list") == "allimages":
            start = int(parameters.get("place", 0))
            titles = sorted(self.files)[start : start + self.list_limit]
            listed = [{"title": title, "ns": 6, **self._info(title)} for title in titles]
            is_more = start + self.list_limit < len(self.files)
            more = {"continue": {"place": str(start + self.list_limit)}} if is_more else {}
            return {"query": {"allimages": listed}, **more}
        titles = parameters["titles"].split("|")
        answer = {"query": {"pages": [self._page(title) for title in titles]}}
        if (
            titles[0] in self.files and len(titles) == 1
        ):  # as MediaWiki does, which goes on with earlier versions
            return {**answer, "continue": {"iistart": f"20{len(self.fake.requests):02}-01-01T00:00:00Z"}}
        return {"batchcomplete": True, **answer}

    def _page(self, title: str) -> dict[str, Any]:
        if title not in self.files:
            return {"ns": 6, "title": title, "missing": True, "imagerepository": ""}
        old = [{"archivename": self.archived[title]}] if title in self.archived else []
        return {"ns": 6, "title": title, "pageid": 1, "imageinfo": [self._info(title), *old]}

    def _info(self, title: str) -> dict[str, Any]:
        if title in self.lost:
            return {"filemissing": True}
        content = self.files[title]
        return {
            "timestamp": "2026-01-01T00:00:00Z",
            "size": len(content),
            "url": f"http://files.example/{title.partition(':')[2].replace(' ', '_')}",
            "sha1": sha1(content).hexdigest(),  # noqa: S324 - what MediaWiki states
            "mime": "image/png",
        }


@contextmanager
def wiki_of_files(**files: bytes) -> Iterator[WikiOfFiles]:
    """A running wiki; its files are named without namespace and suffix."""
    wiki = WikiOfFiles({f"File:{name}.png": content for name, content in files.items()})
    wiki.fake.script = Always([wiki.behave])
    with wiki.fake:
        yield wiki
