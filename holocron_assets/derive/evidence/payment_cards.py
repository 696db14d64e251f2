"""Numbers of payment cards in a text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# A number after a slash is part of an address
_GROUPED_DIGITS = re.compile(r"(?<![0-9/])[0-9]++(?:[ \u00a0\u2009\u202f\u2010-\u2013.-][0-9]++)*+")
_GROUP = re.compile(r"[0-9]++")
_LONGEST = 19


@dataclass(frozen=True, slots=True)
class Issuer:
    """An issuer of cards.

    Attributes:
        first: least and greatest of a number's first digits.
        lengths: how many digits its numbers have.
    """

    first: tuple[int, int]
    lengths: frozenset[int]

    def may_have_issued(self, digits: str) -> bool:
        """Whether a number may be this issuer's, by its start and length."""
        least, greatest = self.first
        return len(digits) in self.lengths and least <= int(digits[: len(str(least))]) <= greatest


Issuers = Mapping[str, tuple[Issuer, ...]]
"""Issuers by the first digit of their numbers."""


def by_first_digit(issuers: Sequence[Issuer]) -> Issuers:
    """Issuers by the first digits that their numbers may have."""
    found: dict[str, tuple[Issuer, ...]] = {}
    for issuer in issuers:
        least, greatest = (int(str(end)[0]) for end in issuer.first)
        for digit in map(str, range(least, greatest + 1)):
            found[digit] = (*found.get(digit, ()), issuer)
    return found


def find_cards(text: str, issuers: Issuers) -> Iterator[tuple[int, int]]:
    """Where card numbers are in a text: offsets of the first digit and after the last.

    Digits may be grouped by single spaces, dashes or points. A number starts and ends with a group, so it is
    also found between other digits.
    """
    for run in _GROUPED_DIGITS.finditer(text):
        groups = [match.span() for match in _GROUP.finditer(text, run.start(), run.end())]
        place = 0
        while place < len(groups):
            last = _last_group(text, groups, place, issuers)
            if last is not None:
                yield groups[place][0], groups[last][1]
            place = place + 1 if last is None else last + 1


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of those before it (ISO/IEC 7812-1, annex B)."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0  # noqa: PLR2004 - by the standard


def _last_group(text: str, groups: Sequence[tuple[int, int]], first: int, issuers: Issuers) -> int | None:
    """The end of the longest card number that starts with a group."""
    possible = issuers.get(text[groups[first][0]])
    if not possible:
        return None
    digits = ""
    found = None
    for place in range(first, len(groups)):
        start, end = groups[place]
        if len(digits) + end - start > _LONGEST:
            break
        digits += text[start:end]
        if any(issuer.may_have_issued(digits) for issuer in possible) and passes_luhn(digits):
            found = place
    return found
