"""A wiki that does not change, served by a process of its own, which prints its port.

Run in benchmarks/: python -m local_wiki.still --pages 2000 --characters 3000 --latency 0.05
"""

import argparse
import asyncio
import json
from collections.abc import Mapping
from typing import Any

from local_wiki.objects import API_PATH, SITE, page_object
from local_wiki.server import WikiServer
from local_wiki.texts import text_of, title_of

MOST_LISTED = 500
_WRITTEN_AT = "2026-01-01T00:00:00Z"


class StillWiki:
    """Answers for the site, for lists of all pages, and for pages by title. Everything is encoded once."""

    def __init__(self, pages: int, characters: int) -> None:
        """Make the pages, of about so many characters each."""
        self._titles = sorted(title_of(number) for number in range(pages))
        objects = (_page(number, pages, characters) for number in range(pages))
        self._encoded = {page["title"]: _encoded(page) for page in objects}

    def answer(self, path: str, parameters: Mapping[str, str]) -> bytes | None:
        """The JSON that the API answers; None for any other address."""
        if path != API_PATH:
            return None
        if "titles" in parameters:
            found = [self._encoded.get(title, b"") for title in parameters["titles"].split("|")]
            return b'{"batchcomplete":true,"query":{"pages":[%s]}}' % b",".join(found)
        if parameters.get("list") == "allpages":
            return self._listed(int(parameters.get("apcontinue", "0")))
        return _encoded({"batchcomplete": True, "query": SITE})

    def _listed(self, start: int) -> bytes:
        titles = self._titles[start : start + MOST_LISTED]
        end = start + len(titles)
        more = {"continue": {"apcontinue": str(end), "continue": "-||"}} if end < len(self._titles) else {}
        found = [{"ns": 0, "title": title} for title in titles]
        return _encoded({"batchcomplete": True, **more, "query": {"allpages": found}})


def _page(number: int, pages: int, characters: int) -> dict[str, Any]:
    text = text_of(number, 1, pages=pages, characters=characters)
    return page_object(title_of(number), 1 + number, 1001 + number, _WRITTEN_AT, text)


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


async def _serve(wiki: StillWiki, latency_seconds: float) -> None:
    server, port = await WikiServer(wiki.answer, latency_seconds=latency_seconds).start()
    print(port, flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, required=True, help="pages of the wiki")
    parser.add_argument("--characters", type=int, required=True, help="about how long each page is")
    parser.add_argument("--latency", type=float, required=True, help="seconds from a request to its answer")
    options = parser.parse_args()
    asyncio.run(_serve(StillWiki(options.pages, options.characters), options.latency))


if __name__ == "__main__":
    main()
