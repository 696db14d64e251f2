"""Infobox rules: the meaning of fields. They are data, in YAML files: `rules/generic.yaml` explains them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from yaml import YAMLError

from holocron_assets.entities.facts.stated_keys import StatedKind, why_not_stated
from holocron_assets.entities.facts.vocabulary import Key, Text
from holocron_assets.errors import PermanentError, details_of
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.key_problems import problem_of_key
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.languages.language import ENGLISH, language_code, load_language

RULES_FOLDER = Path(__file__).with_name("rules")
FACT_READER_VERSION = code_version(
    "holocron_assets.entities.facts.page_facts",
    "holocron_assets.signals.infobox.values",
    "holocron_assets.languages.language",
)
"""Version of the code that reads infoboxes by the rules: `page_facts` follows from it."""

_APART = re.compile(r"[\W_]+")
_PLURAL_SIGN = re.compile(r"\(s\)|(?<=[a-z])_s(?=_|$)")
_NUMBER_AT_END = re.compile(r"(?<=[a-z])[\s_]*\d+$")

Share = Annotated[float, Field(ge=0, le=1)]


class InfoboxRuleError(PermanentError, ValueError):
    """A file of infobox rules cannot be used; names file, rule and key."""


class InfoboxRule(FrozenModel):
    """The meaning of one or several fields of an infobox. `rules/generic.yaml` explains each key."""

    fields: tuple[Text, ...] = Field(min_length=1)
    key: Key
    kind: StatedKind
    means: Text | None = None
    reads: Literal["text", "number", "date", "besides_date"] = "text"
    templates: tuple[Text, ...] | None = Field(default=None, min_length=1)
    values: re.Pattern[str] | None = None
    commas: bool = False
    single: bool = False
    unit: Text | None = None
    link: Literal["first", "last", "only"] = "first"
    confidence: Share | None = None


class Qualifiers(FrozenModel):
    """Words in parentheses that say that something is over."""

    ended: tuple[Text, ...] = ()


class RuleFile(FrozenModel):
    """A file of rules.

    Attributes:
        sources: the sources that they are for; all by default.
        confidence: the confidence of rules that do not give their own.
        nothing: values that stand for nothing, besides those of the language.
        ignored: fields that say nothing of the subject, by the infobox's template.
        qualifiers: words in parentheses that mean something.
        rules: the rules.
    """

    sources: tuple[Text, ...] | None = Field(default=None, min_length=1)
    confidence: Share = 0.95
    nothing: tuple[Text, ...] = ()
    ignored: Mapping[Text, tuple[Text, ...]] = Field(default_factory=dict)
    qualifiers: Qualifiers = Qualifiers()
    rules: tuple[InfoboxRule, ...]


@dataclass(frozen=True)
class FieldRule:
    """A rule for one field.

    Attributes:
        rule: the rule.
        rule_id: its file and the field.
        confidence: its confidence.
    """

    rule: InfoboxRule
    rule_id: str
    confidence: float


@dataclass(frozen=True)
class RuleBook:
    """The rules that count for a source, those of its own files first; and the code of its language."""

    files: Sequence[tuple[str, RuleFile]]
    language: str = ENGLISH

    def of(self, template: str, field: str) -> Sequence[FieldRule]:
        """The rules for a field of an infobox; none for a field that no rule knows.

        The first file that knows the field counts; in it, rules for this template before those for any.

        Args:
            template: name of the infobox's template.
            field: the field's name, as written.
        """
        key = (normalised_field(template), normalised_field(field))
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def parts_at_commas(self, template: str, field: str) -> bool:
        """Whether commas separate a field's values."""
        return any(one.rule.commas for one in self.of(template, field))

    @cached_property
    def ended_words(self) -> frozenset[str]:
        """Words in parentheses that say that something is over."""
        own = load_language(self.language).values.ended
        return own.union(word.lower() for _, file in self.files for word in file.qualifiers.ended)

    @cached_property
    def nothing(self) -> frozenset[str]:
        """Values that stand for nothing by the files, in lower case."""
        return frozenset(word.lower() for _, file in self.files for word in file.nothing)

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return load_language(self.language).english_labels()

    @cached_property
    def _found(self) -> dict[tuple[str, str], Sequence[FieldRule]]:
        return {}

    @cached_property
    def _by_field(self) -> Sequence[tuple[str, RuleFile, Mapping[str, Sequence[InfoboxRule]]]]:
        return [(name, file, _indexed(file)) for name, file in self.files]

    def _search(self, template: str, field: str) -> Sequence[FieldRule]:
        english = self._labels.get(field, field)
        for name, file, indexed in self._by_field:
            rules = indexed.get(field) or indexed.get(english, ())
            own = [rule for rule in rules if rule.templates and template in _normalised(rule.templates)]
            if _ignores(file, template, field):
                return ()
            chosen = own or [rule for rule in rules if rule.templates is None]
            if chosen:
                return [
                    FieldRule(rule, f"{name}:{field}", _either(rule.confidence, file.confidence))
                    for rule in chosen
                ]
        return ()


def _ignores(file: RuleFile, template: str, field: str) -> bool:
    return any(
        normalised_field(of) == template and field in _normalised(fields)
        for of, fields in file.ignored.items()
    )


def _either(own: float | None, other: float) -> float:
    return other if own is None else own


