"""Writing `holocron.duckdb`, and when it must be written again. Its views also show later rows."""

import duckdb

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.rows import rows_at_any_time
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import publish
from holocron_assets.lake.views.public_views import public_views

_PUBLIC_NAMES = "select view_name from duckdb_views() where schema_name = 'main' and not internal order by 1"


def publish_views(lake: Lake, more_views: str) -> list[str]:
    """Write `holocron.duckdb`, with a fingerprint of its views.

    Args:
        lake: the lake that the views read.
        more_views: SQL of views that need configuration.

    Returns:
        Names of the public views.
    """
    note = f"create view published as select '{_fingerprint(lake, more_views)}' as fingerprint"
    path = publish(lake, more_views=f"{more_views};\n{note}")
    with duckdb.connect(path, read_only=True) as connection:
        names = connection.execute(_PUBLIC_NAMES).fetchall()
    return [name for (name,) in names]


def views_are_stale(lake: Lake, more_views: str) -> bool:
    """Whether the database is missing, or a view or the packs of a table have changed.

    Args:
        lake: the lake that the views read.
        more_views: as for `publish_views`.
    """
    if not lake.database.is_file():
        return True
    try:
        with duckdb.connect(lake.database, read_only=True) as connection:
            known = connection.execute("select fingerprint from published").fetchall()
    except duckdb.Error:
        return True
    return known != [(_fingerprint(lake, more_views),)]


def _fingerprint(lake: Lake, more_views: str) -> str:
    """A hash of the SQL of all views. It changes when a table's packs or columns change."""
    rows = [f"{table.name}{table.arrow_schema}{rows_at_any_time(lake, table)}" for table in lake.tables]
    views = [view.sql for view in public_views(lake)]
    return content_hash("\n".join([*rows, *views, more_views]))
