"""`docs/vocabulary.md`: every key that may be stated of an entity, written from the vocabulary itself.

.venv/bin/python -m holocron_assets.entities.facts.reference > docs/vocabulary.md
"""

import sys
from collections.abc import Iterable, Sequence

from holocron_assets.entities.facts.stated_keys import StatedKey, load_keys
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.lake.declaration.reference import code, section

_HEAD = """\
# Vocabulary

What Holocron may state of an entity, as a closed list. FROM is the entity, TO the other one, and VALUE what
is said of it. [facts.md](facts.md#the-vocabulary) explains the list. Models' words and sentences are read as
keys of "Relations" and "Facts" only; the other keys stand in infoboxes. A side without types may have any. A
test compares this page with the data. After a change:

    .venv/bin/python -m holocron_assets.entities.facts.reference > docs/vocabulary.md
"""
_MOST_WORDS = 3
"""Of a list of words that a value may be."""


def vocabulary_markdown() -> str:
    """All relations, facts, names and external ids, as Markdown."""
    keys = [one for one in load_keys().values() if not one.is_turned]
    relations = [one for one in keys if one.kind == "relation"]
    facts = [one for one in keys if one.kind == "fact"]
    others = [one for one in keys if one.kind in {"name", "external_id"}]
    relation_head = ("relation", "inverse", "what it says", "from", "to", "how many")
    fact_head = ("key", "what it says", "of", "value", "how many")
    sections = [
        section("Relations", relation_head, map(_relation, _of(relations, is_read=True))),
        section("Relations of infoboxes", relation_head, map(_relation, _of(relations, is_read=False))),
        section("Facts", fact_head, map(_fact, _of(facts, is_read=True))),
        section("Facts of infoboxes", fact_head, map(_fact, _of(facts, is_read=False))),
        section("Names and external ids", ("key", "kind", "what it says"), map(_other, others)),
    ]
    return "\n".join([_HEAD, *sections])


def _of(keys: Iterable[StatedKey], *, is_read: bool) -> list[StatedKey]:
    return sorted((one for one in keys if one.is_read == is_read), key=lambda one: one.key)


def _relation(one: StatedKey) -> Sequence[str]:
    inverse = "itself" if one.inverse == one.key else code([one.inverse] if one.inverse else [])
    ends = ", ".join(one.from_types), ", ".join(one.to_types)
    return code([one.key]), inverse, _says(one), *ends, _number(one)


def _fact(one: StatedKey) -> Sequence[str]:
    return code([one.key]), _says(one), ", ".join(one.from_types), _value(one.value), _number(one)


def _other(one: StatedKey) -> Sequence[str]:
    return code([one.key]), one.kind.replace("_", " "), one.means


def _says(one: StatedKey) -> str:
    """The definition; also which narrower keys say it, or as what the same word of a model is read."""
    words = load_vocabulary()
    if one.is_read:
        entry = words.file.relations.get(one.key) if one.kind == "relation" else None
        also = f" (narrower: {code(entry.implied_by)})" if entry and entry.implied_by else ""
        return one.means + also
    read = words.key_of("fact" if one.kind == "fact" else "relation", one.key)
    return f"{one.means} (as a model's word: `{read}`)" if read else one.means


def _value(value: str | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return value
    more = ", ..." if len(value) > _MOST_WORDS else ""
    return f"a word: {', '.join(value[:_MOST_WORDS])}{more}"


def _number(one: StatedKey) -> str:
    return "one" if one.single else "several"


if __name__ == "__main__":
    sys.stdout.write(vocabulary_markdown())
