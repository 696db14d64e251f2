"""Third stage: what the lead sentence says its subject is."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from holocron_assets.classify.evidence import Evidence, fired
from holocron_assets.classify.grammar import (
    Clause,
    Phrase,
    find_clause,
    read_phrase,
    tokens_of,
)
from holocron_assets.classify.rule_file import Reading, Rule
from holocron_assets.classify.title_stage import without_qualifier
from holocron_assets.classify.vocabulary import Head, Vocabulary
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.languages.language import Grammar

_SEARCHED = 2_000  # characters of the lead that are searched for a pronoun
_MOST_HOPS = 3  # "one of several types of ..."
_MOST_WORDS_ON = 3  # "day of the week"
_PATTERN_REACH = 300  # characters in which a lead pattern must match
_LEADS_ON = "ReferenceMeta"


class Definition(NamedTuple):
    """A sentence's definition of its subject.

    Attributes:
        head: the noun that names it, if a rule knows one.
        phrase: the noun phrase that was searched for the head.
        of_class: whether a class of things is defined, not one of them.
        by_name: whether the subject is a name without an article.
        share: the share of the noun's confidence that is left at its place.
    """

    head: Head | None
    phrase: Phrase
    of_class: bool
    by_name: bool
    share: float


class LeadStage:
    """Reads definition sentences with a grammar, a vocabulary and the rules for leads."""

    def __init__(
        self, rules: Sequence[Rule], vocabulary: Vocabulary, grammar: Grammar, subject_share: float
    ) -> None:
        """Sort the rules by what they read.

        Args:
            rules: all rules; those that cannot fire in leads are ignored.
            vocabulary: the head nouns.
            grammar: the words of the grammar.
            subject_share: share of a noun's confidence left when it is the subject, not the predicate.
        """
        self._vocabulary = vocabulary
        self._grammar = grammar
        self._subject_share = subject_share
        self._subject_openers = grammar.indefinite | grammar.definite | grammar.this | grammar.these
        self._singular_openers = grammar.indefinite | grammar.this
        self._sentence_pronoun = _sentence_pronoun(grammar.pronouns)
        self._patterns = [(rule, rule.lead_pattern) for rule in rules if rule.lead_pattern]
        self._cues = [rule for rule in rules if rule.modifiers or rule.relatives or rule.proper_kind]
        self._pronouns = [(rule, rule.pronouns) for rule in rules if rule.pronouns]

    def evidence(self, signals: Row) -> list[Evidence]:
        """The evidence of a page's lead for its type (from a row of table page_signals)."""
        sentence = signals["lead_sentence"] or ""
        if not sentence:
            return []
        tokens = tokens_of(sentence, self._grammar)
        if len(tokens) <= len(tokens_of(signals["name"], self._grammar)):
            return []  # A stub that only repeats its title adds nothing to the title.
        lower = [token.lower() for token in tokens]
        cues = list(self._matching_patterns(sentence))
        if leading := [cue for cue in cues if _leads_on(cue, sentence)]:
            return leading
        definition = self._define(tokens, lower, without_qualifier(signals["name"]))
        if definition is None or not definition.of_class:
            cues += self._pronoun_cues(signals["lead_excerpt"] or sentence)
            cues += self._noun_cues(definition, lower) if definition else []
        if definition is None or definition.head is None:
            return cues
        head = _head_evidence(definition, definition.head)
        # A cue replaces a head noun or supports it; it never contradicts one.
        return [head, *(cue for cue in cues if cue.type == head.type)]

    def names_one(self, signals: Row) -> bool:
        """Whether a page's lead is about one individual by name, as in "Rex was found in ...".

        A language without articles does not tell a name from a kind.
        """
        tokens = tokens_of(signals["lead_sentence"] or "", self._grammar)
        for position, word in enumerate(map(str.lower, tokens)):
            if word in self._grammar.copulas_plural:
                return False
            if word in self._grammar.copulas_singular:
                return self._is_name(tokens[:position])
        return False

    def _is_name(self, subject: Sequence[str]) -> bool:
        """Whether a subject of a singular verb is a name without an article."""
        has_articles = bool(self._grammar.indefinite)
        return has_articles and bool(subject) and subject[0].lower() not in self._subject_openers

    def _matching_patterns(self, sentence: str) -> Iterator[Evidence]:
        for rule, pattern in self._patterns:
            if match := pattern.search(sentence[:_PATTERN_REACH]):
                yield fired(rule, "lead", match[0])

    def _define(self, tokens: list[str], lower: list[str], name: str) -> Definition | None:
        clause = find_clause(tokens, lower, self._grammar)
        definition = self._from_predicate(tokens, lower, clause, name) if clause else None
        if definition and definition.head:
            return definition
        return self._from_subject(tokens, lower, name) or definition

    def _from_predicate(self, tokens: list[str], lower: list[str], clause: Clause, name: str) -> Definition:
        phrase = self._read_phrase(tokens, lower, clause.start)
        of_class, of_kind = _is_class(clause, phrase, name, self._grammar), False
        was_opened = False
        for _ in range(_MOST_HOPS):
            opened = self._transparent_word(phrase, lower)
            if not opened:
                break
            was_opened = True
            of_kind |= opened in self._grammar.transparent_kinds
            phrase = self._read_phrase(tokens, lower, phrase.end + 1)
        phrase, head, named_kind = self._head_before_rest(phrase, lower)
        if head and head.plural and not was_opened and self._says_one(clause, phrase):
            head, named_kind = self._head_of(phrase, plural=False)  # "ein Schlosser" are no castles
        return Definition(
            head=head,
            phrase=phrase,
            of_class=of_class or of_kind or named_kind,
            by_name=self._is_name(clause.subject),
            share=1.0,
        )

    def _read_phrase(self, tokens: list[str], lower: list[str], start: int) -> Phrase:
        """The noun phrase at a position. It goes on if a noun that a rule knows does: "body of water"."""
        phrase = read_phrase(tokens, lower, start, self._grammar)
        if not phrase.chunks or self._vocabulary.later_words.isdisjoint(lower[phrase.end : phrase.end + 1]):
            return phrase
        *before, last = phrase.chunks
        for end in range(phrase.end + 1, min(phrase.end + _MOST_WORDS_ON, len(tokens)) + 1):
            longer = [*last, *tokens[phrase.end : end]]
            head = self._vocabulary.head([word.lower() for word in longer], "lead")
            if head and len(head.words) > end - phrase.end and lower[phrase.end] in head.words:
                return Phrase([*before, longer], phrase.determiner, end)
        return phrase

    def _says_one(self, clause: Clause, phrase: Phrase) -> bool:
        """Whether a predicate is about one thing, by its article or else by its verb."""
        if self._grammar.indefinite:
            return phrase.determiner in self._singular_openers
        return clause.singular

    def _transparent_word(self, phrase: Phrase, lower: list[str]) -> str:
        """The word to skip, such as "type" in "a type of"; empty if the phrase itself names something."""
        if (
            len(phrase.chunks) != 1
            or phrase.end >= len(lower)
            or lower[phrase.end] not in self._grammar.of_what
        ):
            return ""
        words = [word.lower() for word in phrase.chunks[0]]
        if words[-1] not in self._grammar.transparent | self._grammar.transparent_kinds:
            return ""
        head = self._vocabulary.head(words, "lead")
        return "" if head and len(head.words) > 1 else words[-1]

    def _head_of(self, phrase: Phrase, *, plural: bool = True) -> tuple[Head | None, bool]:
        """The first known head noun of a phrase, and whether it names a kind ("a droid model")."""
        for chunk in phrase.chunks:
            words = [word.lower() for word in chunk]
            is_last = chunk is phrase.chunks[-1]
            head = self._vocabulary.head(words, "lead", split=is_last, plural=plural)
            if len(words) > 1 and words[-1] in self._grammar.transparent_kinds and _is_single(head):
                inner = self._vocabulary.head(words[:-1], "lead", plural=plural)
                if inner:
                    return inner, True
            if head:
                return head, False
        return None, False

    def _head_before_rest(self, phrase: Phrase, lower: list[str]) -> tuple[Phrase, Head | None, bool]:
        """Like `_head_of`, but with the phrase cut before what follows its noun; returns this phrase too."""
        head, names_kind = self._head_of(phrase)
        shorter = _shorter(phrase, lower, self._grammar)
        while head is None or (head.plural and phrase.determiner in self._singular_openers):
            words = next(shorter, None)
            if words is None:
                break
            phrase = phrase._replace(chunks=[words])
            head, names_kind = self._head_of(phrase)
        return phrase, head, names_kind

    def _from_subject(self, tokens: list[str], lower: list[str], name: str) -> Definition | None:
        """The subject of a sentence that defines nothing: "A cantina was located on ..."."""
        start = _past_opening_adverbial(lower, self._grammar)
        if start >= len(lower) or lower[start] not in self._subject_openers:
            start = _apposition(lower, self._grammar)
            if not start:
                return None
        phrase, head, names_kind = self._head_before_rest(self._read_phrase(tokens, lower, start), lower)
        any_one = phrase.determiner in self._grammar.indefinite and _starts_with_name(
            lower[start + 1 :], name
        )
        return Definition(
            head, phrase, of_class=names_kind or any_one, by_name=False, share=self._subject_share
        )

    def _noun_cues(self, definition: Definition, lower: list[str]) -> Iterator[Evidence]:
        words = [word.lower() for chunk in definition.phrase.chunks for word in chunk]
        following = _word_after(lower, definition.phrase.end, self._grammar)
        for rule in self._cues:
            if rule.modifiers:
                matched = next((word for word in words if word in rule.modifiers), "")
            elif rule.relatives:
                matched = following if following in rule.relatives else ""
            else:
                matched = self._proper_kind(definition)
            if matched:
                yield fired(rule, "lead", matched)

    def _pronoun_cues(self, text: str) -> Iterator[Evidence]:
        match = self._sentence_pronoun.search(text[:_SEARCHED])
        if not match:
            return
        for rule, pronouns in self._pronouns:
            if match[1].lower() in pronouns:
                yield fired(rule, "lead", match[1])

    def _proper_kind(self, definition: Definition) -> str:
        """The capitalised noun of "was an Icelander"; empty for anything else."""
        if definition.phrase.determiner not in self._singular_openers or not definition.phrase.chunks:
            return ""
        last = definition.phrase.chunks[0][-1]
        return last if last[0].isupper() and not last.isupper() else ""


