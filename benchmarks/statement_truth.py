"""What is true of pages, by their infobox and by readers, and what pages say: for `statement_precision.py`.

An infobox is truth only where the page's lead says it too: where one sentence names the page's subject and
the value. What an infobox does not mention may be true all the same; readers of a marked sheet say whether.
"""

import gzip
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from fact_agreement import box_wikitext, shared_rows
from model_accuracy import Page
from type_accuracy import SCORING_FILE, SHARED, SITE, SOURCE

from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.entities.facts.sentences import PageRead, mentions
from holocron_assets.entities.facts.vocabulary import Kind, load_vocabulary
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.signals.infobox.values import infobox_values

Verdict = Literal["right", "turned", "other", "unstated"]
"""By an infobox: it says so; it says so the other way round; it says something else of this key; nothing."""

_SUFFIX = re.compile(r"\s*\([^)]*\)$")
_WORD = re.compile(r"[\w'\u2019.-]+")
_LONGEST_NAME = 9
_SHORTEST_NAME = 3


@dataclass(frozen=True)
class Statement:
    """What a design says of a page's subject.

    Attributes:
        page: title of the page.
        kind: 'fact' or 'relation'.
        key: key of the vocabulary, as seen from the page's subject.
        other: the fact's value, or the other entity's name.
        evidence: the sentence or the quote.
    """

    page: str
    kind: Kind
    key: str
    other: str
    evidence: str

    @property
    def said(self) -> tuple[str, Kind, str, str]:
        """What makes two statements one."""
        return self.page, self.kind, self.key, plain(self.other)


@dataclass(frozen=True)
class Stated:
    """What a page's infobox says in keys of the vocabulary: pairs of key and value."""

    said: frozenset[tuple[str, str]]

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys that the infobox tells anything about."""
        return frozenset(key for key, _ in self.said)


class World:
    """What is known of the wiki beside the pages that are read: infoboxes, types and titles."""

    def __init__(self, titles: Iterable[str]) -> None:
        wanted = set(titles)
        scoring = load_yaml(SCORING_FILE.read_text(encoding="utf-8"))
        self.types: dict[str, str] = {}
        self.stated: dict[str, Stated] = defaultdict(lambda: Stated(frozenset()))
        for row in shared_rows("infobox_pages"):
            if row["infobox_template"] in scoring:
                self.types[row["title"]] = scoring[row["infobox_template"]]["types"][0]
            if row["title"] in wanted:
                self.stated[row["title"]] = Stated(frozenset(_stated(row)))
        self._titles = _titles(self.types)
        self._known = {plain(name) for name, title in self._titles.items() if title in self.types}

    def links(self, text: str) -> Mapping[str, str]:
        """Names in a text that are titles, with the titles: what editors would have linked."""
        found, words, place = {}, list(_WORD.finditer(text)), 0
        while place < len(words):
            ends = range(min(len(words), place + _LONGEST_NAME), place, -1)
            names = ((end, _trimmed(text[words[place].start() : words[end - 1].end()])) for end in ends)
            linked = ((end, name, title) for end, name in names if (title := self._title(name)))
            end, name, title = next(linked, (place + 1, "", ""))
            if title:
                found[name] = title
            place = end
        return found

    def _title(self, name: str) -> str | None:
        """The title that a name would link to; a name in small letters only a people's, as editors do it."""
        title = self._titles.get(name[:1].upper() + name[1:]) if len(name) >= _SHORTEST_NAME else None
        if title and name[:1].islower():
            return title if self.types.get(title) == "Species" else None
        return title

    def verdict(self, one: Statement) -> Verdict:
        """What the page's infobox says of a statement."""
        stated, other = self.stated[one.page], plain(one.other)
        if any(key == one.key and _same(other, value) for key, value in stated.said):
            return "right"
        relation = load_vocabulary().relations.get(one.key) if one.kind == "relation" else None
        back = relation.inverse if relation and relation.inverse != one.key else None
        if any(key == back and _same(other, value) for key, value in stated.said):
            return "turned"
        return "other" if one.key in stated.keys else "unstated"

    def stated_by_lead(self, page: Page) -> Iterator[tuple[str, str]]:
        """What the infobox tells and one sentence of the lead says too, by naming subject and value.

        Relations only to pages whose type is known: to others, none is read.
        """
        read, relations = page_read(page), load_vocabulary().relations
        subject = read.subject(read.title)
        sentences = [plain(one) for one in read.sentences if any(mentions(subject, one, owner=True))]
        for key, value in sorted(self.stated[page.case.title].said):
            is_known = value in self._known if key in relations else key in load_vocabulary().facts
            if is_known and any(f" {value} " in f" {one} " for one in sentences):
                yield key, value


def plain(text: str) -> str:
    """A name or value without case, marks and what stands in parentheses."""
    return " ".join(re.findall(r"\w+", _SUFFIX.sub("", text.removesuffix("/Legends")).lower()))


def page_read(page: Page) -> PageRead:
    """The lead of a page, as a reader sees it."""
    return PageRead(page.case.title, lead_text(page.case.wikitext))


def lead_text(wikitext: str) -> str:
    """A rebuilt page's text before its first heading, without marks."""
    text = re.sub(r"\[\[(?:[^|\]]*\|)?([^\]]*)\]\]", r"\1", wikitext.split("[[Category", maxsplit=1)[0])
    text = re.sub(r"\{\{[^}]*\}\}", "", text)
    return text.replace("'''", "").replace("''", "").split("\n==")[0].strip()


def _stated(row: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    template, rules, words = str(row["infobox_template"]), load_rule_book(SOURCE), load_vocabulary()
    also: dict[str, set[str]] = defaultdict(set)
    for same in words.same_relations():
        if not same["is_turned"]:
            also[same["said"]].add(same["key"])
    values = infobox_values(
        box_wikitext(row), template, SITE, lambda field: rules.parts_at_commas(template, field)
    )
    page = {"source": SOURCE, "batch": "b", "title": row["title"], "title_key": 0, "revision_id": 0}
    for said in page_fact_rows(page, template, values, rules):
        for key in (also[said["key"]] or {said["key"]}) if said["kind"] == "relation" else {said["key"]}:
            for value in {said["value"], said.get("target") or said["value"]}:
                yield key, plain(value)


def _titles(types: Mapping[str, str]) -> dict[str, str]:
    """Titles by the name that a text has for them: the plain title, else one whose type is known."""
    found: dict[str, str] = {}
    for name in ("canon", "legends"):
        with gzip.open(SHARED / "wookieepedia" / f"titles_{name}.txt.gz", "rt", encoding="utf-8") as lines:
            for title in (line.strip().removesuffix("/Legends") for line in lines):
                short = _SUFFIX.sub("", title)
                if title == short or short not in found or (found[short] not in types and title in types):
                    found[short] = title if found.get(short) != short else short
    return found


def _trimmed(name: str) -> str:
    return name.rstrip(".,'\u2019").removesuffix("'s").removesuffix("\u2019s")


def _same(one: str, other: str) -> bool:
    return one == other or f" {one} " in f" {other} "


def without_doubles(statements: Sequence[Statement]) -> list[Statement]:
    """Each statement once."""
    return list({one.said: one for one in statements}.values())
