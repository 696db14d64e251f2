"""Only `orchestration/internals/` uses Dagster's private parts, and the architecture page lists its parts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._annotations import is_public

from holocron_assets.settings import PROJECT_FOLDER

PACKAGE = PROJECT_FOLDER / "holocron_assets"
INTERNALS = PACKAGE / "orchestration" / "internals"
OUTSIDE = sorted(file for file in PACKAGE.rglob("*.py") if INTERNALS not in file.parents)
INSIDE = sorted(file for file in INTERNALS.glob("*.py") if file.name != "__init__.py")

PRIVATE_TEXTS = (
    "runs.db",
    "dagster._",
    "/api.DagsterApi",
    ".dagster/grpc",
    "dagster_graphql",
    "defer_asset_events",
)
"""Names of private modules, services and tags, which code could use as text."""

PRIVATE_OF_RUNS = {"remote_job_origin", "job_code_origin", "repository_def", "asset_layer"}
"""Attributes of runs, contexts and jobs that Dagster does not document."""

INSTANCES = {"instance", "_instance"}
OBJECTS_OF_DAGSTER = {"context", "run", "record", "job", "defs", "graph"}


def private_uses(tree: ast.Module) -> Iterator[str]:
    """What a module uses of Dagster's private parts."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    instances = INSTANCES | annotated_as_instance(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_private_name(alias.name))
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if is_private_name(name))
        elif isinstance(node, ast.Attribute):
            yield from private_attribute(node, instances)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from (text for text in PRIVATE_TEXTS if text in node.value)


def is_private_name(name: str) -> bool:
    """Whether a module or a name in it is private to Dagster or to a library of Dagster's."""
    root, *rest = name.split(".")
    if root == "dagster":
        return any(part.startswith("_") for part in rest) or len(rest) > 1 or not all(map(is_exported, rest))
    return root.startswith("dagster_")


def is_exported(name: str) -> bool:
    return hasattr(dg, name)


def annotated_as_instance(tree: ast.Module) -> set[str]:
    """Names of arguments that are Dagster's instance."""
    return {
        node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.annotation and "DagsterInstance" in ast.unparse(node.annotation)
    }


def private_attribute(node: ast.Attribute, instances: set[str]) -> Iterator[str]:
    owner, name = ast.unparse(node.value), node.attr
    of = owner.rpartition(".")[2]
    if owner == "dg" and not is_exported(name):
        yield f"dagster.{name}"
    elif of in instances and hasattr(dg.DagsterInstance, name):
        found = getattr(dg.DagsterInstance, name)
        if not is_public(getattr(found, "fget", None) or found):
            yield f"{owner}.{name}"
    elif name in PRIVATE_OF_RUNS or (
        name.startswith("_") and of in {"context", "run", "record", "job", "defs", "graph", *instances}
    ):
        yield f"{owner}.{name}"


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_nothing_outside_internals_uses_a_private_part_of_dagster() -> None:
    found = {str(file.relative_to(PACKAGE)): sorted(set(private_uses(parsed(file)))) for file in OUTSIDE}
    assert {file: uses for file, uses in found.items() if uses} == {}


@pytest.mark.parametrize(
    "code",
    [
        "from dagster._core.origin import JobPythonOrigin",
        "from dagster import _loggers",
        "import dagster._daemon",
        "from dagster.components import Component",
        "from dagster_graphql.cli import main",
        "command = ['-m', 'dagster._daemon']",
        "def f(instance): instance._run_storage.get_runs()",
        "def f(kept: dg.DagsterInstance): kept.event_log_storage",
        "def f(context): context.instance.report_run_failed(context.run)",
        "def f(context): return context.run.remote_job_origin",
        "dg.NoSuchName",
    ],
)
def test_a_private_part_is_found_however_it_is_used(code: str) -> None:
    assert list(private_uses(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        '"""Says what `dagster._core` does."""',
        "from dagster import RunsFilter",
        "def f(instance: dg.DagsterInstance): instance.get_run_by_id('1')",
        "def f(made): return made._replace(removed=1)",
    ],
)
def test_what_is_public_is_let_through(code: str) -> None:
    assert not list(private_uses(ast.parse(code)))


@pytest.mark.parametrize("file", INSIDE, ids=lambda file: file.stem)
def test_a_module_of_internals_uses_private_parts_and_names_the_call_that_it_waits_for(file: Path) -> None:
    tree = parsed(file)
    assert "\nWaits for: " in (ast.get_docstring(tree) or "")
    of_other_modules = re.search(r"orchestration\.internals\.\w+", file.read_text(encoding="utf-8"))
    assert list(private_uses(tree)) or of_other_modules


def test_the_architecture_lists_every_module_of_internals_with_what_it_waits_for() -> None:
    page = (PROJECT_FOLDER / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("\n## Private parts of Dagster\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    listed = {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}
    assert listed.keys() == {file.name for file in INSIDE}
    assert [name for name, cells in listed.items() if len(cells) != 2 or not all(cells)] == []
