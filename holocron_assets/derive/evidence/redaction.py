"""Secrets and personal data taken out of a text: each is replaced by a placeholder such as `[email 1]`.

`redaction.yaml` says what counts, with a pattern and its reason for each kind.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from holocron_assets.derive.evidence.payment_cards import Issuer, Issuers, by_first_digit, find_cards
from holocron_assets.lake.files.people_yaml import load_yaml

_WITHOUT_MEANING = re.compile(r"[\s().\-\u2010-\u2013/]")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One sort of secret.

    Attributes:
        kind: the name in its placeholder.
        pattern: its pattern; group `secret`, or else the whole match, is replaced.
    """

    kind: str
    pattern: re.Pattern[str]

    def secrets(self, text: str) -> Iterator[tuple[int, int]]:
        """Where such secrets are in a text."""
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            yield match.span(group)


@dataclass(slots=True)
class Redactor:
    """Takes secrets out of the texts of one item: the same secret always becomes the same placeholder.

    It remembers the secrets that it took out; its `repr` shows none.
    """

    _placeholders: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    _counts: Counter[str] = field(default_factory=Counter)

    def redact(self, text: str) -> str:
        """A text without secrets; the rest of it is unchanged."""
        patterns, issuers = _rules()
        for pattern in patterns:
            text = self._replaced(text, pattern.kind, pattern.secrets(text))
        return self._replaced(text, "card", find_cards(text, issuers))

    def _replaced(self, text: str, kind: str, spans: Iterator[tuple[int, int]]) -> str:
        pieces = []
        position = 0
        for start, end in spans:
            pieces += [text[position:start], self._placeholder(kind, text[start:end])]
            position = end
        return "".join(pieces) + text[position:]

    def _placeholder(self, kind: str, secret: str) -> str:
        known = (kind, _comparable(kind, secret))
        if known not in self._placeholders:
            self._counts[kind] += 1
            self._placeholders[known] = f"[{kind} {self._counts[kind]}]"
        return self._placeholders[known]


def _comparable(kind: str, secret: str) -> str:
    """A secret in the form that is compared: the grouping of its digits makes no difference."""
    return _WITHOUT_MEANING.sub("", secret) if kind in ("card", "phone") else secret


@cache
def _rules() -> tuple[tuple[_Pattern, ...], Issuers]:
    rules = load_yaml(files(__package__).joinpath("redaction.yaml").read_text(encoding="utf-8"))
    patterns = tuple(_Pattern(rule["kind"], re.compile(rule["pattern"])) for rule in rules["patterns"])
    issuers = [Issuer(tuple(rule["first"]), frozenset(rule["lengths"])) for rule in rules["cards"]]
    return patterns, by_first_digit(issuers)
