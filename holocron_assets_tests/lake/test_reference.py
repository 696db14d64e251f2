from pathlib import Path

from holocron_assets.lake.declaration.reference import tables_markdown

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_of_tables_says_what_is_declared() -> None:
    assert PAGE.read_text(encoding="utf-8") == tables_markdown(), (
        "docs/tables.md is not what the declarations give; write it again with "
        "`.venv/bin/python -m holocron_assets.lake.declaration.reference > docs/tables.md`"
    )
