"""How well names that are alike are judged to be one thing, or two: on link texts and titles of a real wiki.

Run: python benchmarks/identity_accuracy.py [--errors N] [--half tune|held-out]

The task: a name from elsewhere against an index of all titles of the wiki (both continuities). The identity
policy joins it to a title ("same"), asks ("unsure"), or leaves it alone. All goes through `pair_rows`, as in
production. Each question is asked twice: among all titles, and, where the target's infobox template is known,
among the titles of that template only. Production compares within a type, so the second is nearer to it.

What is asked, `identity_questions.py` defines.

Precision counts wrong joins of all sets but "other", for which it is given apart; recall is that of variants.
A name that the exact step joined is out of the fuzzy step's reach, and counts in the second line only. All
questions are split in two halves by a hash of the target's title. Thresholds were chosen on the half "tune";
errors are only ever shown of that half.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from identity_questions import (
    HALVES,
    LEGENDS,
    SETS,
    WIKI,
    Question,
    Title,
    all_questions,
    read_index,
    read_pages,
    typed,
    without,
)

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.identity.pairs import pair_rows
from holocron_assets.entities.identity.policy import (
    DEFAULT_IDENTITY_FILE,
    IdentityPolicy,
    load_identity_policy,
)
from holocron_assets.entities.identity.records import Record


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
        sys.exit(f"needs {WIKI}, which is not next to this checkout")
    pages = read_pages()
    index = read_index(pages)
    questions = all_questions(pages, index)
    policy = load_identity_policy(DEFAULT_IDENTITY_FILE, frozenset(load_taxonomy().entity_worthy_types))
    started = perf_counter()
    answers = ask(questions, index, policy)
    within_types = ask(typed(questions, index), index, policy)
    print(f"{len(index):,} titles, {len(questions):,} questions, {perf_counter() - started:.1f} s")
    print(f"{policy.id}: {policy.fuzzy.default}")
    for label, asked in (("among all titles", answers), ("within a type", within_types)):
        print(f"\n=== {label}")
        for half in HALVES:
            report(half, [answer for answer in asked if answer.question.half == half])
    for kind in SETS if options.errors else ():
        show_errors(kind, answers, options.errors)


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
        entity_type=type_of(title.template),
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


def type_of(template: str | None) -> str:
    """The type of which the policy says something of its own, by the infobox template of the wiki."""
    return "PersonCharacter" if template == "Character" else "Any"


def question_record(number: int, question: Question) -> Record:
    return Record(
        entity_id=f"asked {number:06}",
        entity_type=type_of(question.template),
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
