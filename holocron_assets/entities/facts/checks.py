"""Checks of what a model says that need no model: whether the quoted sentence really states it.

A quote proves that words were said, not what they mean. So the sentence around the quote is read: it must
name both ends, in a form in which the key's patterns in `vocabulary.yaml` say it, and in that direction.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from unicodedata import category

from holocron_assets.derive.code.given import CodeItem
from holocron_assets.entities.facts.dates import find_dates
from holocron_assets.entities.facts.sentences import (
    LONGEST_SENTENCE,
    PageRead,
    load_sentences,
    mentions,
    name_pattern,
    states_fact,
    states_relation,
)
from holocron_assets.entities.facts.vocabulary import Kind, Vocabulary, load_vocabulary
from holocron_assets.languages.language import language_code

Check = Literal["quote", "unmapped", "repeats", "subject", "other", "hedged", "kind", "direction", "pattern"]
"""What a statement may fail.

- quote: its words are not in the page's text
- unmapped: its key is not in the vocabulary
- repeats: it only says the page's name again
- subject, other: the sentence does not name what it is about, or the other end or value
- hedged: the sentence denies or supposes it, or only says who says so
- kind: the value is not of the key's kind
- direction: the sentence says it the other way round
- pattern: no pattern of the key fits the sentence
"""


@dataclass(frozen=True)
class Said:
    """What a model says of a page's subject, or of another thing that the page names.

    Attributes:
        kind: 'fact' or 'relation'.
        subject: the name of what it is about; for a fact, the page's.
        key: its key, in the model's words.
        other: the fact's value, or the name of the other end.
        evidence: the quoted words.
    """

    kind: Kind
    subject: str
    key: str
    other: str
    evidence: str

    @property
    def hash(self) -> str:
        """The hash by which `model_facts.sql` finds the checks of a statement."""
        said = (self.kind, self.subject, self.key, self.other, self.evidence)
        return hashlib.md5("\x1f".join(said).encode(), usedforsecurity=False).hexdigest()


def failed_checks(said: Said, page: PageRead) -> list[Check]:
    """The checks that a statement fails, in a fixed order; none if its sentence states it.

    Args:
        said: the statement.
        page: the page that it quotes.
    """
    sentence = page.sentence(said.evidence)
    if sentence is None:
        return ["quote"]
    words = load_vocabulary()
    key = words.key_of(said.kind, plain_key(said.key))
    if key is None:
        return ["unmapped"]
    if page.is_own(said.other) and page.is_own(said.subject):
        return ["repeats"]
    failed: list[Check] = []
    if not any(mentions(page.subject(said.subject), sentence, owner=said.kind == "fact")):
        failed.append("subject")
    if not re.search(name_pattern(said.other), sentence, re.IGNORECASE):
        failed.append("other")
    if load_sentences().hedge.search(sentence):
        failed.append("hedged")
    if said.kind == "fact" and not _is_of_kind(said.other, words.facts[key].value, page):
        failed.append("kind")
    return failed or _reads(said, key, sentence, page, words)


def plain_key(word: str) -> str:
    """A model's key in small letters and underscores, as `model_facts.sql` has it.

    Args:
        word: the key in the model's words, of any script.
    """
    # SQL changes each letter to one. Python would make two of a Turkish one, and another of a Greek last one.
    small = (character.lower()[0] for character in word)
    kept = (character if category(character)[0] in "LMN" else " " for character in small)
    return "_".join("".join(kept).split())


def _reads(said: Said, key: str, sentence: str, page: PageRead, words: Vocabulary) -> list[Check]:
    """Whether a pattern of the key reads the sentence as the statement."""
    if len(sentence) > LONGEST_SENTENCE:
        return ["pattern"]
    if said.kind == "fact":
        patterns, subjects = words.facts[key].says, page.subject(said.subject)
        return (
            [] if any(states_fact(one, said.other, sentence, subjects) for one in patterns) else ["pattern"]
        )
    relation, ends = words.relations[key], (said.subject, said.other)
    if states_relation(relation, words, ends, page, sentence):
        return []
    return ["direction" if states_relation(relation, words, ends[::-1], page, sentence) else "pattern"]


def _is_of_kind(value: str, kind: str | tuple[str, ...], page: PageRead) -> bool:
    if kind == "number":
        return any(character.isdigit() for character in value)
    if kind == "date":
        return bool(find_dates(value, language_code(page.language)))
    if isinstance(kind, tuple):
        found = re.findall(r"[\w-]+", value.lower())
        return bool(found) and all(word in kind or word in {"and", "or"} for word in found)
    return True


def statement_of(kind: Kind, row: Mapping[str, str], title: str) -> Said:
    """What a row of `derived_entity_facts` or `derived_relationship_extraction` says."""
    if kind == "fact":
        return Said(kind, title, row["fact_key"], row["value"], row["evidence"])
    return Said(kind, row["from_name"], row["relation"], row["to_name"], row["evidence"])


def check_page(item: CodeItem) -> Iterator[dict[str, str]]:
    """The checks of all that models said of a page; the function of interrogation `statement_checks`.

    Args:
        item: a page with the answers of `entity_facts` and `relationship_extraction`.

    Yields:
        Rows of `statement` (a hash of what was said), `failed` (names of checks, separated by ', ') and
        `sentence`.
    """
    page = PageRead(item.page.title, item.page.part("text"), item.page.language)
    said = [statement_of("fact", row, page.title) for row in item.inputs["entity_facts"]]
    said += [statement_of("relation", row, page.title) for row in item.inputs["relationship_extraction"]]
    for one in dict.fromkeys(said):
        yield {
            "statement": one.hash,
            "failed": ", ".join(failed_checks(one, page)),
            "sentence": (page.sentence(one.evidence) or "")[:LONGEST_SENTENCE],
        }
