"""What a model sees of a page: features that exist in any language, each with a value.

A feature's name is its kind and its text, as in "category: Moons of Thuum". The values of one kind have one
length together, so that a page with many links is not all links.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise

from holocron_assets.lake.declaration.schema import Row

Features = Mapping[str, float]
"""The values of a page's features, by their names."""

MEANING = "meaning"
"""The start of the kinds of features that are the numbers of a vector, which only together say something."""

_WORD = re.compile(r"\w+")
_QUALIFIER = re.compile(r"\(([^()]+)\)\s*$")
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,100})")
_TEMPLATE = re.compile(r"\{\{([^{}|#<>\n]{1,100})")

_MOST_LINKS = 100
_MANY_WORDS = 6
_MOST_LEAD_WORDS = 40
_OPENING_WORDS = 12
"""Words of the lead of which pairs count: they say what the subject is."""

_STRUCTURE = frozenset(
    {
        *("infobox", "infobox word", "field", "category", "category word"),
        *("template", "heading", "qualifier"),
    }
)
"""Kinds that editors repeat on all pages of a sort. They say whether pages of that sort are known."""

_WEIGHTS = {"lead": 0.7, "lead words": 0.7, "lead part": 0.7, "named in": 0.5}
"""Kinds that weigh less: the words of leads are many, most of one page alone; fields of others are rare."""

_TITLE_GRAMS = (2, 3, 4)
_LEAD_GRAMS = (4,)


def infobox_is_known(rules: Row) -> bool:
    """Whether a rule read a page's infobox (`rules` is the page's row of table rule_classifications).

    Then the model does not see it: rules settle such pages, and pages without an infobox are left. A model
    that learned from infoboxes would know nothing of these.
    """
    return any(piece["stage"] == "infobox" for piece in rules["evidence"])


def infobox_is_contradicted(rules: Row) -> bool:
    """Whether a rule read a page's infobox, and another speaks for a type that the infobox does not say."""
    said = {piece["type"] for piece in rules["evidence"] if piece["stage"] == "infobox"}
    return bool(said) and any(piece["type"] not in said for piece in rules["evidence"])


def page_features(
    signals: Row, wikitext: str, *, hides_infobox: bool, named_in: Sequence[str] = ()
) -> Features:
    """The features of one page.

    Args:
        signals: its row of table page_signals.
        wikitext: its text.
        hides_infobox: whether to leave out what the infobox says.
        named_in: fields of other pages' infoboxes that name it, as in 'Character.homeworld'.
    """
    kinds: dict[str, Iterable[str]] = {}
    if signals["infobox_template"] and not hides_infobox:
        kinds["infobox"] = [signals["infobox_template"]]
        kinds["infobox word"] = _words(signals["infobox_template"])
        kinds["field"] = [field["name"] for field in signals["infobox_fields"]]
    body = _after_infobox(signals, wikitext)
    categories = set(signals["categories"])
    kinds["category"] = categories
    kinds["category word"] = (word for name in categories for word in _words(name))
    kinds["heading"] = [section["title"].casefold() for section in signals["sections"]]
    kinds["link"] = _targets(body, categories)
    kinds["template"] = (_capitalised(name) for name in _TEMPLATE.findall(body))
    kinds["named in"] = named_in
    kinds |= _of_title(signals["name"])
    kinds |= _of_lead(signals["lead_sentence"] or "")
    return {name: value for kind, texts in kinds.items() for name, value in _valued(kind, texts)}


def shown_name(feature: str) -> str:
    """What a feature is called where it is a reason: the numbers of one vector are one reason."""
    kind = feature.partition(":")[0]
    return kind if kind.startswith(MEANING) else feature


def familiarity(features: Features, known: Container[str]) -> float:
    """How much of what editors repeat on all pages of a sort is known of a page: from 0 to 1.

    Args:
        features: of the page. One without any such feature is as familiar as can be.
        known: features of pages that taught.
    """
    found = total = 0.0
    for name, value in features.items():
        if name.partition(":")[0] in _STRUCTURE:
            total += value * value
            found += value * value if name in known else 0.0
    return found / total if total else 1.0


def _after_infobox(signals: Row, wikitext: str) -> str:
    """The text from the lead on: links and templates before it belong to the infobox."""
    if signals["lead_offset"] is not None:
        return wikitext[signals["lead_offset"] :]
    return "" if signals["infobox_template"] else wikitext


def _valued(kind: str, texts: Iterable[str]) -> Iterator[tuple[str, float]]:
    each = set(texts)
    value = round(_WEIGHTS.get(kind, 1.0) * len(each) ** -0.5, 6) if each else 0.0
    return ((f"{kind}: {text}", value) for text in each)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _capitalised(title: str) -> str:
    """A title as a wiki compares it: the case of its first letter does not count."""
    name = title.replace("_", " ").strip()
    return name[:1].upper() + name[1:]


def _targets(text: str, categories: set[str]) -> Iterator[str]:
    for found in islice(_LINK.finditer(text), _MOST_LINKS):
        target = found[1]
        if target.partition(":")[2].strip() not in categories:
            yield _capitalised(target)


def _of_title(name: str) -> dict[str, Iterable[str]]:
    qualifier = _QUALIFIER.search(name)
    bare = _QUALIFIER.sub("", name).strip()
    words = _words(bare)
    return {
        "qualifier": _words(qualifier[1]) if qualifier else (),
        "words of the title": [str(min(len(words), _MANY_WORDS))],
        "title shape": _shape(bare),
        "title word": words,
        "title end": words[-1:],
        "title part": _grams(words, _TITLE_GRAMS),
    }


def _shape(name: str) -> Iterator[str]:
    if any(letter.isdigit() for letter in name):
        yield "a digit"
    if name.isupper():
        yield "capitals only"
    if any(word[:1].islower() for word in name.split()):
        yield "a small word"
    if re.search(r"[^\w\s]", name):
        yield "a sign"


def _of_lead(sentence: str) -> dict[str, Iterable[str]]:
    words = _words(sentence)[:_MOST_LEAD_WORDS]
    return {
        "lead": words,
        "lead words": (f"{one} {other}" for one, other in pairwise(words[:_OPENING_WORDS])),
        "lead part": _grams(words[:_OPENING_WORDS], _LEAD_GRAMS),
    }


def _grams(words: Iterable[str], lengths: Iterable[int]) -> Iterator[str]:
    """Characters in a row, of words with marks at both ends."""
    for word in words:
        marked = f"^{word}$"
        for length in lengths:
            yield from (marked[start : start + length] for start in range(len(marked) - length + 1))
