"""`holocron.duckdb`: when it has to be written again. Its views read the lake as it is, so that is seldom."""

import duckdb

from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import ALL_TABLES
from holocron_assets.lake.views import PUBLIC_VIEWS, publish

_PUBLIC_NAMES = "select view_name from duckdb_views() where schema_name = 'main' and not internal order by 1"


def publish_views(lake: Lake, more_views: str) -> list[str]:
    """Write `holocron.duckdb`, with a note of what it was made from.

    Args:
        lake: what the views read.
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
    """Whether the database is missing, or a table got its first file or a view was changed since.

    Args:
        lake: what the views read.
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
    """A view of a table without files is made otherwise than of one with files."""
    filled = [table.name for table in ALL_TABLES if any(lake.folder(table).glob("*/data.parquet"))]
    return content_hash("\n".join([str(lake.root.resolve()), *filled, PUBLIC_VIEWS, more_views]))
