"""Head nouns: which rule knows the noun that names a phrase. Whole words only, longest phrase first."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from holocron_assets.classify.rule_file import Context, Rule
from holocron_assets.languages.language import Grammar

_LONGEST_PHRASE = 4
_SHORTEST_STEM = 3


class Head(NamedTuple):
    """The noun that names a phrase: the rule that knows it, and the matched words."""

    rule: Rule
    words: tuple[str, ...]
    plural: bool


class Vocabulary:
    """The nouns and endings of all rules, in one language.

    Attributes:
        grammar: the language's grammar.
        later_words: words of nouns that are not their first word, as "of" and "water" in "body of water".
    """

    def __init__(self, rules: Iterable[Rule], grammar: Grammar) -> None:
        """Index the rules' nouns, which no two rules share."""
        self.grammar = grammar
        self._nouns: dict[tuple[str, ...], Rule] = {}
        self._suffixes: list[tuple[str, Rule]] = []
        for rule in rules:
            self._nouns |= {tuple(noun.casefold().split()): rule for noun in rule.nouns or ()}
            self._suffixes += [(suffix.casefold(), rule) for suffix in rule.suffixes or ()]
        self.later_words = {word for noun in self._nouns for word in noun[1:]}
        self._longest = max(map(len, self._nouns), default=1)
        self._suffixes.sort(key=lambda entry: (-len(entry[0]), entry[0]))

    def singulars(self, word: str) -> tuple[str, ...]:
        """The possible singulars of a lower-case plural; empty for a word that cannot be a plural."""
        return _with_other_endings(word, self.grammar.plurals)

    def head(
        self, words: Sequence[str], context: Context, *, split: bool = True, plural: bool = True
    ) -> Head | None:
        """The rule that knows the noun of a phrase, as singular or plural, in a context.

        It is the last noun, or the first that a rule knows where the language's head comes first.

        Args:
            words: the phrase's lower-case words.
            context: where the phrase was found; a rule without a confidence for it does not know the noun.
            split: whether a hyphenated word that is not known as a whole counts by its last part; not for
                possible adjectives ("third-person").
            plural: whether it may be a plural.
        """
        words = [word.casefold() for word in words]  # "ß" is "ss" in some of them already
        if self.grammar.head == "last":
            return (
                self._last(words[-_LONGEST_PHRASE:], context, split=split, plural=plural) if words else None
            )
        for start in range(len(words)):
            may_be_plural = plural and (context != "lead" or self._may_precede_plural(words[:start]))
            found = self._first(words[start : start + self._longest], context, plural=may_be_plural)
            if found:
                return found
        return None

    def _may_precede_plural(self, words: Sequence[str]) -> bool:
        """Whether a plural may follow words; what looks like one after a noun is that noun's genitive."""
        endings = self.grammar.plural_adjectives
        passed_over = self.grammar.transparent | self.grammar.transparent_kinds | self.grammar.joiners
        return not endings or all(word.endswith(endings) or word in passed_over for word in words)

    def _last(self, words: Sequence[str], context: Context, *, split: bool, plural: bool) -> Head | None:
        phrase = tuple(words)
        found = self._known(phrase, context, plural=plural)
        if found is None and split and "-" in phrase[-1]:
            found = self._known((phrase[-1].rpartition("-")[2],), context, plural=plural)
        return found or self._by_suffix(phrase[-1], context, plural=plural)

    def _known(self, phrase: tuple[str, ...], context: Context, *, plural: bool) -> Head | None:
        *before, last = phrase
        lasts = self._forms(last, plural=plural)
        for start in range(len(phrase)):
            for form, is_plural in lasts:
                words = (*before[start:], form)
                rule = self._nouns.get(words)
                if rule and context in rule.confidence:
                    return Head(rule, words, is_plural)
        return None

    def _first(self, words: Sequence[str], context: Context, *, plural: bool) -> Head | None:
        """The noun that begins a phrase; all of its words may be plural."""
        forms = [self._forms(word, plural=plural) for word in words]
        for length in range(len(words), 0, -1):
            for found in product(*forms[:length]):
                noun = tuple(form for form, _ in found)
                rule = self._nouns.get(noun)
                if rule and context in rule.confidence:
                    return Head(rule, noun, found[0][1])
        return self._by_suffix(words[0], context, plural=plural)

    def _forms(self, word: str, *, plural: bool) -> list[tuple[str, bool]]:
        """A word, and what it may be a form of; each with whether the word is its plural."""
        singular = (word, *_with_other_endings(word, self.grammar.cases))
        plurals = self.singulars(word) if plural else ()
        return [*((form, False) for form in singular), *((form, True) for form in plurals)]

    def _by_suffix(self, word: str, context: Context, *, plural: bool) -> Head | None:
        for form, is_plural in self._forms(word, plural=plural):
            for suffix, rule in self._suffixes:
                long_enough = len(form) >= len(suffix) + _SHORTEST_STEM
                if context in rule.confidence and long_enough and form.endswith(suffix):
                    return Head(rule, (form,), plural=is_plural or suffix.endswith("s"))
        return None


def _with_other_endings(word: str, endings: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(
        word[: -len(ending)] + replacement
        for ending, replacement in endings
        if word.endswith(ending) and len(word) > len(ending) + 1
    )
