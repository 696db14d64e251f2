"""What a name is made of: what is left of it however it is written, its words, and its designations."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_SUFFIX = re.compile(r"\s*\(([^()]*)\)\s*$")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)[^\w]+(?=\d)")
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['\u2019]s\b|(?<=s)['\u2019](?!\w)")
_ROMAN = re.compile(r"(?=[IVXL])X{0,3}(?:IX|IV|V?I{0,3})|XL(?:IX|IV|V?I{0,3})|L(?:IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}
_DIGIT = re.compile(r"\d")


class NameParts(NamedTuple):
    """A name taken apart.

    Attributes:
        key: as `name_key` gives it.
        text: its words in lower case without accents, designations included, joined by spaces.
        words: those words that are no designations.
        designation: numbers, numerals, single letters and words with digits in them, in order: two names that
            differ in it are two names. Roman numerals are written as numbers.
        qualifier: the key of what stands in parentheses at the end; empty without.
    """

    key: str
    text: str
    words: tuple[str, ...]
    designation: str
    qualifier: str


def name_key(name: str) -> str:
    """What is left of a name without case, accents, punctuation, spaces and a suffix in parentheses.

    Args:
        name: a title or an alias.

    Returns:
        Letters and digits, and a space where only that keeps two numbers apart; empty for a name that has
        neither letters nor digits.
    """
    return _key(_without_suffix(name)[0])


@lru_cache(maxsize=1 << 19)
def name_parts(name: str) -> NameParts:
    """Take a name apart."""
    bare, suffix = _without_suffix(name)
    words = [_word(word) for word in _WORD.findall(_unaccented(_POSSESSIVE.sub("s", bare)))]
    designations = [word for word in words if _is_designation(word)]
    return NameParts(
        key=_key(bare),
        text=" ".join(word.casefold() for word in words),
        words=tuple(word.casefold() for word in words if not _is_designation(word)),
        designation=" ".join(designations).casefold(),
        qualifier=_key(suffix),
    )


def _without_suffix(name: str) -> tuple[str, str]:
    if not name.endswith(")"):
        return name, ""
    match = _SUFFIX.search(name)
    if match is None or match.start() == 0:
        return name, ""
    return name[: match.start()], match[1]


def _key(text: str) -> str:
    apart = _BETWEEN_NUMBERS.sub("\x00", text)
    plain = unicodedata.normalize("NFKD", apart.casefold())
    return "".join(
        " " if character == "\x00" else character
        for character in plain
        if character.isalnum() or character == "\x00"
    )


def _unaccented(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _word(word: str) -> str:
    return str(_roman_number(word)) if _ROMAN.fullmatch(word) else word


def _is_designation(word: str) -> bool:
    return len(word) == 1 or _DIGIT.search(word) is not None


def _roman_number(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))
