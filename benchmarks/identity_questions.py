"""What names of a real wiki mean: the questions that `identity_accuracy.py` asks.

What is asked was fixed before anything was tuned. A link of an infobox has a text and a target; the target is
what the text means, by the word of the wiki's editors. Texts that are the target's name but for case are left
out: they ask nothing. So are links out of the wiki (ISBNs). A text has the continuity of its page, or that of
its target where the link leads from canon into legends or back.

A text is a SPELLING VARIANT of its target's name if it has no suffix in parentheses and, without the name's
suffix, case, accents and apostrophes, one comes from the other by nothing but these changes:
  letters   other spaces, hyphens or punctuation between the same letters
  number    a word in singular or plural or with a possessive s
  little    an article more or less
  order     the same words in another order, with or without "of"
  typo      one letter of one word of five or more left out, added, replaced, or swapped with the next
  short     a word of the text that ends in a full stop, and with whose letters the target's word begins
Words with digits, Roman numerals and single letters must be the same.

Sets of questions:
  variant   spelling variants whose target is in the index: it is the answer
  absent    the same texts; all their targets, and titles of the same name, are left out: no answer is right
  distinct  titles with another title of the same infobox template within two letters: two things, by the
            wiki's own word. The first is asked with itself left out of the index, within the template: no
            answer is right. As many as variants. Without those that differ in digits or numerals:
  numbered  those that differ in digits or numerals, likewise
  other     all other link texts ("Empire" for "Sith Empire", "shields" for "Personal energy shield"): their
            target is the answer, though hardly one that the name alone can give
"""

import gzip
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import xxhash
from rapidfuzz import process
from rapidfuzz.distance import OSA

WIKI = Path(__file__).parents[2] / "shared" / "wookieepedia"
LEGENDS = "/Legends"
HALVES = ("tune", "held-out")
SETS = ("variant", "absent", "distinct", "numbered", "other")
ARTICLES = {"the", "a", "an"}
LONG_WORD = 5
NEAR = 2
CHUNK = 2_000

WORD = re.compile(r"[^\W_]+\.?")
SUFFIX = re.compile(r"\s*\([^()]*\)$")
FIXED = re.compile(r"[a-z]|[ivxl]+|\w*\d\w*")
PLURALS = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("es", ""), ("s", ""))


@dataclass(frozen=True)
class Question:
    """A name and what it means.

    Attributes:
        kind: one of `SETS`.
        text: the name.
        continuity: of the page that has the text.
        target: the title that it means.
        template: infobox template within which it is asked; None to ask among all titles.
        right: titles that are right answers.
    """

    kind: str
    text: str
    continuity: str
    target: str
    template: str | None
    right: frozenset[str]

    @property
    def half(self) -> str:
        return HALVES[xxhash.xxh64_intdigest(name_of(self.target).encode()) % 2]


@dataclass(frozen=True)
class Title:
    """A title of the index."""

    title: str
    continuity: str
    template: str | None


