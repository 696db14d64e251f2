"""Writing table `entity_mentions`, one entity type at a time."""

from collections.abc import Sequence

from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, write_partition
from holocron_assets.lake.tables import ENTITY_MENTIONS

MENTIONS_VERSION = code_version(__name__)


def stale_mentions(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose mentions are stale: lists name other things today, or the names mean something else.

    A type that never had a mention is not stale.
    """
    return [name for name in entity_types if _is_stale(snapshot, name)]


def store_mentions(snapshot: Snapshot, entity_type: str, run_id: str) -> tuple[Footer, list[Row]]:
    """Write table `entity_mentions` for one type.

    Args:
        snapshot: of the lake where answers about list pages are and mentions go.
        entity_type: the type; it names the partition.
        run_id: the run that makes the rows.

    Returns:
        The new file's footer, and its rows.
    """
    rows: list[Row] = [{**row, "run_id": run_id} for row in snapshot.mentions.rows.get(entity_type, ())]
    footer = write_partition(
        snapshot.lake,
        ENTITY_MENTIONS,
        entity_type,
        rows,
        code_version=MENTIONS_VERSION,
        inputs=_inputs(snapshot, entity_type),
    )
    return footer, rows


def _is_stale(snapshot: Snapshot, entity_type: str) -> bool:
    footer = read_footer(snapshot.lake, ENTITY_MENTIONS, entity_type)
    if footer is None:
        return entity_type in snapshot.mentions.marks
    return not footer.is_of(MENTIONS_VERSION, _inputs(snapshot, entity_type))


def _inputs(snapshot: Snapshot, entity_type: str) -> dict[str, str]:
    """A fingerprint of a type's mentions. It is cheap, since the snapshot has it."""
    return {"mentions": snapshot.mentions.marks.get(entity_type, "none")}
