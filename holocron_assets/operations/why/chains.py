"""Chains of inputs: which input an item waits for, or which new answer makes it be asked again."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holocron_assets.derive.interrogations.derived_tables import ID_COLUMNS
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import wanted_items
from holocron_assets.derive.results.settled import waiting_subjects
from holocron_assets.derive.results.superseded import superseded_pages
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.why.answers import at

Runs = Sequence[Mapping[str, Any]]
"""Outcomes of a page's items, for all interrogations: rows of `llm_runs`, the last one last."""


def waits_for(lake: Lake, interrogation: Interrogation, partition: str, item: str) -> str | None:
    """The chain of inputs that an item waits for, in words; None if it waits for none.

    Args:
        lake: where answers are.
        interrogation: what is to be asked.
        partition: the page's batch, or the entity's type.
        item: the page's title key, or the entity's id.
    """
    chain, above = [interrogation.name], interrogation
    subject = (int(item) if interrogation.over == "pages" else item,)
    while name := waiting_subjects(lake, above, partition, superseded_pages(lake))(subject):
        chain.append(name)
        above = next(one for one in above.upstream if one.name == name)
    if len(chain) == 1:
        return None
    what = "page" if interrogation.over == "pages" else "entity"
    return f"it waits for the answer of {chain[-1]} about this {what}: {' <- '.join(chain)}"


def changed_inputs(
    lake: Lake, interrogation: Interrogation, partition: str, item: str, runs: Runs
) -> tuple[str, ...] | None:
    """Why an item with an answer is asked about again; None if it is not.

    Args:
        lake: where answers are.
        interrogation: what was asked.
        partition: the page's batch, or the entity's type.
        item: the page's title key, or the entity's id.
        runs: its outcomes.
    """
    own = [run for run in runs if run["interrogation"] == interrogation.name]
    condition = f"{ID_COLUMNS[interrogation.over]}::varchar = '{item}'"
    wants = interrogation.wants.model_copy(update={"sql": condition})
    items = wanted_items(lake, interrogation.model_copy(update={"wants": wants}), partition)
    keys = {one.result_key(own[-1]["model_digest"]) for one in items}
    if keys <= {run["result_key"] for run in own}:
        return None
    since = max(run["finished_at"] for run in own)
    newer = tuple(_newer(one, runs, since) for one in interrogation.upstream if _newest(one, runs) > since)
    return newer or ("its evidence, or what its queries read, changed since",)


def _newer(one: Interrogation, runs: Runs, since: datetime) -> str:
    above = [f" <- {other.name}" for other in one.upstream if _newest(other, runs) > since]
    return f"{one.name}{''.join(above)} was answered anew at {at(_newest(one, runs))}"


def _newest(one: Interrogation, runs: Runs) -> datetime:
    times = [run["finished_at"] for run in runs if run["interrogation"] == one.name]
    return max(times, default=datetime.min.replace(tzinfo=runs[-1]["finished_at"].tzinfo))
