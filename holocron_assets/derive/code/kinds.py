"""The kinds of an interrogation: what answers it, and which keys each kind needs or must not have."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Literal, get_args

Kind = Literal["model", "embedding", "sql", "python", "search"]
CodeKind = Literal["sql", "python", "search"]

CODE_KINDS: frozenset[str] = frozenset(get_args(CodeKind))
"""Kinds that no model answers. For the dispatcher, each is also the name of a model."""

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "model": ("model", "evidence", "prompt", "question", "options", "timeout_seconds"),
    "embedding": ("model", "embedding", "options", "timeout_seconds"),
    "sql": ("sql",),
    "python": ("function",),
    "search": ("search",),
}
_OPTIONAL = {
    "model": ("alternatives", "chunk_characters", "examples", "follow_up", "redact", "retry_prompt"),
    "embedding": ("alternatives",),
}
_TAKES: Mapping[str, frozenset[str]] = {
    kind: frozenset((*needed, *_OPTIONAL.get(kind, ()))) for kind, needed in _NEEDED.items()
}
"""Keys that only some kinds take, by kind."""


def lacking_key(kind: Kind, declared: AbstractSet[str]) -> str | None:
    """A key that an interrogation of this kind needs and does not have; None if it has all."""
    return next((key for key in _NEEDED[kind] if key not in declared), None)


def check_keys(declared: Mapping[str, Any]) -> None:
    """Refuse an interrogation that has a key of another kind.

    Raises:
        ValueError: names the key.
    """
    kind = declared.get("kind", "model")
    if kind not in get_args(Kind):
        return  # another check reports an unknown kind
    for key in declared:
        others = [other for other, takes in _TAKES.items() if key in takes]
        if others and kind not in others:
            raise ValueError(
                f"{key}: is of kind {others[0]}; an interrogation of kind {kind} has no use for it"
            )
    if declared.get("model") in CODE_KINDS:
        raise ValueError(f"model: no model is called {declared['model']}; say `kind: {declared['model']}`")
