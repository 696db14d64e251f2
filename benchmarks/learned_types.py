"""How often a model that a wiki taught types a page rightly, where the infobox is removed.

Run: python benchmarks/learned_types.py [--test]

Needs ../shared/wookieepedia. The pages are those of `sample_pages`, `lead_pages` and `category_pages` that
keep a lead, text or categories without their infobox, once each by page id. The true type of a page is what
the rules say with its infobox, where they are certain. The split is a rule, and was committed before anything
was tuned: a page is for the test if the hash of its page id is odd, else for development. `--test` scores the
half for the test; without it, the development half is scored by five folds. A page shows the fields that name
it in infoboxes of other pages of the files.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import xxhash
from type_accuracy import SHARED, SITE, Case, page_row, percent, prose, rebuilt, rows, without_template

from holocron_assets.classify.learned.evaluation import Evaluation
from holocron_assets.classify.learned.features import Features, infobox_is_known, page_features
from holocron_assets.classify.learned.model import TypeModel
from holocron_assets.classify.learned.shares import wilson_interval
from holocron_assets.classify.learned.training import SettledPage, train
from holocron_assets.classify.rules import classify_page, load_rules
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.signals.extract import signal_row

DEVELOPMENT, TEST = "development", "test"
_FOLDS = 5
_MOST_FIELDS = 30
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")


class WikiPage(NamedTuple):
    """A page of the wiki.

    Attributes:
        page_id: its page id, or its title where no file has its id.
        shown: its row of table `pages` with the infobox.
        hidden: the row without the infobox.
    """

    page_id: str
    shown: Row
    hidden: Row

    @property
    def half(self) -> str:
        """The half of the split that it is in."""
        return (DEVELOPMENT, TEST)[xxhash.xxh64_intdigest(self.page_id.encode()) % 2]


def wiki_pages() -> Iterator[WikiPage]:
    """Every page that keeps a lead, text or categories without its infobox, once."""
    with_infobox = {row["title"]: row for row in rows("infobox_pages")}
    seen: set[str] = set()
    for name in ("sample_pages", "lead_pages", "category_pages"):
        for row in rows(name):
            known: dict[str, Any] = {**with_infobox.get(row["title"], {}), **row}
            page_id = str(known.get("pageid", known["title"]))
            template = known.get("infobox_template")
            if template is None or page_id in seen or not (text := prose(row, template)):
                continue
            seen.add(page_id)
            shown, hidden = (
                page_row(Case(known["title"], template, wikitext, infobox_hidden=wikitext is text))
                for wikitext in (rebuilt(known), text)
            )
            yield WikiPage(page_id, shown, hidden)


def naming_fields(hidden: Collection[str]) -> Mapping[str, Sequence[str]]:
    """The infobox fields that name each page, by its title, as `learned/naming.py` finds them.

    Args:
        hidden: titles of pages whose infobox does not count.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    infoboxes = {row["title"]: row for row in chain(rows("infobox_pages"), rows("sample_pages"))}
    for title, row in infoboxes.items():
        if title in hidden:
            continue
        for field in row.get("infobox") or ():
            name = f"{row['infobox_template']}.{field['label']}"
            for shown, address in field["links"]:
                target = unquote(address.removeprefix("/wiki/")).replace("_", " ")
                if target != title and _bare(shown) == _bare(target):
                    found[target][name] += 1
    return {title: [name for name, _ in counts.most_common(_MOST_FIELDS)] for title, counts in found.items()}


def _bare(title: str) -> str:
    return _QUALIFIER.sub("", title).casefold()


class Known(NamedTuple):
    """A page whose true type is certain.

    Attributes:
        type: that type.
        taught: what the model sees of it while the infobox is there, and settles it.
        asked: what it sees of it without the infobox.
        rules: what the rules say without the infobox.
    """

    type: str
    taught: SettledPage
    asked: Features
    rules: Row


class Answer(NamedTuple):
    """What the rules and the model say of a page without its infobox; a type that is not settled is None."""

    truth: str
    by_rules: str | None
    by_model: str | None

    @property
    def by_both(self) -> str | None:
        """The rules' answer where they settle it, else the model's."""
        return self.by_rules or self.by_model


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--test", action="store_true", help="score the half for the test")
    arguments = parser.parse_args()
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    halves: dict[str, list[Known]] = {DEVELOPMENT: [], TEST: []}
    pages = list(wiki_pages())
    naming = naming_fields({page.shown["title"] for page in pages})
    for page in pages:
        if known := known_page(page, naming):
            halves[page.half].append(known)
    print(f"{len(pages)} pages, of which {sum(map(len, halves.values()))} have a type that is certain")
    if arguments.test:
        report(*asked(halves[DEVELOPMENT], halves[TEST]))
    else:
        report(*cross_validated(halves[DEVELOPMENT]))


