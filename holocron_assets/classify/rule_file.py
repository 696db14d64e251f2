"""A rule as a YAML file declares it, and the reading of such files."""

import hashlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator
from yaml import YAMLError

from holocron_assets.classify.taxonomy import TAXONOMY_FILE, WORK, load_taxonomy
from holocron_assets.errors import PermanentError, first_problem
from holocron_assets.frozen_model import FrozenModel, StrictShare
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.people_yaml import load_yaml

RULES_FOLDER = Path(__file__).with_name("rules")
_CODE = ("holocron_assets.classify.rules", "holocron_assets.languages.language")

Context = Literal["title", "qualifier", "title_word", "infobox", "category", "lead"]
Flag = Literal["is_redirect", "is_disambiguation", "is_list", "timeline_markers"]

_NOUN_CONTEXTS = frozenset({"qualifier", "title_word", "infobox", "category", "lead"})
_TITLE = frozenset({"title"})
_LEAD = frozenset({"lead"})

# Where each matcher can fire. A rule has one matcher; a title rule may have several, which must all match.
CONTEXTS_OF_MATCHERS: dict[str, frozenset[str]] = {
    "namespaces": _TITLE,
    "flag": _TITLE,
    "title_pattern": _TITLE,
    "name_pattern": _TITLE,
    "templates": frozenset({"infobox"}),
    "fields": frozenset({"infobox"}),
    "nouns": _NOUN_CONTEXTS,
    "suffixes": _NOUN_CONTEXTS,
    "category_pattern": frozenset({"category"}),
    "lead_pattern": _LEAD,
    "modifiers": _LEAD,
    "relatives": _LEAD,
    "pronouns": _LEAD,
    "proper_kind": _LEAD,
}

_Words = Annotated[frozenset[str], Field(min_length=1)]


class RuleError(PermanentError, ValueError):
    """A rule file cannot be used; the message names the file and, if possible, the rule's id."""


class Reading(FrozenModel):
    """The meaning of a noun under a condition: another type, and its confidence."""

    type: str
    confidence: StrictShare


class Rule(FrozenModel):
    """One rule.

    Attributes:
        id: unique in all files; every row that the rule decided has it.
        type: the taxonomy type that it supports.
        reason: why, in a sentence.
        confidence: how sure it is, between 0 and 1, by the context in which it fires.
        work_medium: medium of the work; only with WorkMedia.
        final: whether nothing else is read after this title rule.
        unless: ids of title rules; if one of them fired, this rule does not count.
        at_least: how many of `fields` must be there.
        when_class: another reading of `nouns` when the page is about a class ("A captain was ...").
        when_individual: another reading of `nouns` when it is about one individual ("Rex was ...").
    """

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]*$")]
    type: str
    reason: Annotated[str, Field(min_length=1)]
    confidence: Annotated[dict[Context, StrictShare], Field(min_length=1)]
    work_medium: str | None = None
    final: bool = False
    unless: frozenset[str] = frozenset()
    at_least: Annotated[int, Field(ge=1)] = 1
    when_class: Reading | None = None
    when_individual: Reading | None = None

    namespaces: Annotated[frozenset[int], Field(min_length=1)] | None = None
    flag: Flag | None = None
    title_pattern: re.Pattern[str] | None = None
    name_pattern: re.Pattern[str] | None = None
    templates: _Words | None = None
    fields: _Words | None = None
    nouns: _Words | None = None
    suffixes: _Words | None = None
    category_pattern: re.Pattern[str] | None = None
    lead_pattern: re.Pattern[str] | None = None
    modifiers: _Words | None = None
    relatives: _Words | None = None
    pronouns: _Words | None = None
    proper_kind: Literal[True] | None = None

    @model_validator(mode="after")
    def _speaks_of_known_things(self) -> Self:
        taxonomy = load_taxonomy()
        readings = [reading for reading in (self.when_class, self.when_individual) if reading]
        for type_name in [self.type, *(reading.type for reading in readings)]:
            if type_name not in taxonomy.types:
                raise ValueError(f"type {type_name!r} is not in the taxonomy")
        if self.work_medium is not None:
            if self.type != WORK:
                raise ValueError(f"work_medium is for {WORK} only")
            if self.work_medium not in taxonomy.work_media:
                raise ValueError(f"work_medium {self.work_medium!r} is not in the taxonomy")
        return self

    @model_validator(mode="after")
    def _can_fire(self) -> Self:
        matchers = [name for name in CONTEXTS_OF_MATCHERS if getattr(self, name) is not None]
        if not matchers:
            raise ValueError(f"has nothing to match: give one of {', '.join(CONTEXTS_OF_MATCHERS)}")
        if len(matchers) > 1 and "title" not in self.confidence:
            raise ValueError(f"matches in several ways: {', '.join(matchers)}; make it several rules")
        for matcher in matchers:
            if wrong := self.confidence.keys() - CONTEXTS_OF_MATCHERS[matcher]:
                raise ValueError(f"{matcher} cannot fire in {', '.join(sorted(wrong))}")
        return self


