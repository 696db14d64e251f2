"""Head nouns: which rule knows the last noun of a phrase. Whole words only, longest phrase first."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holocron_assets.classify.rule_file import Context, Rule

_LONGEST_PHRASE = 4
_SHORTEST_STEM = 3

# English plural endings and the endings of the singular, most specific first.
_PLURALS = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("ae", "a"), ("es", ""), ("s", ""))


class Head(NamedTuple):
    """The last noun of a phrase: the rule that knows it, and the matched words."""

    rule: Rule
    words: tuple[str, ...]
    plural: bool


def singulars(word: str) -> tuple[str, ...]:
    """The possible singulars of a lower-case English plural; empty for a word that cannot be a plural."""
    return tuple(
        word[: -len(ending)] + replacement
        for ending, replacement in _PLURALS
        if word.endswith(ending) and len(word) > len(ending) + 1
    )


class Vocabulary:
    """The nouns and endings of all rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Index the rules' nouns, which no two rules share."""
        self._nouns: dict[tuple[str, ...], Rule] = {}
        self._suffixes: list[tuple[str, Rule]] = []
        for rule in rules:
            self._nouns |= {tuple(noun.casefold().split()): rule for noun in rule.nouns or ()}
            self._suffixes += [(suffix, rule) for suffix in rule.suffixes or ()]
        self._suffixes.sort(key=lambda entry: (-len(entry[0]), entry[0]))

    def head(self, words: Sequence[str], context: Context, *, split: bool = True) -> Head | None:
        """The rule that knows a phrase's last noun, as singular or plural, in a context.

        Args:
            words: the phrase's lower-case words.
            context: where the phrase was found; a rule without a confidence for it does not know the noun.
            split: whether a hyphenated last word that is not known as a whole counts by its last part; not
                for possible adjectives ("third-person").
        """
        if not words:
            return None
        phrase = tuple(words[-_LONGEST_PHRASE:])
        found = self._known(phrase, context)
        if found is None and split and "-" in phrase[-1]:
            found = self._known((phrase[-1].rpartition("-")[2],), context)
        return found or self._by_suffix(phrase[-1], context)

    def _known(self, phrase: tuple[str, ...], context: Context) -> Head | None:
        *before, last = phrase
        lasts = (last, *singulars(last))
        for start in range(len(phrase)):
            for form in lasts:
                words = (*before[start:], form)
                rule = self._nouns.get(words)
                if rule and context in rule.confidence:
                    return Head(rule, words, plural=form != last)
        return None

    def _by_suffix(self, word: str, context: Context) -> Head | None:
        for form in (word, *singulars(word)):
            for suffix, rule in self._suffixes:
                long_enough = len(form) >= len(suffix) + _SHORTEST_STEM
                if context in rule.confidence and long_enough and form.endswith(suffix):
                    return Head(rule, (form,), plural=form != word or suffix.endswith("s"))
        return None
