"""The partitions of an asset that a person chooses: by name, source, range, failure or staleness."""

from collections.abc import Collection, Sequence

import dagster as dg

from holocron_assets.crawl.frontier.batches import unfinished_batches
from holocron_assets.crawl.frontier.file_batches import unfinished_file_batches
from holocron_assets.crawl.sources.file_list import list_is_due
from holocron_assets.crawl.sources.files import read_file_sources
from holocron_assets.derive.dispatch.backlog import stale_partitions as stale_answers
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.errors import PermanentError
from holocron_assets.lake.freshness import stale_partitions
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import FILE_LIST, FILES, PAGES
from holocron_assets.orchestration.runs.backfilling import (
    BackfillRefusedError,
    asset_partitions,
    failed_partitions,
    source_of_partition,
)
from holocron_assets.planning.batch_derivations import BATCH_DERIVATIONS
from holocron_assets.planning.entity_stages import STAGES
from holocron_assets.settings import sources_folder

_UNFINISHED = {PAGES.name: unfinished_batches, FILES.name: unfinished_file_batches}
"""What finds the batches of a source that are not fetched yet, by the asset of what is fetched."""


def chosen_partitions(  # noqa: PLR0913 - what a person may say
    lake: Lake,
    instance: dg.DagsterInstance,
    asset: str,
    *,
    named: Collection[str] | None = None,
    source: str | None = None,
    between: tuple[str | None, str | None] = (None, None),
    failed: bool = False,
    stale: bool = False,
) -> Sequence[str]:
    """The partitions that meet all conditions, in order.

    Args:
        lake: the lake, which shows what is stale.
        instance: knows the asset's partitions and failed runs.
        asset: the asset's name.
        named: only these; all if None.
        source: only those of this source.
        between: the first and the last one; None for an open end.
        failed: only those whose last run failed.
        stale: only those that are stale or missing.

    Raises:
        PermanentError: there is no such asset or partition, or it is not known whether it failed or is stale.
        BackfillRefusedError: the last one comes before the first.
    """
    known = asset_partitions(instance, asset)
    _refuse_unknown(asset, known, [*(named or ()), *(name for name in between if name)])
    first, last = between
    start = known.index(first) if first else 0
    end = known.index(last) + 1 if last else len(known)
    if start >= end:
        raise BackfillRefusedError(f"no partition is from {first} to {last}: {last} comes before {first}")
    chosen = [
        name
        for name in known[start:end]
        if (named is None or name in named) and (source is None or source == source_of_partition(asset, name))
    ]
    if source and not chosen:
        raise PermanentError(f"asset {asset!r} has no partition of source {source!r}")
    if failed:
        chosen = _failed(instance, asset, chosen)
    return _stale(lake, asset, chosen) if stale else chosen


def _refuse_unknown(asset: str, known: Sequence[str], named: Collection[str]) -> None:
    there = set(known)
    if unknown := [name for name in named if name not in there]:
        raise PermanentError(
            f"asset {asset!r} has no partition {', '.join(unknown)}; the first is {known[0]}"
        )


def _failed(instance: dg.DagsterInstance, asset: str, partitions: Sequence[str]) -> list[str]:
    found = failed_partitions(instance, asset, partitions)
    if not found and asset in {one.table.name for one in load_interrogations()}:
        raise PermanentError(
            f"no backfill of {asset!r} failed, and other runs that ask models do not say of which partitions "
            "they failed: say --stale, or name the partitions"
        )
    return found


def _stale(lake: Lake, asset: str, partitions: Sequence[str]) -> list[str]:
    if asset in _UNFINISHED:
        sources = {source_of(name) for name in partitions}
        unfinished = {batch for source in sources for batch in _UNFINISHED[asset](lake, source)}
        return [name for name in partitions if name in unfinished]
    if asset == FILE_LIST.name:
        known, now = read_file_sources(sources_folder()), utc_now()
        return [name for name in partitions if name in known and list_is_due(lake, known[name], now)]
    for derivation in BATCH_DERIVATIONS:
        if derivation.table.name == asset:
            return stale_partitions(lake, [derivation], partitions)
    for stage in STAGES:
        if stage.name == asset:
            with open_snapshot(lake) as snapshot:
                return stage.stale(snapshot, partitions)
    asked = [one for one in load_interrogations() if one.table.name == asset]
    if not asked:
        raise PermanentError(f"the lake does not show whether {asset!r} is stale: leave --stale out")
    found = stale_answers(lake, asked, digests={}, most_opened=0, without_models=True)
    names = {part.partition for part in found}
    return [name for name in partitions if name in names]
