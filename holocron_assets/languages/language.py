"""What Holocron knows of a language, read from its file. `docs/languages.md` explains each key."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator
from yaml import YAMLError

from holocron_assets.errors import PermanentError, first_problem
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.files.people_yaml import load_yaml

ENGLISH = "en"
_FOLDER = Path(__file__).parent
_MONTHS = 12

Words = frozenset[str]
Patterns = tuple[str, ...]


class LanguageError(PermanentError, ValueError):
    """A language's file cannot be used; names the file and the key."""


class Disambiguation(FrozenModel):
    """What marks a page that leads to pages of one name."""

    title_suffixes: Words = frozenset()
    templates: Words = frozenset()
    categories: Patterns = ()


class Lists(FrozenModel):
    """What marks a list."""

    titles: Patterns = ()
    categories: Patterns = ()


class Timeline(FrozenModel):
    """What marks a page about a year or an era; `titles` by the name of the marker."""

    titles: Mapping[str, str] = Field(default_factory=dict)
    infoboxes: Words = frozenset()
    templates: Words = frozenset()
    categories: Patterns = ()


class InfoboxNames(FrozenModel):
    """Names of templates that are, or never are, an infobox."""

    names: Patterns = ()
    not_names: Patterns = ()


class TemplatesOfText(FrozenModel):
    """Names of templates that show a date, a measure, or one of their arguments: its number or name."""

    dates: Words = frozenset()
    measures: Words = frozenset()
    arguments: Mapping[str, str] = Field(default_factory=dict)


class Prose(FrozenModel):
    """Where a lead and its sentences end. `abbreviations` are separated by spaces.

    `ordinals_have_a_stop` says that a full stop after a number of up to three digits makes it an ordinal, and
    ends no sentence.
    """

    closing_sections: Words = frozenset()
    abbreviations: str = ""
    ordinals_have_a_stop: bool = False


class Dates(FrozenModel):
    """How dates are written; months in the order of the year."""

    months: Annotated[tuple[tuple[str, ...], ...], Field(max_length=_MONTHS)] = ()
    ordinals: Patterns = ()
    of: Patterns = ()
    day_of: Patterns = ()
    day_first: bool = False
    before_christ: Patterns = ()
    after_christ: Patterns = ()
    eras: Mapping[str, Mapping[Literal["before", "after"], tuple[str, ...]]] = Field(default_factory=dict)
    era_to: Patterns = ()
    to: Patterns = ()
    by: Patterns = ()
    before: Patterns = ()
    since: Patterns = ()
    after: Patterns = ()
    about: Patterns = ()
    between: Patterns = ()
    units: Patterns = ()
    before_event: Patterns = ()
    after_event: Patterns = ()
    opening: Patterns = ()
    onwards: Patterns = ()
    still: Patterns = ()
    today: Patterns = ()
    or_later: Patterns = ()
    or_earlier: Patterns = ()

    @model_validator(mode="after")
    def _has_all_months_or_none(self) -> "Dates":
        if self.months and len(self.months) != _MONTHS:
            raise ValueError(f"months: has {len(self.months)}, a year has {_MONTHS}")
        return self


class Values(FrozenModel):
    """How values of infobox fields are written."""

    nothing: Words = frozenset({"", "?", "n/a"})
    decimal: Literal[".", ","] = "."
    about: Patterns = ()
    to: Patterns = ()
    scales: Mapping[str, float] = Field(default_factory=dict)
    parts: Mapping[str, str] = Field(default_factory=dict)
    counts_about: Patterns = ()
    counts: Patterns = ()
    before_place: Patterns = ()
    year: Patterns = ()
    during: Patterns = ()
    roughly: Patterns = ()
    no_place: Patterns = ()
    span: Patterns = ()
    ended: Words = frozenset()


