"""Versions of code, taken from the code itself: nobody has to remember to raise one."""

import ast
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from holocron_assets.lake.declaration.keys import content_hash

_SUFFIXES = (".py", ".yaml", ".sql")


@cache
def room_version(package: str) -> str:
    """A hash of a package's code, rules and vocabularies.

    Any edit makes another version, and what the room derived is derived again: that fetches nothing, and
    costs less than a lake that keeps what an older rule said.

    Args:
        package: its import name.
    """
    sources = sorted(_sources(files(package)), key=str)
    return content_hash("\n".join(file.read_text(encoding="utf-8") for file in sources))[:12]


@cache
def module_version(name: str) -> str:
    """A hash of a module's code; comments, docstrings and layout do not count.

    Args:
        name: its import name.

    Raises:
        ImportError: there is no such module.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"there is no module {name!r} with a file of its own", name=name)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return content_hash(ast.unparse(tree))[:12]


def _sources(folder: Traversable) -> list[Traversable]:
    found: list[Traversable] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _sources(entry)
        elif entry.name.endswith(_SUFFIXES):
            found.append(entry)
    return found
