"""Python source without the parts that do not run: comments, docstrings and layout.

The text is the same on every Python that Holocron supports: it is written from the relevant nodes of the
syntax tree, which are the same. `ast.dump` and `ast.unparse` would write them differently.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True)
class PlainCode:
    """What a module's code does.

    Attributes:
        text: changes only if the module does something else.
        imports: full names that it imports, at any place in it: modules, and names that may be modules.
        strings: those in the code, without docstrings and notes. Of an f-string, the constant parts.
    """

    text: str
    imports: frozenset[str]
    strings: frozenset[str]


@cache  # a module is reached from many others
def plain_code(source: str) -> PlainCode:
    """Read a module's code.

    Args:
        source: the module's text.

    Raises:
        SyntaxError: the text is not Python.
    """
    writer = _Writer()
    text = writer.written(ast.parse(source))
    return PlainCode(text, frozenset(writer.imports), frozenset(writer.strings))


@dataclass
class _Writer:
    imports: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)

    def written(self, node: object) -> str:
        """A node and the nodes below it. Empty fields are left out, since later Pythons have more of them."""
        if isinstance(node, ast.AST):
            self._note(node)
            fields = [f"{name}={self.written(value)}" for name, value in _fields(node)]
            return f"{type(node).__name__}({','.join(fields)})"
        if isinstance(node, list):
            return f"[{','.join([self.written(each) for each in node])}]"
        return f"{type(node).__name__}:{node!r}"

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                self.strings.add(node.value)
        elif isinstance(node, ast.Import):
            self.imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            self.imports.add(node.module)
            self.imports.update(f"{node.module}.{alias.name}" for alias in node.names)


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    for name in _names(node._fields):
        value = getattr(node, name, None)
        kept = _kept(node, value) if isinstance(value, list) else value
        if kept not in (None, []):
            yield name, kept


@cache
def _names(fields: tuple[str, ...]) -> list[str]:
    return sorted({*fields} - {"ctx", "kind", "type_comment"})


def _kept(node: ast.AST, parts: list[object]) -> list[object]:
    """Parts without docstrings, notes on attributes, and the empty end of f-strings in Python 3.12.1."""
    if isinstance(node, ast.JoinedStr):
        return [part for part in parts if not (isinstance(part, ast.Constant) and part.value == "")]
    return [part for part in parts if not _is_text(part)]


def _is_text(node: object) -> bool:
    """Whether a statement is only a string: a docstring, or a note on an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
