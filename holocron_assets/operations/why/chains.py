"""What a page's answers build on: which input one waits for, and whose new answer has it asked again."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.items import wanted_items
from holocron_assets.derive.results.settled import waiting_subjects
from holocron_assets.derive.results.superseded import superseded_pages
from holocron_assets.lake.paths import Lake
from holocron_assets.operations.why.answers import at

Runs = Sequence[Mapping[str, Any]]
"""What became of a page's items, by whatever interrogation: rows of `llm_runs`, the last one last."""


def waits_for(lake: Lake, interrogation: Interrogation, batch: str, key: int) -> str | None:
    """The inputs that a page waits for, from one to the next, in words; None if it waits for none.

    Args:
        lake: where answers are.
        interrogation: what is to be asked.
        batch: the page's.
        key: its title key.
    """
    chain, above = [interrogation.name], interrogation
    while name := waiting_subjects(lake, above, batch, superseded_pages(lake))((key,)):
        chain.append(name)
        above = next(one for one in above.upstream if one.name == name)
    if len(chain) == 1:
        return None
    return f"it waits for what {chain[-1]} is answered about this page: {' <- '.join(chain)}"


def changed_inputs(
    lake: Lake, interrogation: Interrogation, batch: str, key: int, runs: Runs
) -> tuple[str, ...] | None:
    """Why a page that was answered is asked about again; None if it is not.

    Args:
        lake: where answers are.
        interrogation: what was asked.
        batch: the page's.
        key: its title key.
        runs: what became of the page's items.
    """
    own = [run for run in runs if run["interrogation"] == interrogation.name]
    wants = interrogation.wants.model_copy(update={"sql": f"title_key = {key}"})
    items = wanted_items(lake, interrogation.model_copy(update={"wants": wants}), batch)
    keys = {item.result_key(own[-1]["model_digest"]) for item in items}
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
