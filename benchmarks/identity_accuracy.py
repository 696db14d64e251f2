"""How well names that are alike are told to be one thing, or two: on link texts and titles of a real wiki.

Run: python benchmarks/identity_accuracy.py [--errors N] [--half tune|held-out]

The task: a name from elsewhere against an index of all titles of the wiki (both continuities). The identity
policy joins it to a title ("same"), asks ("unsure"), or leaves it alone. All goes through `pair_rows`, as in
production. Each question is asked twice: among all titles, and, where the target's infobox template is known,
among the titles of that template only. Production compares within a type, so the second is nearer to it.

What is asked was fixed before anything was tuned. A link of an infobox has a text and a target; the target is
what the text means, by the word of the wiki's editors. Texts that are the target's name but for case are left
out: they ask nothing. So are links out of the wiki (ISBNs). A text has the continuity of its page, or that of its
target where the link leads from canon into legends or back.

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

Precision counts wrong joins of all sets but "other", for which it is given apart; recall is that of variants.
A name that the exact step joined is out of the fuzzy step's reach, and counts in the second line only. All questions are split in two
halves by a hash of the target's title. Thresholds were chosen on the half "tune"; errors are only ever shown
of that half.
"""

import argparse
import gzip
import json
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import unquote

import numpy as np
import xxhash
from rapidfuzz import process
from rapidfuzz.distance import OSA

from holocron_assets.resolve.identity_policy import (
    DEFAULT_IDENTITY_FILE,
    IdentityPolicy,
    load_identity_policy,
)
from holocron_assets.resolve.pairs import pair_rows
from holocron_assets.resolve.records import Record

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


@dataclass(frozen=True)
class Answer:
    """What the policy made of a question: titles joined and asked about, and by which method."""

    question: Question
    same: tuple[tuple[str, str], ...]
    unsure: tuple[str, ...]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--errors", type=int, default=0, help="how many errors of the tune half to list a set"
    )
    options = parser.parse_args()
    if not WIKI.exists():
        sys.exit(f"needs {WIKI}, which is not beside this checkout")
    pages = read_pages()
    index = read_index(pages)
    questions = all_questions(pages, index)
    policy = load_identity_policy(DEFAULT_IDENTITY_FILE, frozenset())
    started = perf_counter()
    answers = ask(questions, index, policy)
    within_types = ask(typed(questions, index), index, policy)
    print(
        f"{len(index):,} titles, {len(questions):,} questions, {perf_counter() - started:.1f} s; {policy.id}: {policy.fuzzy.default}"
    )
    for label, asked in (("among all titles", answers), ("within a type", within_types)):
        print(f"\n=== {label}")
        for half in HALVES:
            report(half, [answer for answer in asked if answer.question.half == half])
    for kind in SETS if options.errors else ():
        show_errors(kind, answers, options.errors)


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


def ask(questions: Sequence[Question], index: Mapping[str, Title], policy: IdentityPolicy) -> list[Answer]:
    """Answers among all titles, or within the template where a question says so."""
    answers = []
    for left_out, kinds in ((False, ("variant", "other")), (True, ("absent", "distinct", "numbered"))):
        asked = [question for question in questions if question.kind in kinds]
        titles = without(index, asked) if left_out else list(index.values())
        for template in sorted({question.template or "" for question in asked}):
            within = [question for question in asked if (question.template or "") == template]
            held = [title for title in titles if template in ("", title.template)]
            answers += answered(within, held, policy)
    return answers


def typed(questions: Iterable[Question], index: Mapping[str, Title]) -> list[Question]:
    """The questions whose answer's template is known, asked within that only: as records of one type are."""
    return [
        replace(question, template=template)
        for question in questions
        if (template := index[question.target].template)
    ]


def without(index: Mapping[str, Title], questions: Iterable[Question]) -> list[Title]:
    """The index without the targets of some questions and all that has their names, however capitalised."""
    gone = {name_of(question.target).casefold() for question in questions}
    return [title for title in index.values() if name_of(title.title).casefold() not in gone]


def answered(questions: Sequence[Question], titles: Iterable[Title], policy: IdentityPolicy) -> list[Answer]:
    records = [title_record(title) for title in titles]
    asked = [question_record(number, question) for number, question in enumerate(questions)]
    rows = pair_rows([*records, *asked], policy, changed={record.entity_id for record in asked})
    found: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        if (row["first_origin"], row["second_origin"]) == ("mention", "page"):
            found[row["first_id"], row["verdict"]].append((row["second_title"], row["method"]))
    return [
        Answer(
            question,
            tuple(found[record.entity_id, "same"]),
            tuple(title for title, _ in found[record.entity_id, "unsure"]),
        )
        for question, record in zip(questions, asked, strict=True)
    ]


