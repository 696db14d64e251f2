"""YAML that people write, read within limits, so that no small file can fill the memory."""

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MOST_CHARACTERS = 1_000_000
MOST_VALUES = 100_000
_ANCHOR = re.compile(r"(?:^|[\s\[{,:?-])&\S", re.MULTILINE)


class UnreadableYAMLError(YAMLError):
    """A text is longer or deeper than any file of ours, or holds an impossible number or date."""


def load_yaml(text: str) -> Any:
    """The values of a YAML file that a person wrote.

    A value that `*name` repeats counts each time, since nine lines can stand for a thousand million values.

    Args:
        text: the file's text.

    Raises:
        YAMLError: it is no YAML, has more than `MOST_CHARACTERS`, or more than `MOST_VALUES` values.
    """
    if _ANCHOR.search(text):
        compose_yaml(text)
    return _within_bounds(text, "load")


def compose_yaml(text: str) -> Node | None:
    """The nodes of a YAML file that a person wrote, with their lines; None if the file is empty.

    Raises:
        YAMLError: as for `load_yaml`.
    """
    root: Node | None = _within_bounds(text, "compose")
    if root is not None and _values(root, {}) > MOST_VALUES:
        raise UnreadableYAMLError(f"it stands for more than {MOST_VALUES:,} values: repeat less by `*name`")
    return root


def _within_bounds(text: str, how: str) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise UnreadableYAMLError(f"it is longer than {MOST_CHARACTERS:,} characters: split it")
    try:
        return getattr(YAML(typ="safe", pure=True), how)(text)
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
