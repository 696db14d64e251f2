"""Checks of what a model says that need no model: whether the quoted sentence really states it.

A quote proves that words were said, not what they mean. So the sentence around the quote is read: it must
name both ends, in a form in which the key's patterns in `vocabulary.yaml` say it, and in that direction.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from holocron_assets.derive.code.given import CodeItem
from holocron_assets.derive.evidence.quotes import find_quote
from holocron_assets.entities.data_files import read_data_file
from holocron_assets.entities.facts.dates import find_dates
from holocron_assets.entities.facts.vocabulary import Kind, Vocabulary, load_vocabulary

SENTENCES_FILE = Path(__file__).with_name("sentences.yaml")

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

LONGEST_SENTENCE = 800
"""Characters. A longer one is a list or a table, which no pattern reads."""

_SHORTEST_NAME = 3
"""Characters of a part of a name that may stand for all of it."""

_ASIDE = r"(?:\s*\([^)]*\))?(?:,[^,.]{1,120},)?"
_NAME = r"[A-Z][\w'\u2019.-]*"
_LISTED = rf"(?:(?:the\s+)?{_NAME}(?:\s+{_NAME}){{0,4}}(?:,\s+and\s+|,\s+|\s+and\s+)(?:the\s+)?){{0,6}}"
_PHRASE_ENDS = (
    r"(?=\s*(?:[,.;:()\"\u201d]|$)|\s+(?:of|from|in|on|at|who|that|which|with|for|by|and|or|during|used|built|"
    r"made|designed|produced|manufactured|created|to|under|located|found|serving|working|known|native|active)\b)"
)
_PARENTHESES = re.compile(r"\s*\([^)]*\)\s*$")
_SENTENCE_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c(\[]*[A-Z0-9])|\n+")
_LAST_WORD = re.compile(r"(\w+)$")
_ANOTHER_SUBJECT = re.compile(r"[A-Z][\w'\u2019-]*,? (?:who|which|whose|that|where) $")


class Sentences(BaseModel):
    """The words of `sentences.yaml`, which explains each list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    denied: tuple[str, ...]
    supposed: tuple[str, ...]
    attributed: tuple[str, ...]
    pronouns: tuple[str, ...]
    determiners: tuple[str, ...]
    prepositions: tuple[str, ...]
    adverbs: tuple[str, ...]
    abbreviations: tuple[str, ...]

    @cached_property
    def hedge(self) -> re.Pattern[str]:
        """Finds a word by which a sentence does not state what it says."""
        words = (*self.denied, *self.supposed, *self.attributed)
        return re.compile(rf"\b(?!May\b)(?i:{_any(words)})\b|n't\b")  # May is a month

    @cached_property
    def word(self) -> str:
        """Pattern of a word that is no preposition."""
        return rf"(?!(?:{_any(self.prepositions)})\b)[\w'\u2019-]+,?"

    @cached_property
    def before_object(self) -> str:
        """Pattern of what may stand between a verb and the name of its object."""
        return rf"\s+(?:(?:{_any(self.determiners)})\s+)?(?:{self.word}\s+){{0,4}}?{_LISTED}$"

    @cached_property
    def before_verb(self) -> str:
        """Pattern of what may stand between the subject and its verb."""
        chain = r"(?P<chain>[^.;]{0,200}?(?:\band|\bwho|\bthat|\bwhich|\bthen|,)\s+)?"
        return rf"^{_ASIDE}\s*{chain}(?:(?:{_any(self.adverbs)}|\w+ly)\s+)*"


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


@dataclass(frozen=True)
class PageRead:
    """The page that a statement quotes.

    Attributes:
        title: its title.
        text: its text as a reader sees it.
    """

    title: str
    text: str

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of its subject: the title without what stands in parentheses, and its first and last word."""
        name = _PARENTHESES.sub("", self.title).split("/")[0]
        words = [word for word in name.split() if len(word) >= _SHORTEST_NAME and word[:1].isupper()]
        return frozenset({name, *words[:1], *words[-1:]})

    def is_own(self, name: str) -> bool:
        """Whether a name is the subject's."""
        return _folded(name) in {_folded(known) for known in (*self.names, self.title)}

    def sentence(self, quote: str) -> str | None:
        """The sentence that a quote stands in, or the sentences; None if the page lacks the words."""
        span = find_quote(quote, self.text)
        if span is None:
            return None
        ends = [0, *(end for end in _sentence_ends(self.text)), len(self.text)]
        start = max(end for end in ends if end <= span.start)
        stop = min(end for end in ends if end >= span.end)
        return self.text[start:stop].strip()


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
    subjects = _subject_pattern(said.subject, page)
    if not re.search(subjects, sentence):
        failed.append("subject")
    if not re.search(_name_pattern([said.other]), sentence, re.IGNORECASE):
        failed.append("other")
    if load_sentences().hedge.search(sentence):
        failed.append("hedged")
    if said.kind == "fact" and not _is_of_kind(said.other, words.facts[key].value):
        failed.append("kind")
    return failed or _reads(said, key, sentence, subjects, words)