def known_page(page: WikiPage, naming: Mapping[str, Sequence[str]]) -> Known | None:
    """A page with its true type; None where the rules are not certain of it, or read no infobox.

    Args:
        page: the page.
        naming: the fields that name pages, by title.
    """
    signals = signal_row(page.shown, SITE)
    rules = classify_page(signals)
    if not infobox_is_known(rules) or rules["confidence"] < load_rules().weighing.settled:
        return None
    named_in = naming.get(page.shown["title"], ())
    seen = page_features(signals, page.shown["wikitext"], hides_infobox=True, named_in=named_in)
    # The files name some infoboxes otherwise than the page does.
    text = without_template(page.hidden["wikitext"], signals["infobox_template"])
    without = signal_row({**page.hidden, "wikitext": text}, SITE)
    if without["infobox_template"] == signals["infobox_template"]:
        sys.exit(f"page {page.shown['title']!r} still shows an infobox: the measurement is void")
    rules_without = classify_page(without)
    return Known(
        rules["primary_type"],
        SettledPage(page.shown["title_key"], rules["primary_type"], seen),
        page_features(without, text, hides_infobox=infobox_is_known(rules_without), named_in=named_in),
        rules_without,
    )


def asked(taught: Sequence[Known], open_pages: Sequence[Known]) -> tuple[list[Answer], Evaluation]:
    """The answers about some pages, by a model that others taught."""
    trained = train([page.taught for page in taught])
    if trained is None:
        sys.exit("the pages have too few types to learn from")
    model, _ = trained
    probabilities = np.array([model.probabilities(page.asked) for page in open_pages])
    answers = [answer(page, model) for page in open_pages]
    places = {name: place for place, name in enumerate(model.types)}
    learned = [place for place, page in enumerate(open_pages) if page.type in places]
    truth = np.array([places[open_pages[place].type] for place in learned])
    return answers, Evaluation(model.types, probabilities[learned], truth)


def cross_validated(pages: Sequence[Known]) -> tuple[list[Answer], Evaluation]:
    """The answers about all pages, each by a model that the other four folds taught."""
    ordered = sorted(pages, key=lambda page: page.taught.title_key)
    parts = [
        asked([page for place, page in enumerate(ordered) if place % _FOLDS != fold], ordered[fold::_FOLDS])
        for fold in range(_FOLDS)
    ]
    return [one for answers, _ in parts for one in answers], joined([evaluation for _, evaluation in parts])


def joined(parts: Sequence[Evaluation]) -> Evaluation:
    """The answers of several models as those of one."""
    types = sorted({name for part in parts for name in part.types})
    probabilities, truth = [], []
    for part in parts:
        places = [types.index(name) for name in part.types]
        wide = np.zeros((part.pages, len(types)))
        wide[:, places] = part.probabilities
        probabilities.append(wide)
        truth.append(np.array(places)[part.truth])
    return Evaluation(types, np.vstack(probabilities), np.concatenate(truth))


def answer(page: Known, model: TypeModel) -> Answer:
    """The answers about one page."""
    said = model.predict(page.asked)
    return Answer(page.type, by_rules(page), None if said.abstains else said.type)


def by_rules(page: Known) -> str | None:
    """The rules' answer, if it settles the page."""
    is_settled = page.rules["confidence"] >= load_rules().weighing.settled
    return str(page.rules["primary_type"]) if is_settled else None


def report(answers: Sequence[Answer], evaluation: Evaluation) -> None:
    """Print how much is settled, and how much of that is right."""
    print(f"{len(answers)} pages are scored\n")
    print(f"{'':14}{'settled':>9}{'right of the settled':>22}{'95% interval':>20}")
    for name in ("by_rules", "by_model", "by_both"):
        given = [(getattr(one, name), one.truth) for one in answers if getattr(one, name)]
        right = sum(said == truth for said, truth in given)
        low, high = wilson_interval(right, len(given))
        print(
            f"{name.replace('_', ' '):14}{percent(len(given), len(answers)):>9}"
            f"{percent(right, len(given)):>22}{f'{100 * low:.1f}% to {100 * high:.1f}%':>20}"
        )
    print(
        f"\nmodel: macro F1 {evaluation.macro_f1:.3f} over {evaluation.pages} pages of types that it knows,"
    )
    print(f"calibration error {evaluation.calibration_error:.3f}")


if __name__ == "__main__":
    main()
