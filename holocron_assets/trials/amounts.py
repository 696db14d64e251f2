"""Numbers as a language writes them, and units by their names: whether two amounts can be compared."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, RootModel

from holocron_assets.entities.data_files import read_data_file

UNITS_FILE = Path(__file__).with_name("units.yaml")

MINUS = "\u2212"
"""The sign of numbers in careful typography, where keyboards have a hyphen."""
_SPACES = " \u00a0\u2009\u202f"
_THOUSANDS = {".": ",", ",": f".{_SPACES}"}
"""What marks thousands, by the sign before decimals."""
# A comma or point that is not before three digits marks decimals in every language.
_NUMBERS = {
    decimal: re.compile(
        rf"(?<![\d.,])(?>(?P<grouped>-?[1-9]\d{{0,2}}(?:[{marks}]\d{{3}})+(?!\d)(?:{re.escape(decimal)}\d+)?)"
        r"|-?\d+(?:[.,]\d+)?)(?![.,]?\d)"
    )
    for decimal, marks in _THOUSANDS.items()
}
_WORDS = re.compile(r"[^\W\d_]+|[%°/]")
_UNIT = re.compile(r"\s*([^\W\d_]|[%°]).*", re.DOTALL)


class UnitsFile(RootModel[Mapping[str, tuple[str, ...]]]):
    """`units.yaml`, which explains itself."""

    model_config = ConfigDict(frozen=True)


def number_in(text: str, decimal: str) -> tuple[float, str] | None:
    """The first number in figures that a text has, and the known unit behind it; None without a number.

    Args:
        text: the text.
        decimal: the language's sign before decimals, as its `Values` say: a point or a comma.
    """
    text = text.replace(MINUS, "-")
    found = _NUMBERS[decimal].search(text)
    if found is None:
        return None
    figure = re.sub(rf"[^\d{decimal}-]", "", found[0]) if found["grouped"] else found[0]
    behind = _UNIT.fullmatch(text, found.end())
    unit = behind[0].strip() if behind else ""
    return float(figure.replace(",", ".")), unit if _starts_with_a_unit(unit) else ""


def same_unit(one: str, other: str) -> bool:
    """Whether two units are one, by whole words. What comes behind may differ, as in "metres" and "m long".

    "m" is no "mm", and "km" is no "km/h".
    """
    shorter, longer = sorted((_words(one), _words(other)), key=len)
    size = len(shorter)
    return longer[:size] == shorter and longer[size : size + 1] != ["per"]


def _starts_with_a_unit(text: str) -> bool:
    return not _units().keys().isdisjoint(_words(text)[:1])


def _words(unit: str) -> Sequence[str]:
    """The words of a unit, each by one name."""
    written = _WORDS.findall(unit.lower())
    return [name for word in written for name in _name(word).split()]


def _name(word: str) -> str:
    one = word.removesuffix("s")
    return _names().get(word) or _names().get(one) or one


@cache
def _names() -> Mapping[str, str]:
    """The unit that each name stands for."""
    return {name: unit for unit, names in _units().items() for name in (unit, *names)}


@cache
def _units() -> Mapping[str, Sequence[str]]:
    return read_data_file(UNITS_FILE, UnitsFile).root
