"""Cuts rows, columns and bytes that are too many. The same input always keeps the same parts."""

from collections.abc import Sequence
from typing import Literal, TypeVar

Sample = Literal["first", "last", "stride"]
"""Which of too many rows stay: the first, the last, or evenly spread ones that include the first."""

_T = TypeVar("_T")


def sampled(rows: Sequence[_T], most: int, how: Sample) -> Sequence[_T]:
    """At most `most` rows, in their order.

    Args:
        rows: all of them.
        most: the most rows to keep.
        how: which rows are kept.
    """
    count = len(rows)
    if count <= most:
        return rows
    if how == "first":
        return rows[:most]
    if how == "last":
        return rows[count - most :]
    return [rows[place * count // most] for place in range(most)]


def cut_to_bytes(text: str, limit: int) -> str:
    """A text, or a start of it, with at most `limit` UTF-8 bytes.

    It ends after a line, or else after a word, if one ends in the second half of what fits.

    Args:
        text: any text.
        limit: the most bytes.
    """
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    fits = encoded[:limit].decode(errors="ignore")
    if text[len(fits)].isspace():
        return fits.rstrip()
    for end in (fits.rfind("\n"), fits.rfind(" ")):
        if end > len(fits) // 2:
            return fits[:end].rstrip()
    return fits


def table_to_bytes(header: str, rows: Sequence[str], how: Sample, limit: int) -> str:
    """A table of lines with as many of its rows as fit into `limit` UTF-8 bytes.

    Args:
        header: its first line.
        rows: the other lines.
        how: which rows stay.
        limit: the most bytes; if not even one row fits, the first that would be kept is cut.
    """
    count = len(rows)
    while True:
        text = "\n".join([header, *sampled(rows, count, how)])
        size = len(text.encode())
        if size <= limit or count <= 1:
            return cut_to_bytes(text, limit)
        count = max(min(count - 1, count * limit // size), 1)


def fair_shares(sizes: Sequence[int], budget: int) -> list[int]:
    """The share of each in a budget: no more than it needs, and the rest goes to the others.

    Args:
        sizes: the size that each needs.
        budget: the sum to share.
    """
    shares = [0] * len(sizes)
    left = max(budget, 0)
    by_size = sorted(range(len(sizes)), key=lambda place: sizes[place])
    for number, place in enumerate(by_size):
        shares[place] = min(sizes[place], left // (len(sizes) - number))
        left -= shares[place]
    return shares
