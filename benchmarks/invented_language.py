"""How many questions settle a wiki in a language that no rule knows.

Run: python benchmarks/invented_language.py [--without-infobox]

Needs ../shared/wookieepedia. Every word of the pages is replaced by an invented one, one for one: names,
fields, categories, headings and leads. Only the names of namespaces stay, which a wiki says itself. Then
rules settle no page. A person who is always right, simulated from the type that the rules give the English
page with its infobox, answers questions about pages one by one, in small rounds with training in between.
The table shows the share of pages that are settled after each round, and how many of these are right: by
asking about the most unsure pages first, and in page order, which is the order of a hash.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import xxhash
from learned_types import known_page, naming_fields, wiki_pages
from type_accuracy import SHARED, SITE, percent

from holocron_assets.classify.learned.features import Features, page_features
from holocron_assets.classify.learned.model import Prediction
from holocron_assets.classify.learned.training import SettledPage, train
from holocron_assets.classify.rules import classify_page, load_rules
from holocron_assets.derive.dispatch.work_order import in_turns
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.signals.extract import signal_row

QUESTIONS = 150
A_ROUND = 15
_IN_TURNS, _UNSURE, _IN_PAGE_ORDER = "unsure, in turns", "the most unsure", "in page order"
_LANGUAGE = "x-invented"
_WORD = re.compile(r"(<[^<>\n]*>|\[\[\s*(?:Category|File|Image)\s*:|&[a-z]+;|https?://\S+)|([^\W\d_]+)")
_CONSONANTS, _VOWELS = "bdfghklmnprstvz", "aeiou"


class Language:
    """Invents a word for each word, always the same."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._taken: set[str] = set()

    def translate(self, text: str) -> str:
        """A text with other words. Tags, addresses, numbers and names of namespaces stay."""
        return _WORD.sub(lambda found: found[1] or self._word(found[2]), text)

    def _word(self, word: str) -> str:
        own = word.casefold()
        if own not in self._words:
            self._words[own] = next(one for one in _candidates(own) if one not in self._taken)
            self._taken.add(self._words[own])
        invented = self._words[own]
        if word.isupper() and len(word) > 1:
            return invented.upper()
        return invented.capitalize() if word[0].isupper() else invented


def _candidates(word: str) -> Iterator[str]:
    seed = 0
    while True:
        number = xxhash.xxh64_intdigest(word.encode(), seed)
        syllables = []
        for _ in range(2 + number % 3):
            number, consonant = divmod(number // 3, len(_CONSONANTS))
            number, vowel = divmod(number, len(_VOWELS))
            syllables.append(_CONSONANTS[consonant] + _VOWELS[vowel])
        yield "".join(syllables)
        seed += 1


class InventedPage(NamedTuple):
    """A page in the invented language.

    Attributes:
        title_key: of its invented title.
        type: its true type.
        template: its infobox template, if it has one.
        features: what the model sees of it.
        by_rules: what the rules say of it.
    """

    title_key: int
    type: str
    template: str | None
    features: Features
    by_rules: Row

    @property
    def lesson(self) -> SettledPage:
        """What the model learns from it once a person answered."""
        return SettledPage(self.title_key, self.type, self.features)


def invented_pages(*, has_infobox: bool) -> list[InventedPage]:
    """The wiki's pages of which the true type is certain, in the order of their keys."""
    language, site, book = Language(), replace(SITE, language=_LANGUAGE), load_rules(_LANGUAGE)
    of_wiki = list(wiki_pages())
    naming = naming_fields(() if has_infobox else {page.shown["title"] for page in of_wiki})
    pages = []
    for page in of_wiki:
        known = known_page(page, naming)
        if known is None:
            continue
        row = page.shown if has_infobox else page.hidden
        title, text = language.translate(row["title"]), language.translate(row["wikitext"])
        key = title_key(row["source"], title)
        signals = signal_row({**row, "title": title, "title_key": key, "wikitext": text}, site)
        # Nothing reads the words of these names, so they may stay as they are.
        named_in = naming.get(row["title"], ())
        features = page_features(signals, text, hides_infobox=False, named_in=named_in)
        template = signals["infobox_template"]
        pages.append(InventedPage(key, known.type, template, features, classify_page(signals, book)))
    return sorted(pages, key=lambda page: page.title_key)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--without-infobox", action="store_true", help="remove the infobox of each page")
    arguments = parser.parse_args()
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    pages = invented_pages(has_infobox=not arguments.without_infobox)
    settled = sum(page.by_rules["confidence"] >= load_rules().weighing.settled for page in pages)
    print(f"{len(pages)} pages, of which the rules settle {settled}\n")
    print(f"{'asked first':18}{'questions':>10}{'settled':>9}{'right of the settled':>22}")
    for order in (_IN_TURNS, _UNSURE, _IN_PAGE_ORDER):
        ask_in_rounds(pages, order)


def ask_in_rounds(pages: Sequence[InventedPage], order: str) -> None:
    """Print what is settled after each round of questions."""
    asked: list[int] = []
    while True:
        said = predicted(pages, asked)
        report(order, pages, asked, said)
        if len(asked) >= QUESTIONS:
            return
        open_now = [place for place in range(len(pages)) if place not in set(asked)]
        if order != _IN_PAGE_ORDER and said:
            open_now.sort(key=lambda place: said[place].probability)
        if order == _IN_TURNS and said:
            unsure = [place for place in open_now if said[place].abstains]
            sure = [place for place in open_now if not said[place].abstains]
            open_now = in_turns(unsure, lambda place: pages[place].template) + sure
        asked += open_now[: min(A_ROUND, QUESTIONS - len(asked))]


def predicted(pages: Sequence[InventedPage], asked: Sequence[int]) -> Sequence[Prediction]:
    """What the model that these answers teach says of every page; nothing before it can be trained."""
    trained = train([pages[place].lesson for place in asked])
    return [trained[0].predict(page.features) for page in pages] if trained else ()


def report(
    order: str, pages: Sequence[InventedPage], asked: Sequence[int], said: Sequence[Prediction]
) -> None:
    """Print one line: a person's answers count as settled and right, and as questions."""
    given = [
        (one.type, page.type)
        for place, (page, one) in enumerate(zip(pages, said, strict=False))
        if place not in set(asked) and not one.abstains
    ]
    settled = len(asked) + len(given)
    right = len(asked) + sum(one == truth for one, truth in given)
    print(f"{order:18}{len(asked):10}{percent(settled, len(pages)):>9}{percent(right, settled):>22}")


if __name__ == "__main__":
    main()
