"""Who may import whom. Rooms know those below them, and only the top knows Dagster."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from holocron_assets.settings import PROJECT_FOLDER

PACKAGE = PROJECT_FOLDER / "holocron_assets"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE = 350

BELOW = {
    "observe": {"observe"},
    "lake": {"lake"},
    "resolve": {"lake", "resolve"},
    "models": {"lake", "models"},
    "derive": {"lake", "signals", "classify", "models", "derive"},
    "classify": {"lake", "classify"},
    "signals": {"lake", "signals"},
    "exports": {"lake", "exports"},
    "operations": {"lake", "resolve", "derive", "classify", "signals", "crawl", "operations"},
    "web": {"lake", "resolve", "operations", "web"},
    "crawl": {"lake", "crawl"},
    "orchestration": {
        *("lake", "resolve", "models", "derive", "classify", "signals", "crawl"),
        *("operations", "web", "orchestration"),
    },
}
"""The rooms that each room may import, besides `observe`, which all write their lines with.

Data flows from crawl to resolve through the lake, not by imports.
"""

AT_THE_TOP = {
    *(
        "cli",
        "commands",
        "console",
        "definitions",
        "interrupts",
        "own_machine",
        "reports",
        "settings",
        "status_console",
        "__init__",
    ),
    *(file.stem for file in PACKAGE.glob("*_commands.py")),
}
"""Modules outside the rooms."""

KNOW_DAGSTER = {"orchestration", "definitions", "cli"}


def part_of(module: Path) -> str:
    """The room that a module is in, or the module itself where it is in none."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(module: Path) -> Iterator[str]:
    """Full names of the modules that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide who imports whom"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_parts(module: Path) -> set[str]:
    """Rooms and top modules of Holocron that a module imports."""
    names = [name.split(".") for name in imported(module)]
    known = BELOW.keys() | AT_THE_TOP
    return {name[1] for name in names if name[0] == "holocron_assets" and len(name) > 1 and name[1] in known}


def relative(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def test_every_module_is_in_a_known_place() -> None:
    assert {part_of(module) for module in MODULES} == BELOW.keys() | AT_THE_TOP


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_only_rooms_below(room: str) -> None:
    below = BELOW[room] | {"observe"}
    found = {relative(module): own_parts(module) - below for module in (PACKAGE / room).rglob("*.py")}
    allowed = {
        # The settings and the guard know no room. The rest is what a command needs, which orchestration does.
        "orchestration": {
            *("settings", "interrupts", "own_machine", "definitions"),
            *("console", "reports", "status_console"),
        },
        "lake": {"settings"},
        "derive": {"settings"},
        "models": {"settings", "own_machine"},
        "web": {"own_machine"},
    }.get(room, set())
    assert {module: parts - allowed for module, parts in found.items() if parts - allowed} == {}


@pytest.mark.parametrize("module", ["settings", "interrupts", "own_machine"])
def test_what_rooms_share_knows_no_room(module: str) -> None:
    assert own_parts(PACKAGE / f"{module}.py") == set()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_only_the_top_knows_dagster(module: Path) -> None:
    if part_of(module) not in KNOW_DAGSTER:
        assert [name for name in imported(module) if name.split(".")[0].startswith("dagster")] == []


def test_the_cli_loads_dagster_only_for_commands_that_need_it() -> None:
    tree = ast.parse((PACKAGE / "cli.py").read_text(encoding="utf-8"))
    at_import = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in at_import if "orchestration" in (node.module or "")] == []


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_no_file_is_long(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_no_room_opens_the_network_but_by_the_http_module_and_what_it_connects_with() -> None:
    clients = {"httpx", "httpcore", "requests", "urllib3", "aiohttp", "anyio", "socket"}
    asking = {relative(m) for m in MODULES if clients & {name.split(".")[0] for name in imported(m)}}
    on_loopback = {"orchestration/serving.py", "models/loopback.py", "web/serving.py"}
    of_the_model_server = {"derive/engine/bounded_client.py"}
    assert asking - on_loopback - of_the_model_server == {"crawl/http.py", "crawl/connecting.py"}
