"""The pictures of an entity: files of the store that its page shows, and that a browser draws safely."""

from typing import Any, NamedTuple

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import FILE_LIST, FILE_USES, FILES
from holocron_assets.review.reading import Reader

SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types that are shown: they hold pixels alone. An SVG or an HTML page may hold scripts."""

_MOST_SHOWN = 12
_USED = "title_key = $key and role in ('infobox', 'gallery', 'text') order by role <> 'infobox', position"
_LISTED = "name in (select unnest($names)) and list_contains(pages_of, $source)"
_HELD = """
    artifact_key in (select unnest($keys)) and status = 'ok'
    qualify row_number() over (partition by artifact_key order by fetched_at desc) = 1
"""


class Picture(NamedTuple):
    """A picture that the lake holds.

    Attributes:
        sha256: names its bytes in the store.
        name: its title on the wiki.
        caption: its caption on the page; None without one.
        role: how the page uses it, as in table `file_uses`.
    """

    sha256: str
    name: str
    caption: str | None
    role: str


def pictures_of(reader: Reader, entity: Row) -> list[Picture]:
    """The pictures that an entity's page shows and the lake holds, those of the infobox first, 12 at most."""
    uses = files_shown_by(reader, entity)
    keys = [use["artifact_key"] for use in uses]
    held = reader.find(FILES, _HELD, {"keys": keys}) if keys else []
    files = {row["artifact_key"]: row for row in held if row["mime"] in SHOWN_TYPES}
    shown: dict[str, Picture] = {}
    for use in uses:
        file = files.get(use["artifact_key"])
        if file:
            shown.setdefault(
                file["sha256"], Picture(file["sha256"], use["name"], use["caption"], use["role"])
            )
    return list(shown.values())[:_MOST_SHOWN]


def files_shown_by(reader: Reader, page: Row) -> list[dict[str, Any]]:
    """The listed files that a page shows, those of the infobox first.

    Args:
        reader: reads them.
        page: a row with the page's `source`, `batch` and `title_key`; without a batch, it shows none.

    Returns:
        Rows of table `file_uses`, each with the file's `artifact_key`.
    """
    batch = page.get("batch")
    uses = reader.find(FILE_USES, _USED, {"key": page["title_key"]}, within=[batch]) if batch else []
    wanted = {"names": [use["name"] for use in uses], "source": page["source"]}
    listed = reader.find(FILE_LIST, _LISTED, wanted, columns="name, artifact_key") if uses else []
    keys = {row["name"]: row["artifact_key"] for row in listed}
    return [{**use, "artifact_key": keys[use["name"]]} for use in uses if use["name"] in keys]


def file_of(reader: Reader, sha256: str) -> Row | None:
    """A row of table `files` whose bytes have a hash; None if the lake holds none."""
    found = reader.find(FILES, "sha256 = $sha256 and status = 'ok' limit 1", {"sha256": sha256})
    return found[0] if found else None