class Grammar(FrozenModel):
    """Words that show what a sentence, a title or a category says of its subject, all in lower case.

    Without words, no sentence says anything.
    """

    head: Literal["first", "last"] = "last"
    marks: str = ",;:.!?&"
    elided: Words = frozenset()
    nouns_are_capitalised: bool = False
    indefinite: Words = frozenset()
    definite: Words = frozenset()
    this: Words = frozenset()
    these: Words = frozenset()
    conjunctions: Words = frozenset()
    of: Words = frozenset()
    of_what: Words = frozenset()
    as_words: Words = frozenset()
    copulas_singular: Words = frozenset()
    copulas_plural: Words = frozenset()
    as_verbs: Words = frozenset()
    adverbs: Words = frozenset()
    adverb_endings: tuple[str, ...] = ()
    determiners: Words = frozenset()
    boundaries: Words = frozenset()
    before_noun: Words = frozenset()
    after_noun: Words = frozenset()
    joiners: Words = frozenset()
    verb_endings: tuple[str, ...] = ()
    participle_endings: tuple[str, ...] = ()
    attribute_endings: tuple[str, ...] = ()
    transparent: Words = frozenset()
    transparent_kinds: Words = frozenset()
    collectives: Words = frozenset()
    infobox_words: Words = frozenset()
    upkeep: Words = frozenset()
    stubs: Words = frozenset()
    pronouns: tuple[str, ...] = ()
    plurals: tuple[tuple[str, str], ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
    plural_adjectives: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_only_boundaries_before_nouns(self) -> "Grammar":
        if unknown := self.before_noun - self.boundaries:
            raise ValueError(f"before_noun: {min(unknown)!r} is not in boundaries")
        return self


class Language(FrozenModel):
    """What is known of a language. One that has no file has no words.

    Attributes:
        name: its English name.
        redirects: words that make a page a redirect.
        namespaces: names and aliases of namespaces by number, for wikis that do not give them.
        picture_options: options of a picture; those in English hold on every wiki.
        labels: names of infobox fields, by the English name of the same field.
        rules: words of the rules of types, by the rule's id and the kind of its matcher.
    """

    name: str = ""
    redirects: Words = frozenset()
    namespaces: Mapping[int, tuple[str, ...]] = Field(default_factory=dict)
    disambiguation: Disambiguation = Disambiguation()
    lists: Lists = Lists()
    timeline: Timeline = Timeline()
    infobox: InfoboxNames = InfoboxNames()
    text_templates: TemplatesOfText = TemplatesOfText()
    picture_options: Patterns = ()
    prose: Prose = Prose()
    dates: Dates = Dates()
    values: Values = Values()
    grammar: Grammar = Grammar()
    labels: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    rules: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)

    def english_labels(self) -> dict[str, str]:
        """The English name of each infobox field that the language names, in lower case and casefolded."""
        return {
            form: english
            for english, names in self.labels.items()
            for own in names
            for form in (own.lower(), own.casefold())
        }


def language_code(stated: str | None) -> str:
    """The code of the language whose words count on a wiki.

    Args:
        stated: what the wiki says, such as 'de-at'; None if it says nothing, as wikis that older versions
            read, which count as English.
    """
    code = (stated or ENGLISH).lower()
    base = code.partition("-")[0]
    return code if code in known_languages() or base not in known_languages() else base


@cache
def known_languages() -> frozenset[str]:
    """Codes of the languages that have a file."""
    return frozenset(path.stem for path in _FOLDER.glob("*.yaml"))


@cache
def load_language(code: str) -> Language:
    """What is known of a language, read once a process.

    Args:
        code: as `language_code` gives it.

    Raises:
        LanguageError: its file cannot be used.
    """
    if code not in known_languages():
        return Language()
    return read_language(_FOLDER / f"{code}.yaml")


def read_language(path: Path) -> Language:
    """Read a language's file.

    Raises:
        LanguageError: it is no YAML, or a key is unknown or wrong; names the file and the key.
    """
    try:
        return Language.model_validate(load_yaml(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise LanguageError(f"{path}: cannot be read as YAML: {error}") from error
    except ValidationError as error:
        key, problem = first_problem(error)
        raise LanguageError(f"{path}: key {key!r}: {problem}") from error
