"""Docs and docstrings name only files, modules and functions that are there."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from holocron_assets.settings import PROJECT_FOLDER

PACKAGE = PROJECT_FOLDER / "holocron_assets"
TESTS = PROJECT_FOLDER / "holocron_assets_tests"
ROOTS = (PROJECT_FOLDER, PACKAGE, TESTS, PACKAGE / "orchestration", PROJECT_FOLDER / "docs")

_PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|yaml|sql|md|toml|lock|html|css|js))`")
_MODULE = re.compile(r"\bholocron_assets(?:\.\w+)+")
_DEFINED = re.compile(r"^\s*(?:async )?def (\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"`([a-z_]\w*)\(\)`")
_PEOPLES_OWN = re.compile(r"(^|/)(NAME|KEY|my\w*|mywiki|monday)\b|^(FILE|FOLDER)")
_OF_OTHERS = {
    *("docker-compose.yml", "compose.yaml", "dagster-daemon.yaml", "prometheus.yaml", "values.yaml"),
    *(
        "output.json",
        "retry.md",
        "follow_up.md",
        "wants.sql",
        "request.json",
        "response.json",
        "evidence.json",
        "manifest.json",
        "schema.json",
    ),
}


@cache
def pages() -> Sequence[tuple[str, str]]:
    """Texts of docs, and of docstrings, each with its place."""
    return list(_pages())


def _pages() -> Iterator[tuple[str, str]]:
    for page in (*PROJECT_FOLDER.glob("*.md"), *(PROJECT_FOLDER / "docs").rglob("*.md")):
        yield page.name, page.read_text(encoding="utf-8")
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield str(module.relative_to(PACKAGE)), ast.get_docstring(node) or ""


@cache
def files() -> frozenset[str]:
    """Names of all files of the project that git would hold."""
    parts = (".venv", ".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")
    return frozenset(path.name for path in PROJECT_FOLDER.rglob("*.*") if not set(parts) & set(path.parts))


@cache
def functions() -> frozenset[str]:
    """Names of all functions and methods of the package and its tests."""
    texts = (file.read_text(encoding="utf-8") for root in (PACKAGE, TESTS) for file in root.rglob("*.py"))
    return frozenset(name for text in texts for name in _DEFINED.findall(text))


def is_there(place: str, named: str) -> bool:
    if "/" not in named:
        return named in files() or named in _OF_OTHERS
    own = (PACKAGE / place).parent
    return any((root / named).exists() for root in (*ROOTS, own, own.parent))


def test_every_file_that_a_text_names_is_there() -> None:
    wrong = {
        (place, named)
        for place, text in pages()
        if place != "CHANGELOG.md"
        for named in _PATH.findall(text)
        if not _PEOPLES_OWN.search(named) and not is_there(place, named)
    }
    assert wrong == set()


def test_every_module_that_a_text_names_is_there() -> None:
    wrong = set()
    for place, text in pages():
        for named in _MODULE.findall(text):
            parts = named.split(".")[1:]
            # The last parts may be names in a module.
            places = [PACKAGE.joinpath(*parts[:length]) for length in range(len(parts), 0, -1)]
            if not any(one.is_dir() or one.with_suffix(".py").is_file() for one in places[:2]):
                wrong.add((place, named))
    assert wrong == set()


def test_every_function_that_a_text_calls_is_there() -> None:
    of_others = {"eager", "replay", "current_date"}
    wrong = {
        (place, named)
        for place, text in pages()
        for named in _FUNCTION.findall(text)
        if named not in functions() | of_others
    }
    assert wrong == set()


def test_the_map_names_every_room_and_sub_room() -> None:
    text = (PROJECT_FOLDER / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = text.partition("## Map")[2].partition("## Three journeys")[0]
    folders = [path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert [str(folder.relative_to(PACKAGE)) for folder in folders if f"{folder.name}/" not in drawn] == []


def test_the_journeys_name_files_from_the_package_on() -> None:
    text = (PROJECT_FOLDER / "docs" / "architecture.md").read_text(encoding="utf-8")
    journeys = text.partition("## Three journeys")[2].partition("## From candidates")[0]
    named = _PATH.findall(journeys)
    assert len(named) > 40
    assert [one for one in named if not (PACKAGE / Path(one)).is_file()] == []
