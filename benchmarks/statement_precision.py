"""How many of the statements that patterns and models read from pages are right, and what they cost.

Run: python benchmarks/statement_precision.py [--model NAME [--pages 36] [--work FOLDER]] [--draw FILE]

Needs ../shared/wookieepedia. Pages are of the held-out half, have 25 to 260 words; their infobox is hidden.
Pages whose statements were read while vocabulary and checks were written are left out. Truth is what the
infobox says and the lead says too, and the sheet of marked statements that is shipped in `data/`.

Without `--model` it measures the patterns alone, over all pages. With it, `--pages` of them are asked about,
evenly over types, and the designs of `statement_designs.py` are compared. What was answered stays in the work
folder: the measurement can be stopped and run again. `--draw` writes statements by lot to be marked.
"""

import argparse
import csv
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from model_accuracy import Page, all_pages, is_tune, stratified
from statement_designs import Asking, Read, by_choice, by_model, by_question, by_sentences
from statement_truth import Statement, World, plain, without_doubles
from type_accuracy import SHARED

from holocron_assets.classify.learned.shares import wilson_interval
from holocron_assets.entities.facts.marked_statements import read_marked
from holocron_assets.entities.facts.vocabulary import trusted_keys

SEED = 17
SHEETS = Path(__file__).parents[1] / "data" / "marked_statements"
TYPES = {
    *("PersonCharacter", "Droid", "Species", "LocationPlace", "VehicleCraft"),
    *("ObjectItem", "ObjectArtifact", "Organization", "EventConflict", "WorkMedia"),
}
WORDS = range(25, 261)
SEEN = 40
"""Held-out pages whose statements were read while the checks were written: the first ones of the lot."""
ENOUGH = 30
MOST_OF_A_KEY = 30

