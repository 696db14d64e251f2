"""Third stage, together with the lead: what a page's categories say of it."""

import re
from collections.abc import Sequence
from functools import lru_cache

from holocron_assets.classify.evidence import Evidence, fired
from holocron_assets.classify.grammar import before_preposition
from holocron_assets.classify.rule_file import Rule
from holocron_assets.classify.title_stage import without_qualifier
from holocron_assets.classify.vocabulary import Head, Vocabulary
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.languages.language import Grammar

_WORD = re.compile(r"[^\s,:;/()]+")
_CACHED_CATEGORIES = 65_536


class CategoryStage:
    """Reads a category's plural head noun: members of "Moons of X" are moons."""

    def __init__(self, rules: Sequence[Rule], vocabulary: Vocabulary, grammar: Grammar) -> None:
        """Keep the rules that can fire on categories; the others are ignored."""
        self._patterns = [(rule, rule.category_pattern) for rule in rules if rule.category_pattern]
        self._vocabulary = vocabulary
        self._grammar = grammar
        # A wiki's pages share categories, so the cache reads most of them once.
        self._read = lru_cache(maxsize=_CACHED_CATEGORIES)(self._read_once)

    def evidence(self, signals: Row) -> list[Evidence]:
        """The evidence of a page's categories for its type (from a row of table page_signals)."""
        name = without_qualifier(signals["name"]).casefold()
        return [
            evidence
            for category in signals["categories"]
            if (evidence := self._read(category)) and not self._is_named_after(category, name)
        ]

    def of_name(self, category: str) -> Evidence | None:
        """What the name of a category says of its members; None if no rule knows it."""
        return self._read(category)

    def _read_once(self, category: str) -> Evidence | None:
        for rule, pattern in self._patterns:
            if match := pattern.search(category):
                return fired(rule, "category", match[0])
        head = self._head(_WORD.findall(category.casefold()))
        return fired(head.rule, "category", category) if head else None

    def _head(self, words: list[str]) -> Head | None:
        if not words:
            return None
        if words[-1] in self._grammar.stubs:
            return self._vocabulary.head(words[:-1], "category")
        named = before_preposition(words, self._grammar)
        if not self._grammar.upkeep.isdisjoint((words[0], named[-1], words[-1])):
            return None
        return self._plural_head(named) or self._plural_head(words)

    def _plural_head(self, words: list[str]) -> Head | None:
        if len(words) > 1 and words[-1] in self._grammar.transparent_kinds:
            words = words[:-1]
            return self._vocabulary.head(words, "category")
        head = self._vocabulary.head(words, "category")
        if head and (head.plural or words[-1] in self._grammar.collectives):
            return head
        return None

    def _is_named_after(self, category: str, name: str) -> bool:
        """Whether the page is its category's main article, which is no member of the class."""
        plain = category.casefold()
        return plain == name or name in self._vocabulary.singulars(plain)
