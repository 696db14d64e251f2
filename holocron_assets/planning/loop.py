"""The one loop that drives work: what is done after what, until nothing is left that can be done now.

`holocron run` and `refresh` go through it, each with its own way to run what it gives. Sensors ask the same
functions of `work` for what is missing, each tick, and leave the order to what the lake lacks.
"""

from collections.abc import Callable, Sequence
from functools import partial

from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.sources.seeds import seeds_are_usable
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.planning.work import (
    Work,
    batches_to_fetch,
    batches_to_settle,
    checks_to_run,
    code_to_run,
    entities_to_resolve,
    links_to_compact,
    search_to_update,
    seeds_to_list,
    sources_to_tag,
    types_to_learn,
)

KNOWLEDGE: tuple[Callable[[Lake], list[Work]], ...] = (
    code_to_run,
    entities_to_resolve,
    sources_to_tag,
    search_to_update,
)
"""What follows from the pages.

Entities need facts that code reads from pages, so code comes first. Code also answers about entities and
searches, so the loop begins again after each.
"""

RunWork = Callable[[Sequence[Work]], bool]
"""Runs some work and waits for it; whether there was any that could be run now."""


def crawl_step(  # noqa: PLR0913 - of what, how it is run, and what is left out
    lake: Lake,
    sources: Sequence[Source],
    run: RunWork,
    *,
    free: Sequence[Source],
    lists_seeds: bool = True,
    most: int | None = None,
) -> bool:
    """Do what comes next of the work on some sources; whether there was anything.

    Args:
        lake: what is missing is read from it.
        sources: whose work; also those that are not enabled, since they were named.
        run: runs the work.
        free: those of which new batches may be cut.
        lists_seeds: whether seeds that are stale are listed anew.
        most: how many batches may be fetched; None for all.
    """
    # Settle first: it writes the links of a batch whose run was killed, and the frontier reads links.
    listings = seeds_to_list(lake, as_if_enabled(sources)) if lists_seeds else []
    if run(listings) or run(readable(lambda: batches_to_settle(lake, sources))):
        return True
    run(links_to_compact(lake, sources, at_end=False))
    for source in free:
        if seeds_are_usable(lake, source):
            cut_batches(lake, source, now=utc_now(), most=most, gather=False)
    if run(batches_to_fetch(lake, sources)[:most]):
        return True
    return run([*checks_to_run(lake, sources), *links_to_compact(lake, sources)])


def learning_step(
    lake: Lake,
    sources: Sequence[Source],
    run: RunWork,
    unread: Callable[[str], None] | None = None,
) -> bool:
    """Train what can be learned of types, and settle the pages that this types; whether there was anything.

    The arguments are those of `knowledge_step`.
    """
    if not run(readable(partial(types_to_learn, lake), unread)):
        return False
    run(readable(lambda: batches_to_settle(lake, sources), unread))
    return True


def knowledge_step(
    lake: Lake,
    sources: Sequence[Source],
    run: RunWork,
    unread: Callable[[str], None] | None = None,
) -> bool:
    """Do what comes next of what follows from the pages; whether there was anything that could be done.

    Args:
        lake: what is missing is read from it.
        sources: whose pages may get other types.
        run: runs the work; false also if it failed, so that what follows from the rest is still made.
        unread: called with the reason why answers, and what is made from them, cannot be read.
    """
    return learning_step(lake, sources, run, unread) or any(
        run(readable(partial(find, lake), unread)) for find in KNOWLEDGE
    )


def readable(find: Callable[[], list[Work]], unread: Callable[[str], None] | None = None) -> list[Work]:
    """The work that is found; none while answers that it depends on cannot be read.

    Args:
        find: finds it.
        unread: called with the reason, if the answers cannot be read.
    """
    try:
        return find()
    except InterrogationError as error:
        if unread:
            unread(str(error))
        return []


def as_if_enabled(sources: Sequence[Source]) -> list[Source]:
    """Sources as if they were enabled: a person named them."""
    return [source.model_copy(update={"enabled": True}) for source in sources]
