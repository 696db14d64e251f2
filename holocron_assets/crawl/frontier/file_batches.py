"""Batches of files: artifacts that are cut from the frontier to be fetched together."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

from holocron_assets.crawl.fetch import BatchKind
from holocron_assets.crawl.files.outcomes import failed_file
from holocron_assets.crawl.frontier.batches import (
    MOST_UNFINISHED_WITHOUT_LINKS,
    NoManifestError,
    chunks,
    next_number,
)
from holocron_assets.crawl.frontier.pending_files import PendingFile, pending_files, refusing_settings
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition, write_partition
from holocron_assets.lake.place.clock import SMALLEST_STEP
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import FILE_BATCHES, FILES


def cut_file_batches(lake: Lake, source: FileSource, *, now: datetime) -> list[str]:
    """Cut a source's pending artifacts into new batches and write their manifests.

    One process cuts at a time, whatever the source: two sources may list the same artifact. As for pages of
    which no links are followed, at most forty batches are unfinished.

    Args:
        lake: where lists are and manifests go.
        source: the source of the artifacts.
        now: the time written into the manifests.

    Returns:
        Names of the new batches, in order.
    """
    with lake.lock("cut-files"):
        unfinished = len(unfinished_file_batches(lake, source.name))
        room = MOST_UNFINISHED_WITHOUT_LINKS - unfinished
        if unfinished > MOST_UNFINISHED_WITHOUT_LINKS // 2 or room <= 0:
            return []
        pending = pending_files(lake, source, now=now, limit=room * source.files_in_a_batch)
        first = next_number(lake, source.name, (FILE_BATCHES, FILES))
        batches = []
        for number, piece in enumerate(chunks(pending, source.files_in_a_batch), start=first):
            batches.append(f"{source.name}-{number:06d}")
            _write_manifest(lake, source, batches[-1], piece, now)
        return batches


def file_manifest(lake: Lake, batch: str) -> list[Row]:
    """The rows of table `file_batches` of one batch, by position.

    Raises:
        NoManifestError: no such batch was cut. The message names the command that cuts one.
    """
    try:
        return list(read_partition(lake, FILE_BATCHES, batch))
    except MissingPartitionError as error:
        raise NoManifestError(
            f"batch {batch!r} has no manifest in {lake.folder(FILE_BATCHES)}: batches are cut, not typed in. "
            "Use `holocron crawl --source NAME`, or let the sensor `new_files` cut one."
        ) from error


def unfinished_file_batches(lake: Lake, source_name: str) -> list[str]:
    """Batches of a source whose files are not all in the lake yet, oldest first."""
    finished = set(lake.partitions(FILES))
    cut = lake.partitions(FILE_BATCHES)
    return [batch for batch in cut if source_of(batch) == source_name and batch not in finished]


def _write_manifest(
    lake: Lake, source: FileSource, batch: str, pending: Sequence[PendingFile], now: datetime
) -> None:
    settings = refusing_settings(source)
    rows = [
        {
            "source": source.name,
            "batch": batch,
            "position": position,
            **file.stated,
            "failures": file.failures,
            "reason": file.reason,
            # Later than the last request even if the clock was set back: the later fetch counts.
            "cut_at": max(now, file.asked_at + SMALLEST_STEP) if file.asked_at else now,
            "settings": settings,
        }
        for position, file in enumerate(pending)
    ]
    write_partition(lake, FILE_BATCHES, batch, rows)


def _host(wanted: Row) -> str:
    """The host that an artifact's source names; empty if it names none."""
    return urlsplit(wanted["url"] or "").netloc.lower()


FILES_OF_A_BATCH = BatchKind(
    FILES, file_manifest, "artifact_key", "artifact_key", "name", failed_file, host=_host
)