def title_record(title: Title) -> Record:
    return Record(
        entity_id=f"page {title.title}",
        entity_type="Any",
        source="wiki",
        wiki="wiki",
        page_id=None,
        title=title.title,
        batch="-",
        continuity=title.continuity,
        origin="page",
        name=title.title.removesuffix(LEGENDS),
        names=(),
        external_ids=(),
    )


def question_record(number: int, question: Question) -> Record:
    return Record(
        entity_id=f"asked {number:06}",
        entity_type="Any",
        source="elsewhere",
        wiki="elsewhere",
        page_id=None,
        title=question.text,
        batch="-",
        continuity=question.continuity,
        origin="mention",
        name=question.text,
        names=(),
        external_ids=(),
    )


def report(half: str, answers: Sequence[Answer]) -> None:
    """A line a set, then precision and recall."""
    print(f"\n{half:10}{'asked':>8}{'exact':>8}{'wrong':>7}{'fuzzy':>8}{'wrong':>7}{'unsure':>8}{'left':>8}")
    totals: Counter[str] = Counter()
    for kind in SETS:
        counts = Counter[str]()
        for answer in answers:
            if answer.question.kind == kind:
                counts.update(outcome(answer))
        columns = ("asked", "exact", "exact wrong", "fuzzy", "fuzzy wrong", "unsure", "left")
        print(
            f"{kind:10}" + "".join(f"{counts[name]:>{8 - (i in (2, 4))}}" for i, name in enumerate(columns))
        )
        totals.update({f"{kind} {name}": count for name, count in counts.items()})
    print_shares(totals)


def outcome(answer: Answer) -> Iterator[str]:
    """What to count an answer as. A name joined to several titles is wrong if one of them is."""
    yield "asked"
    if not answer.same:
        yield "unsure" if answer.unsure else "left"
        return
    method = "exact" if any(method == "exact" for _, method in answer.same) else "fuzzy"
    yield method
    if not {title for title, _ in answer.same} <= answer.question.right:
        yield f"{method} wrong"


def print_shares(totals: Mapping[str, int]) -> None:
    for label, methods in (("fuzzy alone", ("fuzzy",)), ("exact and fuzzy", ("exact", "fuzzy"))):
        other = {"exact": "fuzzy", "fuzzy": "exact"}
        asked = totals["variant asked"] - (totals[f"variant {other[methods[0]]}"] if len(methods) == 1 else 0)
        joined, wrong = (
            {kind: sum(totals[f"{kind} {method}{end}"] for method in methods) for kind in SETS}
            for end in ("", " wrong")
        )
        right = joined["variant"] - wrong["variant"]
        fair = [kind for kind in SETS if kind != "other"]
        print(
            f"  {label:16} precision {share(joined, wrong, fair)}, recall {right / max(asked, 1):.3f}; "
            f"over all link texts: precision {share(joined, wrong, ['variant', 'other'])}, recall "
            f"{(right + joined['other'] - wrong['other']) / max(asked + totals['other asked'], 1):.3f}; "
            f"all five sets: precision {share(joined, wrong, SETS)}"
        )


def share(joined: Mapping[str, int], wrong: Mapping[str, int], kinds: Iterable[str]) -> str:
    kinds = list(kinds)
    whole = sum(joined[kind] for kind in kinds)
    return f"{1 - sum(wrong[kind] for kind in kinds) / whole:.3f}" if whole else "-"


def show_errors(kind: str, answers: Sequence[Answer], most: int) -> None:
    """Wrong joins and missed variants of the tune half, spread evenly."""
    tune = [one for one in answers if one.question.half == HALVES[0] and one.question.kind == kind]
    wrong = [one for one in tune if {title for title, _ in one.same} - one.question.right]
    missed = [one for one in tune if kind == "variant" and not one.same]
    for label, errors in (("joined wrongly", wrong), ("not joined", missed)):
        print(f"\n{kind}: {label}: {len(errors)}")
        for one in errors[:: max(len(errors) // most, 1)][:most]:
            print(f"  {one.question.text!r} is {one.question.target!r}: {one.same or one.unsure}")


if __name__ == "__main__":
    main()