_RULE_LIST: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        RuleError: the file is missing or is not YAML.
    """
    try:
        return load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise RuleError(f"{path}: cannot be read as YAML: {error}") from error


_Model = TypeVar("_Model", bound=BaseModel)


def read_figures(path: Path, kind: type[_Model]) -> _Model:
    """What a YAML file of words or figures says.

    Raises:
        RuleError: the file cannot be read, or a key is missing, unknown or wrong.
    """
    try:
        return kind.model_validate(read_yaml(path))
    except ValidationError as error:
        key, problem = first_problem(error)
        raise RuleError(f"{path}: key {key!r}: {problem}") from error


def read_rules(path: Path) -> Iterator[Rule]:
    """The rules of one file, in order.

    Raises:
        RuleError: the file is not a mapping with a list `rules`, or a rule in it is not valid.
    """
    content = read_yaml(path)
    if not isinstance(content, dict) or content.keys() != {"rules"}:
        raise RuleError(f"{path}: must hold one key, `rules`, with a list of rules")
    try:
        declared = _RULE_LIST.validate_python(content["rules"])
    except ValidationError as error:
        raise RuleError(f"{path}: `rules` must be a list of mappings") from error
    for number, fields in enumerate(declared, start=1):
        try:
            yield Rule.model_validate(fields)
        except ValidationError as error:
            key, problem = first_problem(error)
            name = repr(fields.get("id", f"number {number}"))
            raise RuleError(f"{path}: rule {name}: {key + ': ' if key else ''}{problem}") from error


def read_rule_folder(folder: Path, not_rules: Collection[str]) -> list[Rule]:
    """The rules of all files of a folder, in the order of file names.

    Args:
        folder: the folder.
        not_rules: names of files in it that hold something else.

    Raises:
        RuleError: a file or rule is not valid (see `read_rules`), two rules share an id, noun or template,
            or a rule's `unless` names no rule.
    """
    rules: list[Rule] = []
    claims: dict[tuple[str, str], str] = {}
    for path in sorted(folder.glob("*.yaml")):
        if path.name not in not_rules:
            for rule in read_rules(path):
                _claim(rule, path, claims)
                rules.append(rule)
    ids = {rule.id for rule in rules}
    for rule in rules:
        if unknown := rule.unless - ids:
            raise RuleError(f"{folder}: rule {rule.id!r}: unless names no rule: {sorted(unknown)}")
    return rules


def _claim(rule: Rule, path: Path, claims: dict[tuple[str, str], str]) -> None:
    """Record an id, noun or template of a rule, which no other rule may have."""
    wanted = [("id", rule.id)]
    wanted += [("noun", " ".join(noun.casefold().split())) for noun in sorted(rule.nouns or ())]
    wanted += [("template", template.casefold()) for template in sorted(rule.templates or ())]
    for kind, text in wanted:
        if (kind, text) in claims:
            raise RuleError(f"{path}: rule {rule.id!r}: {kind} {text!r} is taken by {claims[kind, text]}")
        claims[kind, text] = f"rule {rule.id!r} in {path.name}"


def rules_version(folder: Path) -> str:
    """A version that changes with any rule, word or threshold, with the taxonomy and with the engine."""
    digest = hashlib.sha256(TAXONOMY_FILE.read_bytes())
    for path in sorted(folder.glob("*.yaml")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return f"{code_version(*_CODE)}-{digest.hexdigest()[:12]}"


RULES_VERSION = rules_version(RULES_FOLDER)