def read_pages() -> list[dict[str, Any]]:
    with gzip.open(WIKI / "infobox_pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_index(pages: Iterable[Mapping[str, Any]]) -> dict[str, Title]:
    """All titles of the wiki that are known."""
    continuities: dict[str, str] = {page["title"]: continuity_of(page) for page in pages}
    for name in ("canon", "legends"):
        with gzip.open(WIKI / f"titles_{name}.txt.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                title = line.rstrip("\n")
                continuities[title] = "both" if continuities.get(title, name) != name else name
    templates = {page["title"]: page["infobox_template"] for page in pages}
    return {title: Title(title, each, templates.get(title)) for title, each in continuities.items()}


def all_questions(pages: Iterable[Mapping[str, Any]], index: Mapping[str, Title]) -> list[Question]:
    linked = list(link_questions(pages, index))
    variants = [question for question in linked if question.kind == "variant"]
    absent = [
        Question("absent", each.text, each.continuity, each.target, None, frozenset()) for each in variants
    ]
    return [*linked, *absent, *distinct_questions(index, len(variants))]


def link_questions(pages: Iterable[Mapping[str, Any]], index: Mapping[str, Title]) -> Iterator[Question]:
    """A question for each text and target of a link that says something else than the target's name."""
    seen = set()
    for page in pages:
        for text, path in (link for field in page["infobox"] for link in field["links"]):
            target = unquote(path.removeprefix("/wiki/")).replace("_", " ").partition("#")[0]
            asked = (text, target)
            if asked in seen or target not in index or text.casefold() in own_names(target):
                continue
            seen.add(asked)
            kind = "variant" if is_variant(text, name_of(target)) else "other"
            continuity = agreed(index[page["title"]].continuity, index[target].continuity)
            yield Question(kind, text, continuity, target, None, frozenset({target}))


def agreed(continuity: str, of_target: str) -> str:
    """The linking page's continuity, unless its link leads into the other."""
    return of_target if {continuity, of_target} == {"canon", "legends"} else continuity


def continuity_of(page: Mapping[str, Any]) -> str:
    """As a record has it: pages without, and parodies, may go with either."""
    continuity = page.get("continuity")
    return continuity if continuity in ("canon", "legends") else "unknown"


def own_names(title: str) -> set[str]:
    bare = title.removesuffix(LEGENDS)
    return {each.casefold() for each in (title, bare, name_of(title))}


def name_of(title: str) -> str:
    bare = title.removesuffix(LEGENDS)
    return SUFFIX.sub("", bare) or bare


def is_variant(text: str, name: str) -> bool:
    """Whether a text is a spelling variant of a name, as the top of this file defines it."""
    one, other = words_of(text), words_of(name)
    if not one or not other or SUFFIX.search(text):
        return False
    one, other = ([word for word in words if word not in ARTICLES] for words in (one, other))
    if "".join(one).replace(".", "") == "".join(other).replace(".", ""):
        return True
    if fixed(one) != fixed(other):
        return False
    ordered, reordered = (one, other), (content(one), content(other))
    return words_agree(*ordered, typos=1) or words_agree(*reordered, typos=0) or joined_agree(one, other)


def words_of(text: str) -> list[str]:
    decomposed = unicodedata.normalize("NFKD", SUFFIX.sub("", text.casefold()) or text.casefold())
    plain = "".join(each for each in decomposed if not unicodedata.combining(each))
    return WORD.findall(re.sub(r"[\'\u2019]", "", plain))


def fixed(words: Sequence[str]) -> list[str]:
    return sorted(word for word in words if FIXED.fullmatch(word.rstrip(".")))


def content(words: Sequence[str]) -> list[str]:
    return sorted((word for word in words if word != "of"), key=singular)


def singular(word: str) -> str:
    return min(inflections(word.rstrip(".")), key=lambda form: (len(form), form))


def inflections(word: str) -> set[str]:
    return {word} | {
        word.removesuffix(plural) + single
        for plural, single in PLURALS
        if word.endswith(plural) and len(word) > len(plural) + 1
    }


def words_agree(one: Sequence[str], other: Sequence[str], *, typos: int) -> bool:
    if len(one) != len(other):
        return False
    wrong = [pair for pair in zip(one, other, strict=True) if not is_form(*pair)]
    return len(wrong) <= typos and all(is_typo(*pair) for pair in wrong)


def is_form(word: str, full: str) -> bool:
    bare = word.rstrip(".")
    is_short = word != bare and full.startswith(bare)
    return is_short or bool(inflections(bare) & inflections(full.rstrip(".")))


def is_typo(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= LONG_WORD and OSA.distance(one, other) == 1


def joined_agree(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether they are one but for spaces and the number of the last word."""
    return is_form("".join(one), "".join(other))


def distinct_questions(index: Mapping[str, Title], most: int) -> list[Question]:
    by_template: defaultdict[str, dict[str, Title]] = defaultdict(dict)
    for title in index.values():
        if title.template:
            by_template[title.template].setdefault(name_of(title.title), title)
    found: dict[str, list[Question]] = {"distinct": [], "numbered": []}
    for template, titles in sorted(by_template.items()):
        used: set[str] = set()
        for one, other in near_names(sorted(titles)):
            if used.isdisjoint((one, other)) and titles[one].continuity == titles[other].continuity:
                used |= {one, other}
                kind = "distinct" if fixed(words_of(one)) == fixed(words_of(other)) else "numbered"
                asked = titles[one]
                found[kind].append(Question(kind, one, asked.continuity, asked.title, template, frozenset()))
    return [question for kind in found for question in sorted(found[kind], key=by_hash)[:most]]


def by_hash(question: Question) -> int:
    return xxhash.xxh64_intdigest(question.target.encode())


def near_names(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names within two letters, that are not one but for case, spaces and punctuation."""
    folded = ["".join(words_of(name)) for name in names]
    for start in range(0, len(names), CHUNK):
        distances = process.cdist(
            folded[start : start + CHUNK],
            folded,
            scorer=OSA.distance,
            score_cutoff=NEAR,
            dtype=np.uint8,
        )
        for row, column in zip(*np.nonzero((distances > 0) & (distances <= NEAR)), strict=True):
            if start + row < column and len(folded[column]) >= LONG_WORD:
                yield names[start + row], names[column]


def typed(questions: Iterable[Question], index: Mapping[str, Title]) -> list[Question]:
    """The questions whose answer's template is known, asked within that only: as records of one type are."""
    found: dict[str, list[Question]] = {kind: [] for kind in SETS}
    for question in questions:
        if template := index[question.target].template:
            found[question.kind].append(replace(question, template=template))
    for kind in ("distinct", "numbered"):
        found[kind] = sorted(found[kind], key=by_hash)[: len(found["variant"])]
    return [question for asked in found.values() for question in asked]


def without(index: Mapping[str, Title], questions: Iterable[Question]) -> list[Title]:
    """The index without the targets of some questions and all that has their names, however capitalised."""
    gone = {name_of(question.target).casefold() for question in questions}
    return [title for title in index.values() if name_of(title.title).casefold() not in gone]
