"""Python source without the parts that do not run: comments, docstrings and layout.

The text is the same on every Python that Holocron supports: it is written from the relevant nodes of the
syntax tree, which are the same. `ast.dump` and `ast.unparse` would write them differently.
"""

import ast
from collections.abc import Iterator


def plain_code(source: str) -> str:
    """A module's code as a text that changes only if the module does something else.

    Args:
        source: the module's text.

    Raises:
        SyntaxError: the text is not Python.
    """
    return _written(ast.parse(source))


def imported_modules(source: str) -> set[str]:
    """Full names that a module imports, at any place in it: modules, and names that may be modules.

    Raises:
        SyntaxError: the text is not Python.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def texts_within(source: str) -> set[str]:
    """The strings in a module's code, without docstrings. Of an f-string, the constant parts.

    Raises:
        SyntaxError: the text is not Python.
    """
    return {
        node.value
        for body in _trees(ast.parse(source))
        for node in ast.walk(body)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _trees(module: ast.Module) -> list[ast.stmt]:
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return module.body


def _written(node: object) -> str:
    """A node and the nodes below it. Empty fields are left out, since later Pythons have more of them."""
    if isinstance(node, ast.AST):
        fields = [f"{name}={_written(value)}" for name, value in _fields(node)]
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_written(each) for each in node)}]"
    return f"{type(node).__name__}:{node!r}"


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    for name, value in sorted(ast.iter_fields(node)):
        kept = _kept(node, value) if isinstance(value, list) else value
        if kept not in (None, []) and name not in ("ctx", "kind", "type_comment"):
            yield name, kept


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