Marks = Mapping[tuple[str, str, str, str], str]
"""What readers say of a statement: 'right', 'wrong' or 'unclear'."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", metavar="NAME", help="compare designs that ask this model")
    parser.add_argument("--pages", type=int, default=36, help="pages that the model is asked about")
    parser.add_argument("--work", type=Path, help="folder that keeps the answers; a new one by default")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="write statements by lot, to be marked")
    arguments = parser.parse_args()
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    pages, chosen = held_pages(arguments.pages)
    world, marks = World(page.case.title for page in pages), read_marks()
    sentences = by_sentences(pages, world)
    report_keys(sentences, pages, world, marks)
    designs = {"sentence": sentences}
    if arguments.model:
        work = arguments.work or Path(tempfile.mkdtemp(prefix="holocron-statements-"))
        compared = compare(chosen, world, arguments.model, work)
        report_designs(compared, chosen, world, marks)
        designs |= {name: read for name, read in compared.items() if name != "sentence"}
    if arguments.draw:
        draw(designs, arguments.draw)


def held_pages(count: int) -> tuple[list[Page], list[Page]]:
    """Pages of the held-out half that nobody read, and as many of them as the model is asked about."""
    held = [
        page
        for page in all_pages()
        if not is_tune(page)
        and page.truth[0] in TYPES
        and len(page.case.wikitext.split("[[Category", maxsplit=1)[0].split()) in WORDS
    ]
    seen = {page.case.title for page in stratified(held, SEEN)}
    chosen = [page for page in stratified(held, SEEN + count) if page.case.title not in seen]
    return [page for page in held if page.case.title not in seen], chosen


def compare(pages: Sequence[Page], world: World, model: str, work: Path) -> dict[str, Read]:
    """What each design reads from the same pages."""
    asking = Asking(model, work / "short_answers.jsonl")
    said, checked = by_model(pages, model, work)
    sentences = by_sentences(pages, world)
    stated, proposed = standing(sentences, said)
    return {
        "sentence": sentences,
        "model": said,
        "checked": checked,
        "question": by_question(said, pages, asking),
        "choice": by_choice(pages, world, asking),
        "stated": stated,
        "proposed": proposed,
    }


def standing(sentences: Read, model: Read) -> tuple[Read, Read]:
    """What of both counts as stated, as in the entity tables but without infoboxes; and what is proposed."""
    trusted = {row["key"] for row in trusted_keys() if row["model"] == "sentence"}
    certain = {one.said for one in sentences.statements if one.key in trusted}
    both = [*sentences.statements, *model.statements]
    seconds = sentences.seconds + model.seconds
    return (
        Read([one for one in both if one.said in certain], seconds, model.pages),
        Read([one for one in both if one.said not in certain], seconds, model.pages),
    )


def report_keys(read: Read, pages: Sequence[Page], world: World, marks: Marks) -> None:
    """One line for each key of which there are enough statements, and one for all."""
    once = without_doubles(read.statements)
    by_key: defaultdict[str, list[Statement]] = defaultdict(list)
    for one in once:
        by_key[one.key].append(one)
    both = [(page.case.title, *pair) for page in pages for pair in world.stated_by_lead(page)]
    trusted = {(row["key"]) for row in trusted_keys() if row["model"] == "sentence"}
    print(f"\n== patterns over {len(pages)} pages: {len(once)} statements in {read.seconds:.0f} s CPU")
    columns = (
        "said",
        "right",
        "turned",
        "other",
        "unstated",
        "both",
        "recall",
        "marked",
        "right",
        "at least",
    )
    print(f"{'':20}" + "".join(f"{name:>9}" for name in columns))
    lines = [(key, found) for key, found in by_key.items() if len(found) >= ENOUGH or key in trusted]
    for name, found in [("all", once), *sorted(lines, key=lambda line: -len(line[1]))]:
        verdicts = Counter(world.verdict(one) for one in found)
        wanted = [one for one in both if name in ("all", one[1])]
        has = {(one.page, one.key, plain(one.other)) for one in found}
        recall = f"{sum(one in has for one in wanted) / len(wanted):.2f}" if wanted else ""
        cells = (
            len(found),
            *(verdicts[one] for one in ("right", "turned", "other", "unstated")),
            len(wanted),
        )
        print(f"{name:20}" + "".join(f"{cell:9}" for cell in cells) + f"{recall:>9}" + marked(found, marks))


def report_designs(designs: Mapping[str, Read], pages: Sequence[Page], world: World, marks: Marks) -> None:
    """One line a design. 'right' and 'wrong' are by the sheet where it has a mark, else by the infobox."""
    both = sum(1 for page in pages for _ in world.stated_by_lead(page))
    print(f"\n== designs over {len(pages)} pages; infobox and lead tell {both} things")
    columns = ("said", "twice", "unmapped", "by box", "turned", "marked", "right", "at least")
    print(f"{'':12}" + "".join(f"{name:>9}" for name in columns) + f"{'s a page':>10}{'right a min':>13}")
    for name, read in designs.items():
        once = without_doubles(read.statements)
        verdicts = Counter(world.verdict(one) for one in once)
        right = sum(is_right(one, world, marks) for one in once)
        doubles = len(read.statements) - len(once)
        cells = (len(once), doubles, read.unmapped, verdicts["right"], verdicts["turned"])
        speed = f"{read.seconds / read.pages:10.2f}{right * 60 / max(read.seconds, 0.001):13.1f}"
        print(f"{name:12}" + "".join(f"{cell:9}" for cell in cells) + marked(once, marks) + speed)
    known = [one for one in without_doubles(designs["model"].statements) if is_right(one, world, marks)]
    stated = {one.said for one in designs["stated"].statements}
    print(f"of the {len(known)} right ones of model, {sum(one.said in stated for one in known)} are stated")


def is_right(one: Statement, world: World, marks: Marks) -> bool:
    """Whether readers call a statement right; where none read it, whether the infobox says it."""
    mark = marks.get(one.said)
    return mark == "right" if mark else world.verdict(one) == "right"


def marked(statements: Sequence[Statement], marks: Marks) -> str:
    """How many readers marked, how many of these are right, and the share that this shows at least."""
    found = [marks[one.said] for one in statements if one.said in marks]
    right = found.count("right")
    at_least = f"{wilson_interval(right, len(found))[0]:.2f}" if found else ""
    return f"{len(found):9}{right:9}{at_least:>9}"


def read_marks() -> Marks:
    """What the shipped sheet says of each statement."""
    return {(one.page, one.kind, one.key, plain(one.other)): one.mark for one in read_marked(SHEETS)}


def draw(designs: Mapping[str, Read], file: Path) -> None:
    """Write statements by lot: of patterns at most so many of a key, of models all with a quote."""
    chooser = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    by_key: defaultdict[str, list[Statement]] = defaultdict(list)
    for one in without_doubles(designs["sentence"].statements):
        by_key[one.key].append(one)
    drawn = [
        one
        for _, found in sorted(by_key.items())
        for one in chooser.sample(found, min(MOST_OF_A_KEY, len(found)))
    ]
    rest = [one for name, read in designs.items() if name != "sentence" for one in read.statements]
    drawn = without_doubles([*drawn, *rest])
    chooser.shuffle(drawn)
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(("page", "kind", "subject", "key", "other"))
        writer.writerows((one.page, one.kind, one.page, one.key, one.other) for one in drawn)
    print(f"{len(drawn)} statements in {file}")


if __name__ == "__main__":
    main()
