"""The page about the five systems that Holocron replaces leads from each capability to where it is here."""

import re

from holocron_assets.settings import PROJECT_FOLDER

_PAGE = (PROJECT_FOLDER / "docs" / "predecessors.md").read_text(encoding="utf-8")
_HEAD = "| it had | here | otherwise on purpose |"


def rows() -> list[list[str]]:
    """The cells of every row, without heads and rules of tables."""
    lines = [line for line in _PAGE.splitlines() if line.startswith("| ") and line != _HEAD]
    return [
        [cell.strip() for cell in line[1:-1].split(" |")] for line in lines if not line.startswith("| ---")
    ]


def test_each_of_the_five_systems_has_a_table() -> None:
    systems = _PAGE.split("\n## ")[1:]
    assert len(systems) == 5
    assert [system.partition("\n")[0] for system in systems if _HEAD not in system] == []


def test_every_row_says_what_was_there_what_is_here_and_leads_to_a_page() -> None:
    assert len(rows()) > 150
    assert [row for row in rows() if len(row) != 3 or not row[0] or not re.search(r"\]\(.+\)", row[1])] == []


def test_no_capability_is_listed_twice() -> None:
    had = [row[0] for row in rows()]
    assert sorted(had) == sorted(set(had))
