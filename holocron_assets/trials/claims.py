"""What a row of an answer claims, whatever its columns are called: so it can be compared and judged."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.entities.facts.checks import Said, plain_key, statement_of
from holocron_assets.entities.facts.sentences import PageRead
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.trials.amounts import MINUS
from holocron_assets.trials.comparison import Identity

_PARENTHESES = re.compile(r"\s*\([^)]*\)\s*$")
_PLAIN = re.compile(r"(?<![^\s(])-(?=\d)|\w+")
_ABOUT_THE_ANSWER = frozenset({"confidence", "rationale", "needs_review"})
"""Columns that say something of the answer, and nothing of the page."""


@dataclass(frozen=True)
class Claim:
    """What a row says of a page, or of two.

    Attributes:
        kind: 'fact', 'relation', 'type' (of a page) or 'pair' (of two entities).
        subject: the name of what it is about; empty for the page's own subject, or for a pair.
        key: key of the vocabulary; a word that the vocabulary lacks as it is said.
        other: the fact's value, the other end's name, the type, or 'same' or 'different'.
        unit: of a fact's value.
        said: the statement, for its checks; None for a type or a pair.
    """

    kind: Literal["fact", "relation", "type", "pair"]
    subject: str
    key: str
    other: str
    unit: str = ""
    said: Said | None = None

    @property
    def identity(self) -> Identity:
        """What makes two claims one."""
        return self.kind, plain(self.subject), self.key, plain(f"{self.other} {self.unit}")

    @property
    def words(self) -> str:
        """The claim in a line."""
        if self.kind == "fact":
            return f"{self.key} = {self.other} {self.unit}".rstrip()
        if self.kind == "relation":
            return f"{self.said.subject if self.said else self.subject} {self.key} {self.other}"
        return self.other


def claim_of(row: Row, title: str) -> Claim | None:
    """What a row claims; None if its columns are of no known kind.

    Args:
        row: of an answer.
        title: the page that it was read on; empty for a pair.
    """
    said = _statement(row, title)
    if said is not None:
        key = plain_key(said.key)
        own = not said.subject or PageRead(title, "").is_own(said.subject)
        return Claim(
            kind=said.kind,
            subject="" if own else said.subject,
            key=load_vocabulary().key_of(said.kind, key) or key,
            other=said.other.strip(),
            unit=(row.get("unit") or "").strip() if said.kind == "fact" else "",
            said=said,
        )
    if isinstance(row.get("primary_type"), str):
        return Claim("type", "", "primary_type", row["primary_type"])
    if isinstance(row.get("same_entity"), bool):
        return Claim("pair", "", "same_entity", "same" if row["same_entity"] else "different")
    return None


def compared_columns(tried: Interrogation, live: Interrogation | None) -> Sequence[str]:
    """The columns in which rows that claim nothing known are compared: those that both have."""
    apart = {*_ABOUT_THE_ANSWER, *tried.rows.quotes, *(live.rows.quotes if live else ())}
    shared = tried.answer_columns if live is None else set(live.answer_columns)
    return [name for name in tried.answer_columns if name in shared and name not in apart]


def identity_of(row: Row, claim: Claim | None, columns: Sequence[str]) -> Identity:
    """What makes two rows one."""
    return claim.identity if claim else tuple(plain(_text(row.get(name))) for name in columns)


def words_of(row: Row, claim: Claim | None, columns: Sequence[str]) -> str:
    """A row in a line."""
    if claim:
        return claim.words
    said = ((name, _text(row.get(name))) for name in columns)
    return ", ".join(f"{name}: {text}" for name, text in said if text)


def plain(text: str) -> str:
    """A name or value without case, what stands in parentheses at its end, and marks but a number's sign."""
    words = _PLAIN.findall(_PARENTHESES.sub("", text).lower().replace(MINUS, "-"))
    return " ".join(words)


def _statement(row: Row, title: str) -> Said | None:
    """The fact or relation that a row is, whichever interrogation it comes from."""
    quoted = {"evidence": "", **row}
    if _has_texts(row, "fact_key", "value"):
        return statement_of("fact", quoted, title)
    if _has_texts(row, "from_name", "relation", "to_name"):
        return statement_of("relation", quoted, title)
    if _has_texts(row, "kind", "key", "other") and row["kind"] in {"fact", "relation"}:
        return Said(row["kind"], title, row["key"], row["other"], quoted["evidence"])
    return None


def _has_texts(row: Row, *names: str) -> bool:
    return all(isinstance(row.get(name), str) for name in names)


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case Mapping():
            return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
        case list() | tuple():
            return ", ".join(map(_text, value))
    return str(value)
