"""The rules in the words of a language: a rule's meaning and confidence stay, and its English words go."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from holocron_assets.classify.rule_file import CONTEXTS_OF_MATCHERS, Rule, RuleError
from holocron_assets.errors import first_problem

# A title's conditions are one rule, all of which must match. Those of English hold on any wiki, as do names
# of templates and fields: wikis of all languages take them from each other.
_TITLE = ("namespaces", "flag", "title_pattern", "name_pattern")
_OF_ANY_WIKI = frozenset({*_TITLE, "templates", "fields"})


def in_language(rules: Sequence[Rule], words: Mapping[str, Mapping[str, Any]], name: str) -> list[Rule]:
    """The rules with the words of a language instead of English ones.

    What rules say of titles, templates and fields stays, and the language's words are added.

    Args:
        rules: the rules, in English.
        words: by a rule's id and the name of a matcher, what it matches in the language.
        name: the language's name, for errors.

    Returns:
        Rules that have something to match. A rule that matches in several ways is there once for each.

    Raises:
        RuleError: no rule has such an id, the words are none that it can match, or two rules share a noun;
            names the rule.
    """
    _refuse_shared_nouns(words, name)
    if unknown := words.keys() - {rule.id for rule in rules}:
        raise RuleError(f"rules of {name}: there is no rule {min(unknown)!r}")
    found: list[Rule] = []
    for rule in rules:
        try:
            found += _in_language(rule, words.get(rule.id, {}))
        except ValidationError as error:
            key, problem = first_problem(error)
            raise RuleError(f"rules of {name}: rule {rule.id!r}: {key}: {problem}") from error
    return found


def _refuse_shared_nouns(words: Mapping[str, Mapping[str, Any]], name: str) -> None:
    claims: dict[str, str] = {}
    for rule_id, matchers in words.items():
        for noun in matchers.get("nouns", ()):
            if (other := claims.setdefault(noun.casefold(), rule_id)) != rule_id:
                raise RuleError(f"rules of {name}: rule {rule_id!r}: noun {noun!r} is taken by {other!r}")


def _in_language(rule: Rule, words: Mapping[str, Any]) -> Iterator[Rule]:
    fields = rule.model_dump(exclude_unset=True)
    stated = {key: value for key, value in fields.items() if key not in CONTEXTS_OF_MATCHERS}
    kept = {key: value for key, value in fields.items() if key in _OF_ANY_WIKI}
    matchers = {**words, **{key: _both(value, words.get(key)) for key, value in kept.items()}}
    title = {key: matchers.pop(key) for key in _TITLE if key in matchers}
    for own in filter(None, (title, *({key: value} for key, value in matchers.items()))):
        contexts = CONTEXTS_OF_MATCHERS.get(next(iter(own)), frozenset())
        confidence = {key: value for key, value in rule.confidence.items() if key in contexts}
        yield Rule.model_validate({**stated, **own, "confidence": confidence or rule.confidence})


def _both(english: Any, own: Any) -> Any:
    """What matches in English or in the language."""
    if own is None or isinstance(english, (bool, str)):
        return english
    if isinstance(english, re.Pattern):
        return f"{english.pattern}|{own}"
    return {*english, *own}