@cache
def normalised_field(name: str) -> str:
    """A field's or template's name in comparable form: no case, spaces, `(s)` and number at the end."""
    name = _NUMBER_AT_END.sub("", _PLURAL_SIGN.sub("", name.strip().lower()))
    return _APART.sub(" ", name).strip()


@cache
def _normalised(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(normalised_field, names))


def _indexed(file: RuleFile) -> Mapping[str, Sequence[InfoboxRule]]:
    found: dict[str, list[InfoboxRule]] = {}
    for rule in file.rules:
        for field in _normalised(rule.fields):
            found.setdefault(field, []).append(rule)
    return found


def load_rule_book(source: str, *folders: Path, language: str | None = None) -> RuleBook:
    """The rules for a source.

    Args:
        source: its name.
        folders: folders of rule files; people's own come before the project's.
        language: what the wiki says of its language. Fields without a rule count by their English names.

    Raises:
        InfoboxRuleError: a file cannot be used; names file, rule and key.
    """
    read = {path: read_rule_file(path) for folder in (*folders, RULES_FOLDER) for path in _paths(folder)}
    _refuse_two_meanings(read)
    files = [(path.stem, file) for path, file in read.items()]
    own = [pair for pair in files if pair[1].sources and source in pair[1].sources]
    return RuleBook([*own, *(pair for pair in files if pair[1].sources is None)], language_code(language))


def rules_version(*folders: Path) -> str:
    """A hash of the rule files of some folders."""
    return content_hash("\n".join(map(_content, (path for folder in folders for path in _paths(folder)))))[
        :12
    ]


def _content(path: Path) -> str:
    """The bytes of a file, for a hash; whether it is usable shows when its rules are read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


def _paths(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def check_rule_files(folder: Path) -> None:
    """Read every file of rules of a folder, as it is now.

    Raises:
        InfoboxRuleError: some cannot be used; names each.
    """
    problems: list[str] = []
    read: dict[Path, RuleFile] = {}
    for path in _paths(folder):
        try:
            read[path] = read_rule_file(path)
        except InfoboxRuleError as error:
            problems.append(str(error))
    try:
        _refuse_two_meanings(read)
    except InfoboxRuleError as error:
        problems.append(str(error))
    if problems:
        raise InfoboxRuleError("; ".join(problems))


def read_rule_file(path: Path) -> RuleFile:
    """Read one file of rules, as it is now.

    Raises:
        InfoboxRuleError: it is no YAML, or its content is not valid; names file, rule and key.
    """
    try:
        return _rules_in(path, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InfoboxRuleError(f"{path}: cannot be read as YAML: {error}") from error


@lru_cache(maxsize=64)
def _rules_in(path: Path, text: str) -> RuleFile:
    try:
        content: Any = load_yaml(text)
        file = RuleFile.model_validate(content)
    except YAMLError as error:
        raise InfoboxRuleError(f"{path}: cannot be read as YAML: {error}") from error
    except ValidationError as error:
        first = details_of(error)[0]
        where = ".".join(map(str, first["loc"]))
        raise InfoboxRuleError(f"{path}: {where}: {problem_of_key(first, RuleFile)}") from error
    _refuse_repeated(path, file)
    _refuse_unlisted(path, file)
    return file


def _refuse_repeated(path: Path, file: RuleFile) -> None:
    """Refuse two rules with the same meaning for one field: one of them would have no effect."""
    seen: set[tuple[str, str, str, tuple[str, ...] | None]] = set()
    for number, rule in enumerate(file.rules):
        for field in sorted(_normalised(rule.fields)):
            meaning = (field, rule.key, rule.reads, rule.templates)
            if meaning in seen:
                raise InfoboxRuleError(
                    f"{path}: rules.{number}.fields: {field!r} gives {rule.key!r} already by a rule before"
                )
            seen.add(meaning)


def _refuse_unlisted(path: Path, file: RuleFile) -> None:
    """Refuse a key that the vocabulary lacks, unless a rule of people's own file says what it means."""
    is_shipped = path.parent == RULES_FOLDER
    own = {rule.key: rule.kind for rule in file.rules if rule.means is not None and not is_shipped}
    for number, rule in enumerate(file.rules):
        if rule.means is not None or rule.key not in own:
            problem = why_not_stated(rule.kind, rule.key, None if is_shipped else rule.means)
        elif rule.kind != own[rule.key]:
            problem = f"{rule.key!r} is a {own[rule.key]} in this file, and no {rule.kind}: take another key"
        else:
            problem = None
        if problem:
            raise InfoboxRuleError(f"{path}: rules.{number}.key: {problem}")


def _refuse_two_meanings(read: Mapping[Path, RuleFile]) -> None:
    """Refuse a key of people's own that means two things: all sources share one list of keys."""
    seen: dict[str, tuple[StatedKind, str, Path]] = {}
    for path, file in read.items():
        for number, rule in enumerate(file.rules):
            if rule.means is None:
                continue
            kind, means, other = seen.setdefault(rule.key, (rule.kind, rule.means, path))
            if (kind, means) != (rule.kind, rule.means):
                raise InfoboxRuleError(
                    f"{path}: rules.{number}.means: {rule.key!r} is a {kind} in {other}, where it means "
                    f"{means!r}: say the same, or take another key"
                )
