"""The parts of a name: its key, its words and its designations."""

import re
import unicodedata
from typing import NamedTuple

from pydantic import StrictStr

from holocron_assets.frozen_model import FrozenModel

_SUFFIX = re.compile(r"\s*\(([^()]*)\)\s*$")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("", "", "'\u2019")
_POSSESSIVE = re.compile(r"['\u2019](?:[sS]\b|(?<=[sS]['\u2019])(?!\w))")
_ONLY_ALPHANUMERIC = {code: None for code in range(128) if not chr(code).isalnum()} | {0: " "}
_AFTER_A_WORD = re.compile(r"(?<=[^\W\d_])\++(?=\d)|(?<=[^\W_])[^\w\s]+(?!\w)")
_SHARP = "\u266f"
_SYMBOLS = frozenset("+#\u266d\u266e")
_PLURAL_OF_DESIGNATION = re.compile(r"(?<=\d)s$")
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0898-\u089f"
    "\u08ca-\u08e1\u08e3-\u08ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
    "\u2de0-\u2dff\ua66f-\ua672\ua674-\ua67d\ua69e\ua69f\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U000e0100-\U000e01ef]+"
)
"""Marks on Latin, Greek, Cyrillic, Hebrew and Arabic letters, and selectors of a character's variant.

A mark of another script makes another letter or is a vowel: "राम" is not "रोम"."""
_DIGIT = re.compile(r"\d")
_ROMAN = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})|XL(?:IX|IV|V?I{0,3})|L(?:IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}


class WordRules(FrozenModel):
    """The meaning of a language's words in names.

    Attributes:
        articles: words that may be left out: "The Varn" is "Varn".
        linking: words that go when others change places: "Academy of Varn" is "Varn Academy".
        numbers: words that are numbers: "First Varn" is not "Second Varn".
        plurals: ends of words in the plural, and what the singular has instead; the first that fits counts.
        shortest: the fewest letters of a word that may be a plural.
    """

    articles: frozenset[StrictStr]
    linking: frozenset[StrictStr]
    numbers: frozenset[StrictStr]
    plurals: dict[StrictStr, StrictStr]
    shortest: int


class NameParts(NamedTuple):
    """A parsed name.

    Attributes:
        key: the name without case, accents, punctuation, spaces and a suffix in parentheses: letters,
            digits and vowel signs, and a space where only that keeps two numbers apart. Symbols at the end of
            words follow ("C++", "Disney+"). Empty if it has no letter and no digit.
        qualifier: key of the text in parentheses at the end; empty if there is none.
        words: its words in lower case, without accents, possessive s, articles and designations.
        stems: these words, singular.
        articles: how many articles it has.
        designation: numbers, numerals, single letters and words with digits in them, in order, and symbols
            at the end of words: two names that differ in it are two names. Roman numerals are written as
            numbers.
    """

    key: str
    qualifier: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    articles: int
    designation: str


class _Word(NamedTuple):
    text: str
    stem: str
    is_designation: bool


class NameReader:
    """Parses names, and remembers them and their words."""

    def __init__(self, rules: WordRules) -> None:
        """Read by these rules."""
        self._rules = rules
        self._known: dict[str, _Word] = {}
        self._names: dict[str, NameParts] = {}

    def read(self, name: str) -> NameParts:
        """Parse one name."""
        parts = self._names.get(name)
        if parts is None:
            parts = self._names[name] = self._parse(name)
        return parts

    def _parse(self, name: str) -> NameParts:
        bare, qualifier = _without_suffix(name)
        found = _words(_without_apostrophes(bare))
        known = [self._known.get(word) or self._learn(word) for word in found]
        words = [word for word in known if not word.is_designation and word.stem]
        numbers = [word.stem for word in known if word.is_designation]
        symbols = _symbols(bare)
        return NameParts(
            _key(bare) + symbols,
            _key(qualifier) + _symbols(qualifier) if qualifier else "",
            tuple([word.text for word in words]),
            tuple([word.stem for word in words]),
            len(found) - len(words) - len(numbers),
            " ".join([*numbers, symbols] if symbols else numbers),
        )

    def _learn(self, word: str) -> _Word:
        known = self._known[word] = _read_word(word, self._rules)
        return known


def _read_word(word: str, rules: WordRules) -> _Word:
    if _ROMAN.fullmatch(word):
        return _Word(word, str(_roman_number(word)), is_designation=True)
    folded = _unaccented(word.casefold())
    if _DIGIT.search(folded):
        return _Word(folded, _PLURAL_OF_DESIGNATION.sub("", folded), is_designation=True)
    if len(folded) == 1 or folded in rules.numbers:
        return _Word(folded, folded, is_designation=True)
    stem = "" if folded in rules.articles else _singular(folded, rules)
    return _Word(folded, stem, is_designation=False)


def _singular(word: str, rules: WordRules) -> str:
    for plural, singular in rules.plurals.items() if len(word) >= rules.shortest else ():
        if word.endswith(plural):
            return word.removesuffix(plural) + singular
    return word


def _without_suffix(name: str) -> tuple[str, str]:
    """A name, and the text in parentheses at its end; a name of nothing else stays as it is."""
    match = _SUFFIX.search(name) if name.rstrip().endswith(")") else None
    if match is None or match.start() == 0:
        return name, ""
    return name[: match.start()], match[1]


def _without_apostrophes(text: str) -> str:
    if "'" not in text and "\u2019" not in text:
        return text
    return _POSSESSIVE.sub("", text).translate(_APOSTROPHES)


def _key(text: str) -> str:
    if text.isascii():
        return _BETWEEN_NUMBERS.sub("\x00", text.lower()).translate(_ONLY_ALPHANUMERIC)
    plain = _BETWEEN_NUMBERS.sub("\x00", unicodedata.normalize("NFKD", text.casefold()))
    kept = (each for each in _ACCENTS.sub("", plain) if _is_of_a_word(each) or each == "\x00")
    return "".join(kept).replace("\x00", " ")


def _symbols(text: str) -> str:
    """Symbols at the end of words, which make another name: "C++", "C♯", "Disney+", "Na⁺", "B♭".

    Between words and letters they are punctuation ("Romeo + Juliet"), as are a minus before a number and all
    of ASCII but two.
    """
    if text.isascii() and _SYMBOLS.isdisjoint(text):
        return ""
    ends = _AFTER_A_WORD.findall(unicodedata.normalize("NFKC", text).replace(_SHARP, "#"))
    return "".join(each for end in ends for each in end if _is_symbol(each))


def _is_symbol(character: str) -> bool:
    is_mathematical = not character.isascii() and unicodedata.category(character) == "Sm"
    return is_mathematical or character in _SYMBOLS


def _words(text: str) -> list[str]:
    if text.isascii():
        return _WORD.findall(text)
    return "".join(each if _is_of_a_word(each) else " " for each in _ACCENTS.sub("", text)).split()


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _unaccented(text: str) -> str:
    """Text without accents, in which syllables of Hangul and kana with marks are one character again."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def _roman_number(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))
