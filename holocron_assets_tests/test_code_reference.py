"""docs/reference.md says what the code declares, and the code reads no setting that is not declared."""

import re
from pathlib import Path

from reference import reference_markdown
from systemd_units import UNITS

from holocron_assets.settings import PROJECT_FOLDER, VARIABLES, written_by_people

_NAME = re.compile(r"\b(?:HOLOCRON|OLLAMA)_[A-Z_]+\b")
_DECLARATION = re.compile(r"^VARIABLES: .*?^}", re.MULTILINE | re.DOTALL)


def test_the_reference_says_what_the_code_declares() -> None:
    page = (PROJECT_FOLDER / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == reference_markdown(), (
        "docs/reference.md is not what the code gives; write it again with "
        "`.venv/bin/python tools/reference.py > docs/reference.md`"
    )


def test_every_key_of_the_files_that_people_write_says_what_it_is() -> None:
    text = reference_markdown()
    sections = dict(re.findall(r"^## (.+)\n\n`data/.*\n\n((?:\|.*\n)+)", text, re.MULTILINE))
    files = [
        "Source files",
        "Interrogations",
        "Dispatch",
        "Schedules",
        "Groups",
        "Webhooks",
        "Alerts",
        "Tags",
    ]
    assert list(sections) == [*files, "Infobox rules"]
    silent = {
        (name, line) for name, rows in sections.items() for line in rows.splitlines() if "|  |" in line[-5:]
    }
    assert silent == set()
    assert "| `groups.group` | yes |" in sections["Schedules"]
    assert "| `webhooks.NAME.secret_env` | yes |" in sections["Webhooks"]
    assert "| `pools.NAME.limit` | yes |" in sections["Dispatch"]


def test_every_setting_that_the_code_names_is_declared_and_the_other_way_round() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (PROJECT_FOLDER / "holocron_assets").rglob("*.py")]
    elsewhere = [_DECLARATION.sub("", text) for text in texts]
    named = {name for text in elsewhere for name in _NAME.findall(text)}
    assert named == VARIABLES.keys() - {"DAGSTER_HOME"}


def test_every_setting_that_a_page_names_is_declared() -> None:
    pages = [PROJECT_FOLDER / "README.md", *(PROJECT_FOLDER / "docs").rglob("*.md")]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`[^`\n]*?(HOLOCRON_[A-Z_]+)", page.read_text())
    }
    wrong = {(page, name) for page, name in named if name not in VARIABLES}
    assert {one for one in wrong if not one[1].startswith(("HOLOCRON_TEST_", "HOLOCRON_FAULT_"))} == set()


def test_the_units_name_every_place_where_people_write_files() -> None:
    lines = (UNITS / "holocron.env").read_text(encoding="utf-8").splitlines()
    variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert variables.keys() <= VARIABLES.keys()
    places = {path.parent for path in written_by_people(variables).values()}
    assert places == {Path("/etc/holocron")}