def _sentence_pronoun(pronouns: Sequence[str]) -> re.Pattern[str]:
    """Finds a pronoun that opens a sentence."""
    opening = "|".join(re.escape(word.capitalize()) for word in pronouns) or "(?!)"
    return re.compile(rf"""[.!?]["\u201d\u2019)\]]*\s+({opening})\b""")


def _leads_on(cue: Evidence, sentence: str) -> bool:
    """Whether a page only leads to others: "a term that may refer to:". More words would define a subject."""
    says_no_more = sentence.endswith(":") or sentence.rstrip(" .").endswith(cue.matched)
    return cue.type == _LEADS_ON and says_no_more


def _head_evidence(definition: Definition, head: Head) -> Evidence:
    evidence = fired(head.rule, "lead", " ".join(head.words))
    reading = _reading(head.rule, definition)
    if reading:
        evidence = evidence.read_as(reading)
    return evidence._replace(confidence=evidence.confidence * definition.share)


def _is_single(head: Head | None) -> bool:
    return head is None or len(head.words) == 1


def _is_class(clause: Clause, phrase: Phrase, name: str, grammar: Grammar) -> bool:
    """Whether the subject is any X or all Xs, on page X. "A captain was the hero" is about one captain."""
    lower = [word.lower() for word in clause.subject]
    if clause.plural:
        return grammar.conjunctions.isdisjoint(lower)
    any_one = bool(lower) and lower[0] in grammar.indefinite and phrase.determiner in grammar.indefinite
    return any_one and _starts_with_name(lower[1:], name)


