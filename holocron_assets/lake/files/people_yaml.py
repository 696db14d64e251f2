"""YAML that people write, read within limits, so that no small file can fill the memory."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from yaml import CSafeLoader, MappingNode, Node, ScalarNode, SequenceNode, YAMLError
from yaml.composer import Composer, ComposerError

MOST_CHARACTERS = 1_000_000
MOST_VALUES = 100_000

_TAG = "tag:yaml.org,2002:"
_CORE_SCHEMA: dict[str, tuple[Iterable[str], str]] = {
    "bool": ("tTfF", r"true|True|TRUE|false|False|FALSE"),
    "int": ("-+0123456789", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": (
        "-+.0123456789",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    ),
    "null": (("~", "n", "N", ""), r"~|null|Null|NULL|"),
    "merge": ("<", r"<<"),
}
"""First characters and patterns of what is no text without quotes, as in YAML 1.2.2, section 10.3.2, and the
merge key of 1.1. The 1.1 that PyYAML reads by itself takes `no` for false and `1:30` for 90."""


class UnreadableYAMLError(YAMLError):
    """A text is longer or deeper than any file of ours, or holds an impossible number or date."""


class _Loader(Composer, CSafeLoader):
    """Reads YAML 1.2 by libyaml's scanner.

    Nodes are made in Python: libyaml's wrapper makes them by recursion in C, which ends the process where the
    text is nested very deeply.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own

    def __init__(self, text: str) -> None:
        CSafeLoader.__init__(self, text)
        Composer.__init__(self)

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        node: MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, ScalarNode) and key.tag != f"{_TAG}merge":
                if (key.tag, key.value) in seen:
                    problem = f'found duplicate key "{key.value}"'
                    raise ComposerError("while composing a mapping", node.start_mark, problem, key.start_mark)
                seen.add((key.tag, key.value))
        return node


def _whole_number(loader: _Loader, node: ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))


for _kind, (_first, _pattern) in _CORE_SCHEMA.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"(?:{_pattern})\\Z"), list(_first))
for _tag, _known in CSafeLoader.yaml_implicit_resolvers["2"]:
    if _tag == f"{_TAG}timestamp":
        _Loader.add_implicit_resolver(_tag, _known, list("0123456789"))
_Loader.add_constructor(f"{_TAG}int", _whole_number)


def load_yaml(text: str) -> Any:
    """The values of a YAML file that a person wrote.

    A value that `*name` repeats counts each time, since nine lines can stand for a thousand million values.

    Args:
        text: the file's text.

    Raises:
        YAMLError: it is no YAML, has more than `MOST_CHARACTERS`, or more than `MOST_VALUES` values.
    """
    return _within_bounds(text, lambda loader, root: root and loader.construct_document(root))


def compose_yaml(text: str) -> Node | None:
    """The nodes of a YAML file that a person wrote, with their lines; None if the file is empty.

    The indexes of their marks do not count a byte order mark at the text's beginning.

    Raises:
        YAMLError: as for `load_yaml`.
    """
    root: Node | None = _within_bounds(text, lambda _, root: root)
    return root


def _within_bounds(text: str, then: Callable[[_Loader, Node | None], Any]) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise UnreadableYAMLError(f"it is longer than {MOST_CHARACTERS:,} characters: split it")
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        # Without repetition, a text has fewer values than characters.
        if root and _values(root, {}) > max(MOST_VALUES, len(text)):
            raise UnreadableYAMLError(f"it has over {MOST_VALUES:,} values: repeat less by `*name`")
        return then(loader, root)
    except RecursionError:
        raise UnreadableYAMLError("it is nested too deeply") from None
    except ValueError as error:  # for example, a 31st of February
        raise UnreadableYAMLError(str(error)) from None


def _values(node: Node, counted: dict[int, int | None]) -> int:
    """How many values a node stands for, with repeated ones counted each time; `counted` keeps results."""
    if isinstance(node, ScalarNode):
        return 1
    if id(node) in counted:
        if (known := counted[id(node)]) is None:
            raise UnreadableYAMLError(f"the value of line {node.start_mark.line + 1} holds itself")
        return known
    counted[id(node)] = None
    match node:
        case MappingNode():
            children = [child for pair in node.value for child in pair]
        case SequenceNode():
            children = node.value
        case _:
            children = []
    total = 1 + sum(_values(child, counted) for child in children)
    counted[id(node)] = total
    return total
