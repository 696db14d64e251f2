"""The API of a changing wiki: its site, lists of pages and of recent changes, and pages by title."""

import json
from bisect import bisect_left
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from local_wiki.changing import ChangingWiki, Entry
from local_wiki.objects import API_PATH, SITE, page_information, page_object

MOST_LISTED = 500
_LOGGED = {"delete": "delete/delete", "restore": "delete/restore", "move": "move/move"}


class ChangingApi:
    """Answers requests for a wiki.

    Attributes:
        texts_served: pages given with their text so far.
        readings: requests for recent changes so far.
    """

    def __init__(self, wiki: ChangingWiki) -> None:
        """Answer for `wiki`, by the clock of this process."""
        self.texts_served = 0
        self.readings = 0
        self._wiki = wiki

    def answer(self, path: str, parameters: Mapping[str, str]) -> bytes | None:
        """The JSON that the API answers; None for any other address."""
        if path != API_PATH:
            return None
        said = {"batchcomplete": True, **self._said(parameters)}
        if "curtimestamp" in parameters:
            said["curtimestamp"] = _time(datetime.now(UTC))
        return json.dumps(said, ensure_ascii=False).encode()

    def _said(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        if "titles" in parameters:
            with_text = "revisions" in parameters["prop"].split("|")
            titles = parameters["titles"].split("|")
            return {"query": {"pages": [self._page(title, with_text=with_text) for title in titles]}}
        match parameters.get("list"):
            case "allpages":
                return self._all_pages(parameters.get("apcontinue", ""))
            case "recentchanges":
                return self._recent_changes(parameters)
        return {"query": SITE}

    def _page(self, title: str, *, with_text: bool) -> dict[str, Any]:
        page = self._wiki.pages.get(title)
        if page is None:
            return {"ns": 0, "title": title, "missing": True}
        self.texts_served += with_text
        make = page_object if with_text else page_information
        newest = page.newest
        return make(title, page.page_id, newest.revision_id, _time(newest.at), newest.text)

    def _all_pages(self, first: str) -> dict[str, Any]:
        titles = sorted(self._wiki.pages)
        start = bisect_left(titles, first)
        end = start + MOST_LISTED
        listed = [{"ns": 0, "title": title} for title in titles[start:end]]
        return {"query": {"allpages": listed}, **_continued("apcontinue", titles[end : end + 1])}

    def _recent_changes(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The log from a moment on, oldest first, as `rcdir=newer` asks."""
        self.readings += 1
        log = self._wiki.log
        if "rccontinue" in parameters:
            start = int(parameters["rccontinue"].partition("|")[2]) - 1
        else:
            start = bisect_left(log, parameters.get("rcstart", ""), key=lambda entry: _time(entry.at))
        limit = parameters["rclimit"]
        end = start + (MOST_LISTED if limit == "max" else int(limit))
        following = [f"{entry.at:%Y%m%d%H%M%S}|{entry.entry_id}" for entry in log[end : end + 1]]
        listed = [_recent_change(entry) for entry in log[start:end]]
        return {"query": {"recentchanges": listed}, **_continued("rccontinue", following)}


def _recent_change(entry: Entry) -> dict[str, Any]:
    said = {
        "type": entry.kind,
        "ns": 0,
        "title": entry.title,
        "pageid": entry.page_id,
        "revid": entry.revision_id,
        "old_revid": 0,
        "rcid": entry.entry_id,
        "timestamp": _time(entry.at),
    }
    if entry.kind not in _LOGGED:
        return said
    kind, _, action = _LOGGED[entry.kind].partition("/")
    parameters = {"target_ns": 0, "target_title": entry.target} if entry.target else {}
    return said | {"type": "log", "logtype": kind, "logaction": action, "logparams": parameters}


def _continued(name: str, following: list[str]) -> dict[str, Any]:
    return {"continue": {name: following[0], "continue": "-||"}} if following else {}


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