def plain_key(word: str) -> str:
    """A model's key in small letters and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")


@cache
def load_sentences(path: Path = SENTENCES_FILE) -> Sentences:
    """Read the words of sentences.

    Raises:
        DataFileError: the file cannot be used; names file and key.
    """
    return read_data_file(path, Sentences)


def _reads(said: Said, key: str, sentence: str, subjects: str, words: Vocabulary) -> list[Check]:
    """Whether a pattern of the key reads the sentence as the statement."""
    if len(sentence) > LONGEST_SENTENCE:
        return ["pattern"]
    if said.kind == "fact":
        patterns = words.facts[key].says
        return [] if any(_says_fact(one, said.other, sentence, subjects) for one in patterns) else ["pattern"]
    relation = words.relations[key]
    others = _name_pattern([said.other])
    back = words.relations[relation.inverse] if relation.inverse else None
    backwards = back.says if back else ()
    if _says(relation.says, subjects, others, sentence) or _says(backwards, others, subjects, sentence):
        return []
    if _says(relation.says, others, subjects, sentence) or _says(backwards, subjects, others, sentence):
        return ["direction"]
    return ["pattern"]


def _says(patterns: Iterable[str], first: str, second: str, sentence: str) -> bool:
    """Whether a sentence says one of some patterns of two names."""
    return any(
        _between(pattern).search(sentence[one.end() : other.start()]) is not None
        and _is_clause(sentence[one.end() : other.start()], pattern)
        for one in re.finditer(first, sentence)
        for other in re.finditer(second, sentence, re.IGNORECASE)
        if one.end() < other.start() and not re.match(r"['\u2019]s\b|-\w", sentence[other.end() :])
        for pattern in patterns
    )


def _is_clause(between: str, pattern: str) -> bool:
    """Whether the verb's subject is the first name, and no other that stands in between."""
    found = _between(pattern).search(between)
    chain = (found.group("chain") if found else None) or ""
    return not _ANOTHER_SUBJECT.search(chain)


def _says_fact(pattern: str, value: str, sentence: str, subjects: str) -> bool:
    text = _spaced(re.escape(value.strip()))
    own = _pattern(pattern).replace("HEAD", f"VALUE{_PHRASE_ENDS}").replace("VALUE", rf"\b{text}\b")
    compiled = re.compile(rf"\b(?:{own})" if own[:1].isalpha() else own, re.IGNORECASE)
    starts_with_verb = pattern.startswith("(was")
    for one in re.finditer(subjects, sentence):
        rest = sentence[one.end() :]
        for found in compiled.finditer(rest):
            lead = rest[: found.start()]
            if starts_with_verb:
                if re.search(load_sentences().before_verb + "$", lead) and not _ANOTHER_SUBJECT.search(lead):
                    return True
            elif not re.search(r",? (?:who|which|whose|where) ", lead):
                return True
    return False


@cache
def _between(pattern: str) -> re.Pattern[str]:
    words = load_sentences()
    return re.compile(words.before_verb + rf"(?:{_pattern(pattern)})" + words.before_object)


def _pattern(says: str) -> str:
    """A pattern of the vocabulary as a regular expression."""
    return _spaced(says).replace("WORD", load_sentences().word)


def _is_of_kind(value: str, kind: str | tuple[str, ...]) -> bool:
    if kind == "number":
        return any(character.isdigit() for character in value)
    if kind == "date":
        return bool(find_dates(value))
    if isinstance(kind, tuple):
        found = re.findall(r"[\w-]+", value.lower())
        return bool(found) and all(word in kind or word in {"and", "or"} for word in found)
    return True


def _subject_pattern(subject: str, page: PageRead) -> str:
    if not page.is_own(subject):
        return _name_pattern([subject])
    pronouns = _any(f"{word}" for word in load_sentences().pronouns)
    return rf"{_name_pattern([*page.names, subject])}|\b(?i:{pronouns})\b"


def _name_pattern(names: Iterable[str]) -> str:
    plain = {_PARENTHESES.sub("", name.strip()) or name.strip() for name in names}
    longest = sorted(filter(None, plain), key=lambda name: (-len(name), name))
    return rf"(?<![\w-])(?:{'|'.join(_spaced(re.escape(name)) for name in longest)})(?:s|es)?(?!\w)"


def _sentence_ends(text: str) -> Iterator[int]:
    short = load_sentences().abbreviations
    for found in _SENTENCE_END.finditer(text):
        before = _LAST_WORD.search(text[: found.start()][-20:])
        word = before[1] if before else ""
        if found[0].startswith(".") and (word.lower() in short or (len(word) == 1 and word.isupper())):
            continue
        yield found.end()


def _any(words: Iterable[str]) -> str:
    return "|".join(_spaced(re.escape(word)) for word in sorted(words, key=lambda word: (-len(word), word)))


def _spaced(pattern: str) -> str:
    return pattern.replace(r"\ ", " ").replace(" ", r"\s+")


def _folded(name: str) -> str:
    return " ".join(name.lower().split())


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
    page = PageRead(item.page.title, item.page.part("text"))
    said = [statement_of("fact", row, page.title) for row in item.inputs["entity_facts"]]
    said += [statement_of("relation", row, page.title) for row in item.inputs["relationship_extraction"]]
    for one in dict.fromkeys(said):
        yield {
            "statement": one.hash,
            "failed": ", ".join(failed_checks(one, page)),
            "sentence": (page.sentence(one.evidence) or "")[:LONGEST_SENTENCE],
        }
