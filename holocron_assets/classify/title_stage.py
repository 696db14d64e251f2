"""First stage: what namespace, title and page flags say of the type."""

import re
from collections.abc import Iterator, Sequence

from holocron_assets.classify.evidence import Evidence, fired
from holocron_assets.classify.grammar import before_preposition
from holocron_assets.classify.rule_file import Flag, Rule
from holocron_assets.classify.vocabulary import Vocabulary
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.languages.language import Grammar

_QUALIFIER = re.compile(r"\s\(([^()]+)\)$")


def without_qualifier(name: str) -> str:
    """What a page's subject is called: "Captain" on page "Captain (rank)"."""
    return _QUALIFIER.sub("", name)


_SEPARATORS = re.compile(r"[\s_]+")


class TitleStage:
    """Applies the title rules, and reads a title's qualifier and head noun."""

    def __init__(self, rules: Sequence[Rule], vocabulary: Vocabulary, grammar: Grammar) -> None:
        """Keep the rules that can fire on titles; the others are ignored."""
        self._rules = [rule for rule in rules if "title" in rule.confidence]
        self._final = frozenset(rule.id for rule in self._rules if rule.final)
        self._vocabulary = vocabulary
        self._grammar = grammar

    def evidence(self, signals: Row) -> list[Evidence]:
        """The evidence of a page's title for its type (from a row of table page_signals)."""
        found: list[Evidence] = []
        fired_ids: set[str] = set()
        for rule in self._rules:
            if fired_ids.isdisjoint(rule.unless) and (matched := _matched(rule, signals)):
                found.append(fired(rule, "title", matched))
                fired_ids.add(rule.id)
                if rule.final:
                    return found
        return found or list(self._noun_evidence(signals["name"]))

    def ends_reading(self, found: Sequence[Evidence]) -> bool:
        """Whether a final rule fired, so that the page's text does not show its type."""
        return bool(found) and found[-1].rule_id in self._final

    def _noun_evidence(self, name: str) -> Iterator[Evidence]:
        qualifier = _QUALIFIER.search(name)
        # A qualifier with a capital letter is a name: "(Capital City)" says where somebody was met.
        if qualifier and (qualifier[1].islower() or self._grammar.nouns_are_capitalised):
            head = self._vocabulary.head(_words(qualifier[1]), "qualifier")
            if head:
                yield fired(head.rule, "qualifier", qualifier[1])
                return
        words = _words(name[: qualifier.start()] if qualifier else name)
        # The last word of a work's title says nothing; a colon, quote or slash mostly means a work.
        if len(words) > 1 and not any(mark in name for mark in ':"/'):
            head = self._vocabulary.head(before_preposition(words, self._grammar), "title_word")
            if head and not head.plural:
                yield fired(head.rule, "title_word", " ".join(head.words))


def _matched(rule: Rule, signals: Row) -> str:
    """The text that a rule matched; empty if one of its matchers does not match."""
    matched = ""
    if rule.namespaces is not None:
        if signals["namespace"] not in rule.namespaces:
            return ""
        matched = f"namespace {signals['namespace']}"
    if rule.flag is not None:
        matched = _flagged(rule.flag, signals)
        if not matched:
            return ""
    for pattern, text in ((rule.title_pattern, signals["title"]), (rule.name_pattern, signals["name"])):
        if pattern is not None:
            match = pattern.search(text)
            if match is None:
                return ""
            matched = match[0]
    return matched


def _flagged(flag: Flag, signals: Row) -> str:
    if flag == "timeline_markers":
        # A title of four digits is a marker too, but the title rules already know it.
        return ", ".join(marker for marker in signals[flag] if not marker.startswith("title:"))
    if flag == "is_redirect" and signals[flag]:
        return f"redirect to {signals['redirect_target'] or 'another wiki'}"
    return flag if signals[flag] else ""


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text.casefold()) if word]
