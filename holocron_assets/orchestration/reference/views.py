"""`docs/views.md`: every public view with its columns, written from the definitions themselves.

.venv/bin/python -m holocron_assets.orchestration.reference.views > docs/views.md
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.declaration.reference import markdown_table
from holocron_assets.lake.views.database import connect
from holocron_assets.lake.views.texts import ViewText, view_texts
from holocron_assets.operations.views import all_views

_HEAD = """\
# Views

The views that SQL can read, with `holocron sql "from entities"` or any DuckDB client that opens
`data/holocron.duckdb`, where comments on views and columns say the same. `lake.TABLE` is every row of a
[table](tables.md). A test compares this page with the definitions. After a change:

    .venv/bin/python -m holocron_assets.orchestration.reference.views > docs/views.md
"""
_HELPERS = """\
## Helpers

Views that other views are built on. They may change without notice.

"""


def views_markdown() -> str:
    """Every public view with its meaning and columns, as Markdown; helpers by name."""
    texts = _all_texts()
    helpers = markdown_table(("view", "one row"), [(f"`{v.name}`", v.about) for v in texts if v.is_helper])
    return "\n".join([_HEAD, *(_section(view) for view in texts if not view.is_helper), _HELPERS + helpers])


def _all_texts() -> Sequence[ViewText]:
    lake = open_lake(Path("no lake"))
    with connect(lake, more_views=all_views([])) as connection:
        return view_texts(lake, connection)


def _section(view: ViewText) -> str:
    rows = [(f"`{name}`", f"`{kind}`", text) for name, kind, text in view.columns]
    columns = markdown_table(("column", "type", "what it holds"), rows)
    return f"## `{view.name}`\n\n{view.about}.\n\n{columns}"


if __name__ == "__main__":
    sys.stdout.write(views_markdown())
