"""The descriptions of views: a page of the docs, and comments in the published database."""

from pathlib import Path

import duckdb
import pytest

from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.views.publishing import publish_views
from holocron_assets.lake.views.texts import declared_texts
from holocron_assets.operations.views import all_views
from holocron_assets.orchestration.reference.views import views_markdown

PAGE = Path(__file__).parents[2] / "docs" / "views.md"
_COLUMNS = """
    select table_name, column_name, duckdb_columns.comment
    from duckdb_columns() join duckdb_views() on table_oid = view_oid
    where duckdb_views.schema_name = 'main' and not duckdb_views.internal
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of all views of an empty lake."""
    lake = open_lake(tmp_path_factory.mktemp("lake"))
    publish_views(lake, all_views([]))
    return lake.database


def asked(database: Path, sql: str) -> list[tuple[str, ...]]:
    with duckdb.connect(database, read_only=True) as client:
        return client.execute(sql).fetchall()


def test_the_page_of_views_says_what_is_defined() -> None:
    assert PAGE.read_text(encoding="utf-8") == views_markdown(), (
        "docs/views.md is not what the definitions give; write it again with "
        "`.venv/bin/python -m holocron_assets.orchestration.reference.views > docs/views.md`"
    )


def test_every_published_view_and_column_is_described(published: Path) -> None:
    views = (
        "select view_name from duckdb_views() where schema_name = 'main' and not internal and comment is null"
    )
    assert asked(published, views) == []
    assert [(view, column) for view, column, text in asked(published, _COLUMNS) if not text] == []


def test_nothing_is_described_that_is_not_there(published: Path) -> None:
    columns = {(view, column) for view, column, _ in asked(published, _COLUMNS)}
    texts = declared_texts()
    assert texts.keys() <= {view for view, _ in columns}
    assert {(view, name) for view, text in texts.items() for name in text.columns} <= columns


def test_a_declared_column_is_described_as_it_is_declared(published: Path) -> None:
    texts = {(view, column): text for view, column, text in asked(published, _COLUMNS)}
    assert texts["entities", "entity_id"] == "Stable id; survives re-runs, new revisions and rebuilds"
    assert texts["source_pages", "title"] == "Canonical page title, with its namespace prefix"
    assert texts["entity_mentions", "entity_id"].startswith("The entity that it means")