def _starts_with_name(lower: Sequence[str], name: str) -> bool:
    return " ".join(lower).startswith(name.lower())


def _reading(rule: Rule, definition: Definition) -> Reading | None:
    if definition.of_class:
        return rule.when_class
    return rule.when_individual if definition.by_name else None


def _past_opening_adverbial(lower: Sequence[str], grammar: Grammar) -> int:
    """The position after "During the wars," if a sentence opens with a preposition."""
    if lower and lower[0] in grammar.boundaries and "," in lower:
        return lower.index(",") + 1
    return 0


def _apposition(lower: Sequence[str], grammar: Grammar) -> int:
    """Where "X, a dealer in arms, was active" says what X is; 0 if nothing before the verb does."""
    for position, (word, following) in enumerate(pairwise(lower)):
        if word in grammar.copulas_singular or word in grammar.copulas_plural:
            break
        if word == "," and following in grammar.indefinite:
            return position + 1
    return 0


def _shorter(phrase: Phrase, lower: Sequence[str], grammar: Grammar) -> Iterator[list[str]]:
    """A phrase's first chunk, cut before each of its words that may follow the noun; the longest first."""
    after_noun = grammar.after_noun | grammar.adverbs | grammar.before_noun
    for chunk in phrase.chunks[:1]:
        words = [word.lower() for word in chunk]
        if len(phrase.chunks) == 1:
            words += lower[phrase.end : phrase.end + 1]
        for position in range(len(chunk) - 1, 0, -1):
            one_and_two = {words[position], " ".join(words[position : position + 2])}
            if not after_noun.isdisjoint(one_and_two) or _is_verb(chunk, position, grammar):
                yield chunk[:position]


def _is_verb(chunk: Sequence[str], position: int, grammar: Grammar) -> bool:
    """Whether a past tense or a participle follows a noun: "smuggler exported spices", "company making cars".

    In "training exercise", the participle belongs to the noun. Its object would be a plural, or begin with a
    word that ends the phrase.
    """
    is_last = position == len(chunk) - 1
    may_be_object = chunk[-1].lower().endswith(tuple(ending for ending, _ in grammar.plurals))
    is_participle = chunk[position].endswith(grammar.participle_endings) and (is_last or may_be_object)
    return is_participle or chunk[position].endswith(grammar.verb_endings)


def _word_after(lower: Sequence[str], position: int, grammar: Grammar) -> str:
    while position < len(lower) and lower[position] in grammar.joiners:
        position += 1
    return lower[position] if position < len(lower) else ""
