"""A wiki that people work on, whose pages keep their ids when they are moved or restored. It can fail."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from broken_server import EVERYTHING
from changing_wiki import ChangingWiki
from fake_mediawiki import Handler, api
from model import EMBLEM, Kind, Page
from waited import Waited

TEXTS: Mapping[Kind, str] = {
    "pilot": f"{{{{Character|species=human|emblem={EMBLEM}}}}}\n'''NAME''' was a female human pilot.",
    "planet": "{{Planet}}\n'''NAME''' is a cold planet.",
    "starship": "{{Starship}}\n'''NAME''' was a starship.[[Category:Gleanings]]",
    "vague": "'''NAME''' came and went.[[Category:Gleanings]]",
}
FAILURES = (
    "500",
    "503 until last year",
    "429 for two seconds",
    "maxlag with status 200",
    "an error page with status 200",
    "a body that breaks off",
    "JSON that breaks off",
    "a reset without a word",
)
"""What it may answer for a while: all of it is over at once, so that no history waits for a deadline."""
PROPOSING = 2
"""The edition of pages in which editors propose a merger. The model is asked, and says yes."""
CONTROL = "Control"
"""What it draws at random. It is no page of a history: asked for, it shows whether the wiki works."""


@dataclass
class HistoryWiki(ChangingWiki):
    """Pages as the model knows them, by title.

    Attributes:
        waited: the time that passed for it without being waited for.
        standing: those that stand.
        gone: deleted ones, which can be restored.
        given: titles whose texts were given, in order, without the one that is drawn at random.
        log: what was done in the history, for whoever reads of a failure.
    """

    waited: Waited = field(kw_only=True)
    standing: dict[str, Page] = field(default_factory=dict)
    gone: dict[str, Page] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.waited.seconds)

    def save(self, title: str, kind: Kind, edition: int, links: tuple[str, ...]) -> None:
        """Save a page; a redirect becomes a page of its own."""
        before = self.standing.get(title) or self._begun(title)
        page = replace(before, kind=kind, edition=edition, links=links, target=None)
        self.standing[title] = replace(page, revision=self.edit(title, _text(page)))
        self.log.append(f"  {title} is {self.standing[title]}")

    def delete(self, title: str, *, listed: bool = True) -> None:
        super().delete(title, listed=listed)
        self.gone[title] = self.standing.pop(title)
        self.log.append(f"  {title} is deleted")

    def restore(self, title: str) -> None:
        super().restore(title)
        self.standing[title] = self.gone.pop(title)
        self.log.append(f"  {title} is restored")

    def move(self, title: str, target: str, *, leaves_redirect: bool = True) -> None:
        super().move(title, target, leaves_redirect=leaves_redirect)
        self.log.append(f"  {title} is moved to {target}")
        self.gone.pop(target, None)
        self.standing[target] = replace(self.standing.pop(title), revision=self.pages[target][0])
        if leaves_redirect:
            self.standing[title] = replace(self._begun(title), revision=self.pages[title][0], target=target)

    def _begun(self, title: str) -> Page:
        self.gone.pop(title, None)
        return Page(next(self._ids), 0, title)

    def fail(self, how: str, times: int, title: str | None) -> None:
        """Fail the next so many requests in a way of `FAILURES`; only those about a page, if it is named."""
        left = count(times, -1)

        def behave(handler: Handler) -> None:
            is_about_it = title is None or title in handler.parameters.get("titles", "").split("|")
            (EVERYTHING[how] if is_about_it and next(left) > 0 else api(self.answer))(handler)

        self.fake.behave = behave

    def recover(self) -> None:
        self.fake.behave = None

    def answer(self, asked: Mapping[str, str]) -> dict[str, Any]:
        if asked.get("list") == "random":
            return {"query": {"random": [{"title": CONTROL}]}}
        if "revisions" in asked.get("prop", "") and asked["titles"] != CONTROL:
            self.given.extend(asked["titles"].split("|"))
        return super().answer(asked)

    def _page(self, title: str, properties: str) -> dict[str, Any]:
        page = super()._page(title, properties)
        if title not in self.standing:
            return page
        redirect: Mapping[str, bool] = {"redirect": True} if self.standing[title].target else {}
        return {**page, "pageid": self.standing[title].page_id, **redirect}


def _text(page: Page) -> str:
    """The text of a page. That of an edition proposes to merge the page with the first that it links to."""
    links = "".join(f" See [[{title}]]." for title in page.links)
    proposed = page.links[:1] if page.edition == PROPOSING else ()
    notice = "".join(f"{{{{Merge|{title}}}}}\n" for title in proposed)
    return f"{notice}{TEXTS[page.kind].replace('NAME', page.born)} Edition {page.edition}.{links}"
