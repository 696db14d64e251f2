"""Every key that may be stated of an entity: `vocabulary.yaml` and `infobox_vocabulary.yaml`, a closed list.

The first file has the keys that models' words and sentences are read as, the second those that only infoboxes
say. Whoever reads a model's words needs only the first, by `load_vocabulary`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from holocron_assets.entities.data_files import DataFileError, read_data_file
from holocron_assets.entities.facts.vocabulary import (
    VOCABULARY_FILE,
    Key,
    Meaning,
    RelationMeaning,
    Text,
    Types,
    Vocabulary,
    load_vocabulary,
)
from holocron_assets.frozen_model import FrozenModel

INFOBOX_VOCABULARY_FILE = Path(__file__).with_name("infobox_vocabulary.yaml")

StatedKind = Literal["fact", "relation", "name", "external_id"]
KINDS: tuple[StatedKind, ...] = ("relation", "fact", "name", "external_id")

_END = re.compile(r"\b(FROM|TO)\b")


class _Strict(FrozenModel):
    model_config = ConfigDict(populate_by_name=True)


class _NamedEntry(_Strict):
    means: Text


class _FactOfInfoboxes(Meaning):
    of: Types = ()
    value: Literal["text", "number", "date"] = "text"


class InfoboxVocabulary(_Strict):
    """The file of keys that only infoboxes say; its first lines explain each key."""

    of_both_kinds: frozenset[Key] = frozenset()
    lists: Mapping[str, Types] = Field(default_factory=dict)
    relations: Mapping[Key, RelationMeaning]
    facts: Mapping[Key, _FactOfInfoboxes]
    names: Mapping[Key, _NamedEntry]
    external_ids: Mapping[Key, _NamedEntry]


@dataclass(frozen=True)
class StatedKey:
    """A key of the closed list.

    Attributes:
        kind: what it is a key of.
        key: its name.
        means: it in a sentence, with FROM, and TO or VALUE.
        is_read: whether models' words and sentences are read as it; if not, only infoboxes say it.
        inverse: its name from the other end; its own if it is symmetric, None if it has none.
        is_turned: whether it is declared as the inverse of another.
        single: whether an entity can have only one.
        from_types: types that the entity may have; any if empty.
        to_types: types that the other one may have.
        value: kind of a fact's value, or the words that it may be.
    """

    kind: StatedKind
    key: str
    means: str
    is_read: bool = False
    inverse: str | None = None
    is_turned: bool = False
    single: bool = False
    from_types: Types = ()
    to_types: Types = ()
    value: str | tuple[str, ...] = "text"


@cache
def load_keys() -> Mapping[tuple[StatedKind, str], StatedKey]:
    """The closed list, by kind and key.

    Raises:
        DataFileError: a file cannot be used, or the two say different things; names file and key.
    """
    return closed_list(load_vocabulary(), read_data_file(INFOBOX_VOCABULARY_FILE, InfoboxVocabulary))


def closed_list(
    words: Vocabulary, infoboxes: InfoboxVocabulary
) -> Mapping[tuple[StatedKind, str], StatedKey]:
    """The keys of both files.

    Args:
        words: the keys that models' words and sentences are read as.
        infoboxes: those that only infoboxes say.

    Raises:
        DataFileError: a key is declared twice, or as more kinds than `of_both_kinds` allows; names it.
    """
    found: dict[tuple[StatedKind, str], StatedKey] = {}
    kinds: dict[str, list[StatedKind]] = {}
    for one in chain(_read_keys(words), _infobox_keys(infoboxes)):
        if (one.kind, one.key) in found:
            raise DataFileError(
                f"{INFOBOX_VOCABULARY_FILE}: {one.kind} {one.key!r} is declared twice, "
                f"here or in {VOCABULARY_FILE.name}: keep one"
            )
        found[one.kind, one.key] = one
        kinds.setdefault(one.key, []).append(one.kind)
    if wrong := sorted({key for key, own in kinds.items() if len(own) > 1} ^ infoboxes.of_both_kinds):
        raise DataFileError(
            f"{INFOBOX_VOCABULARY_FILE}: of_both_kinds: {', '.join(wrong)}: a key has one kind. "
            "Name exactly those that have two"
        )
    return found


def _read_keys(words: Vocabulary) -> Iterator[StatedKey]:
    for key, entry in words.file.relations.items():
        yield from _both_ways(key, entry, is_read=True)
    for key, fact in words.facts.items():
        yield StatedKey(
            *("fact", key, fact.means, True), single=fact.single, from_types=fact.of, value=fact.value
        )


def _infobox_keys(file: InfoboxVocabulary) -> Iterator[StatedKey]:
    for key, entry in file.relations.items():
        yield from _both_ways(key, entry, is_read=False)
    for key, fact in file.facts.items():
        yield StatedKey("fact", key, fact.means, single=fact.single, from_types=fact.of, value=fact.value)
    yield from (StatedKey("name", key, one.means) for key, one in file.names.items())
    yield from (StatedKey("external_id", key, one.means) for key, one in file.external_ids.items())


def _both_ways(key: str, entry: RelationMeaning, *, is_read: bool) -> Iterator[StatedKey]:
    """A relation, and its inverse as a key of its own."""
    straight = StatedKey(
        *("relation", key, entry.means, is_read, key if entry.symmetric else entry.inverse),
        single=entry.single,
        from_types=entry.from_types,
        to_types=entry.to_types,
    )
    yield straight
    if entry.inverse:
        yield replace(
            straight,
            key=entry.inverse,
            inverse=key,
            means=_END.sub(lambda end: "TO" if end[1] == "FROM" else "FROM", entry.means),
            is_turned=True,
            single=False,
            from_types=entry.to_types,
            to_types=entry.from_types,
        )


def types_of_pages() -> list[dict[str, Any]]:
    """The types that may have a relation that only infoboxes say: rows of `key` and `types`.

    Those of other relations are about sentences. Infoboxes say more with them: a ship is affiliated too.
    """
    relations = [one for one in load_keys().values() if one.kind == "relation" and not one.is_read]
    return [{"key": one.key, "types": list(one.from_types)} for one in relations if one.from_types]


def types_of_names() -> list[dict[str, Any]]:
    """The types that a name without a link may stand for in an infobox: rows of `key` and `types`."""
    relations = [one for one in load_keys().values() if one.kind == "relation"]
    return [{"key": one.key, "types": list(one.to_types)} for one in relations if one.to_types]


def why_not_stated(kind: StatedKind, key: str, means: str | None) -> str | None:
    """Why an infobox rule may not state a key; None if it may.

    Args:
        kind: what the rule states.
        key: its key.
        means: what the rule's file says that the key means, if the file says it.
    """
    known = load_keys()
    if (kind, key) in known:
        if means is None:
            return None
        return f"the vocabulary says what {key!r} means already: leave `means` out, or take another key"
    if others := [one for one in KINDS if (one, key) in known]:
        return f"{key!r} is a {_named(others[0])} in the vocabulary, and no {_named(kind)}: take another key"
    ends = ("FROM", "TO") if kind == "relation" else ("FROM", "VALUE")
    if means is None:
        return (
            f"the vocabulary has no {_named(kind)} {key!r}: take one of its keys, or add what yours means "
            f"to the rule, `means: a sentence with {' and '.join(ends)}`"
        )
    if not all(re.search(rf"\b{end}\b", means) for end in ends):
        return f"what {key!r} means is a sentence with {' and '.join(ends)}"
    return None


def _named(kind: StatedKind) -> str:
    return kind.replace("_", " ")
