"""The work of interrogations, read from the lake: partitions whose table would come out different now.

A pass reads each footer once. It opens only partitions that were begun, to count what is left of them. How
many items the others hold is known when they are worked on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from holocron_assets.derive.dispatch.choosing import Waiting
from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.derive.interrogations.conditions import ConditionError
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.query_digests import Digests
from holocron_assets.derive.items.recipe import ANY_MODEL, NOT_THERE, Recipe, recipe_of
from holocron_assets.derive.results.answer_tables import UNANSWERED
from holocron_assets.derive.results.changed_inputs import changed_inputs, only_inputs_changed
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.derive.results.requeued import requeued_partitions, requeues_mark
from holocron_assets.derive.results.result_journals import journal_path
from holocron_assets.derive.results.superseded import superseded_pages
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.footers import keep_footers
from holocron_assets.lake.files.parquet import DamagedPartitionError, MissingPartitionError
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import LLM_RUNS

MOST_OPENED = 20
"""The most partitions that a pass opens, those begun last first. The next passes open the others."""

OPENING_SECONDS = 20.0
"""After this time, a pass opens no more partitions: a sensor's tick ends at 60 s."""

_ANSWERED_TO_COUNT = frozenset({"sql", "search"})
"""Kinds whose items are asked about when they are counted: the rows that they give are in their keys."""

REQUEUED = ("requeued",)
"""The reason to do a partition again: a person brought its dead letters back."""

OTHER_COLUMNS = ("schema",)
"""The reason to do a partition again: its table has other columns than answers have now."""

OUTCOMES_LOST = (LLM_RUNS.name,)
"""The reason to do a partition again: only its journal has the outcomes of its items, as after damage."""

_NANOSECONDS = 10**9

_NEVER = FileMark(0, 0)
"""The mark of a journal that does not exist."""

_State = tuple[FileMark | str | None, ...]
_DIFFERENCES: dict[tuple[Path, str, str], tuple[_State, tuple[str, ...]]] = {}
"""What each partition of each interrogation's table lacked, in the state in which it was read."""

_COUNTS: dict[tuple[Path, str, str], tuple[_State, "Counts | None"]] = {}
"""The counts of each partition, likewise; None where a partition could not be counted."""


@dataclass(frozen=True)
class Counts:
    """The items of one partition that was begun.

    Attributes:
        answered: with an answer.
        dead: given up.
        untried: those that may be asked about at once.
        dues: when each item that failed for now may be tried again; sorted.
        awaiting: those that are not asked about before their inputs are answered.
        is_behind: whether the table lacks answers that are known, as after a kill.
    """

    answered: int
    dead: int
    untried: int
    dues: tuple[datetime, ...]
    awaiting: int = 0
    is_behind: bool = False

    @property
    def left(self) -> int:
        """Items that are to be asked about, now or later."""
        return self.untried + len(self.dues)

    def ready(self, now: datetime) -> int:
        """Items that may be asked about now."""
        return self.untried + sum(due <= now for due in self.dues)

    def waiting(self, now: datetime) -> int:
        """Items that may be asked about later."""
        return self.left - self.ready(now)

    def next_due(self, now: datetime) -> datetime | None:
        """When the first of those that wait may be asked about; None if none waits."""
        return next((due for due in self.dues if due > now), None)


@dataclass(frozen=True)
class StalePartition:
    """A partition whose table would come out different now.

    Attributes:
        interrogation: the interrogation of the table.
        partition: its name.
        model: the model to ask.
        digest: the model's digest; `ANY_MODEL` if no model can be asked.
        differences: why it is stale; see `Recipe.differences`, `REQUEUED` and `OUTCOMES_LOST`.
        possible_since: since when all its inputs exist, so that it can be worked on.
        state: marks of all that was read; the result is remembered under them.
        counts: what is left of it; None if it was never begun, not opened yet, or cannot be opened.
        not_before: when its interrogation may be asked again, if it may not be now.
    """

    interrogation: Interrogation
    partition: str
    model: str
    digest: str
    differences: tuple[str, ...]
    possible_since: datetime
    state: _State
    counts: Counts | None = None
    not_before: datetime | None = None

    @property
    def is_to_write(self) -> bool:
        """Whether its table can be written without asking a model first.

        Either every item is answered or given up, or the others wait and the table lacks known answers.
        """
        if self.counts is None or self.counts.untried:
            return False
        return self.counts.is_behind or not (self.counts.left or self.counts.awaiting)

    def waiting_since(self, now: datetime) -> datetime | None:
        """Since when something can be done; None if nothing can be done before an item is due."""
        if self.not_before and self.not_before > now:
            return None
        if self.counts is None or self.counts.untried or self.is_to_write:
            return self.possible_since
        if not self.counts.dues:
            return None
        return self.counts.dues[0] if self.counts.dues[0] <= now else None


def backlog(
    lake: Lake,
    interrogations: Sequence[Interrogation],
    *,
    digests: Mapping[str, str],
    now: datetime,
    heed: Callable[[Sequence[StalePartition]], Sequence[StalePartition]] = lambda stale: stale,
) -> list[Waiting]:
    """The work to do, for `choosing.decide`.

    Args:
        lake: the lake.
        interrogations: the interrogations to check.
        digests: of the models that can be asked, by name. An interrogation that has none of them is left out.
        now: the moment.
        heed: chooses those that may be worked on; see `StandingControls.heeded`.
    """
    return waiting_of(heed(stale_partitions(lake, interrogations, digests=digests)), now)


def waiting_of(stale: Iterable[StalePartition], now: datetime) -> list[Waiting]:
    """The work in some stale partitions, by interrogation."""
    return [_waiting(parts, now) for parts in by_interrogation(stale).values()]


def by_interrogation(stale: Iterable[StalePartition]) -> dict[str, list[StalePartition]]:
    """Stale partitions by the name of their interrogation."""
    found: dict[str, list[StalePartition]] = {}
    for part in stale:
        found.setdefault(part.interrogation.name, []).append(part)
    return found


def stale_partitions(  # noqa: PLR0913 - what to read, and how much of it
    lake: Lake,
    interrogations: Sequence[Interrogation],
    *,
    digests: Mapping[str, str],
    most_opened: int | None = MOST_OPENED,
    without_models: bool = False,
    held: Mapping[tuple[str, str], Counts] | None = None,
    only: AbstractSet[str] | None = None,
) -> list[StalePartition]:
    """Every partition that lacks a table, or whose table would come out different now.

    Args:
        lake: the lake.
        interrogations: the interrogations of the tables.
        digests: of the models that can be asked, by name.
        most_opened: most partitions to open and count; if None, all that were begun.
        without_models: whether to include interrogations whose models cannot be asked, without counts.
        held: items left of partitions that the caller works on, by interrogation and partition. These are
            not opened again.
        only: names of the partitions to look at; all if None. What others work on changes all the time, and
            would be counted anew each time.
    """
    listings, no_model = _LakeListings(lake), ("", ANY_MODEL)
    stale = [
        part
        for interrogation in interrogations
        if (chosen := model_to_ask(interrogation, digests) or (no_model if without_models else None))
        for part in _stale(listings, interrogation, *chosen, only)
    ]
    known = held or {}
    places = [(part.interrogation.name, part.partition) for part in stale]
    ours = [
        replace(part, counts=known[place])
        for part, place in zip(stale, places, strict=True)
        if place in known
    ]
    others = [part for part, place in zip(stale, places, strict=True) if place not in known]
    counted = _counted(listings, others, most_opened)
    keep_footers()
    return [*ours, *counted]


def model_to_ask(interrogation: Interrogation, digests: Mapping[str, str]) -> tuple[str, str] | None:
    """The first of an interrogation's models that can be asked, and its digest; None if none can."""
    taken = interrogation.embedding.digests if interrogation.embedding else ()
    found = ((name, digests[name]) for name in interrogation.models if name in digests)
    return next((one for one in found if not taken or one[1] in taken), None)


class _LakeListings(LakeListings):
    """The lake during one pass: what was ever begun, and what people brought back."""

    def __init__(self, lake: Lake) -> None:
        super().__init__(lake)
        self.begun = lake.names_used(LLM_RUNS)
        self.requeued = requeued_partitions(lake)
        self.requeues = requeues_mark(lake)

    def is_begun(self, interrogation: str, partitions: Iterable[str]) -> bool:
        """Whether a model was ever asked an interrogation about any of some partitions."""
        return any(scope_of(interrogation, partition) in self.begun for partition in partitions)


def _stale(
    listings: _LakeListings,
    interrogation: Interrogation,
    model: str,
    digest: str,
    only: AbstractSet[str] | None,
) -> Iterator[StalePartition]:
    recipe = recipe_of(interrogation, digest)
    version = content_hash(repr((sorted(recipe.versions.items()), recipe.derivation.code_version)))
    inputs = [listings.listing(table) for table in recipe.derivation.inputs]
    # Its inputs are answered page by page; before the first answer, nothing can be asked.
    answers = [listings.listing(table) for table in recipe.derivation.optional_inputs]
    of_sources = [listings.listing(table) for table in recipe.derivation.source_inputs]
    own, partitions = listings.listing(recipe.derivation.table), inputs[0].names
    # Queries may read all of a large lake. Before there are answers, there is nothing to make stale.
    is_asked = interrogation.search or own.names or listings.is_begun(interrogation.name, partitions)
    digests = recipe.digests_of(listings.lake) if recipe.digests_of and is_asked else {}
    if interrogation.search and (not digests or (interrogation.search.space and is_switched_off())):
        return  # nothing is indexed yet, or no model reads what would be found
    earlier = listings.lake.earlier_partitions(recipe.derivation.table)
    for partition in partitions:
        if only is not None and partition not in only:
            continue
        marks = [listed.mark(partition) for listed in (*inputs, *answers)]
        marks += [listed.mark(source_of(partition)) for listed in of_sources]
        there = [mark for mark in marks if mark]
        if len(there) < len(marks):
            continue
        made = own.mark(partition)
        state = (*marks, version, digests.get(partition), made)
        differences = _differences(listings, recipe, (interrogation.name, partition), state, digests)
        if differences == NOT_THERE and partition in earlier:
            differences = OTHER_COLUMNS
        if not differences and (interrogation.name, partition) in listings.requeued:
            differences = REQUEUED
        if not differences and _lacks_outcomes(listings, interrogation, partition):
            differences = OUTCOMES_LOST
        if differences:
            # Answers that are being given do not make the rest of them young.
            is_finished = made and UNANSWERED not in differences
            newest = max(mark.mtime_ns for mark in (*there, *([made] if made and is_finished else ())))
            since = datetime.fromtimestamp(newest / _NANOSECONDS, UTC)
            known_by = (*state, listings.requeues)
            yield StalePartition(interrogation, partition, model, digest, differences, since, known_by)


def _lacks_outcomes(listings: _LakeListings, interrogation: Interrogation, partition: str) -> bool:
    if listings.listing(LLM_RUNS).mark(scope_of(interrogation.name, partition)):
        return False
    return _journal_mark(listings, interrogation, partition) is not None


def _differences(
    listings: _LakeListings, recipe: Recipe, place: tuple[str, str], state: _State, digests: Digests
) -> tuple[str, ...]:
    key = (listings.lake.root, *place)
    known = _DIFFERENCES.get(key)
    if known and known[0] == state:
        return known[1]
    made = state[-1]
    differences = recipe.differences(listings.lake, place[1], digests, listings.footer) if made else NOT_THERE
    _DIFFERENCES[key] = (state, differences)
    return differences


def _counted(
    listings: _LakeListings, stale: Sequence[StalePartition], most_opened: int | None
) -> list[StalePartition]:
    """Count the partitions that were begun, or may wait for inputs; the others stay uncounted."""
    lake = listings.lake
    begun = {
        place: mark or _NEVER
        for place, part in enumerate(stale)
        if part.digest != ANY_MODEL
        and (
            (mark := _journal_mark(listings, part.interrogation, part.partition)) or _may_wait(listings, part)
        )
    }
    counted = list(stale)
    opened, until = 0, monotonic() + OPENING_SECONDS
    for place in sorted(begun, key=lambda place: begun[place], reverse=True):
        part = stale[place]
        state = (*part.state, begun[place], *_outcomes_of_inputs(listings, part))
        key = (lake.root, part.interrogation.name, part.partition)
        known = _COUNTS.get(key)
        if most_opened is None and (counts := _by_inputs(lake, part)):
            counted[place] = replace(part, counts=counts)
            continue
        if known is None or known[0] != state:
            if most_opened is not None and (
                opened == most_opened or monotonic() > until or _asks_to_count(listings, part)
            ):
                continue
            known = _COUNTS[key] = (state, count(lake, part))
            opened += 1
        counted[place] = replace(part, counts=known[1])
    return counted


def _asks_to_count(listings: LakeListings, part: StalePartition) -> bool:
    """Whether counting a partition's items asks about all that have their inputs."""
    return part.interrogation.kind in _ANSWERED_TO_COUNT and not _may_wait(listings, part)


def _may_wait(listings: LakeListings, part: StalePartition) -> bool:
    """Whether some inputs of a partition lack answers: perhaps none of its items can be asked about."""
    inputs = [listings.footer(one.table, part.partition) for one in part.interrogation.upstream]
    return any(footer is None or UNANSWERED in footer.inputs for footer in inputs)


def _outcomes_of_inputs(listings: LakeListings, part: StalePartition) -> Iterator[FileMark | None]:
    """The marks of what says which items wait. An input's table stays as it is when an item is given up."""
    runs = listings.listing(LLM_RUNS)
    return (runs.mark(scope_of(one.name, part.partition)) for one in part.interrogation.upstream)


def _by_inputs(lake: Lake, part: StalePartition) -> Counts | None:
    """The counts of a partition that is stale only because of its inputs; None for any other."""
    if not only_inputs_changed(part.interrogation, part.differences):
        return None
    found = changed_inputs(lake, part.interrogation, part.partition)
    return found and Counts(found.answered, found.dead, untried=found.changed, dues=())


def _journal_mark(listings: _LakeListings, interrogation: Interrogation, partition: str) -> FileMark | None:
    if not listings.is_begun(interrogation.name, [partition]):
        return None
    return max(Journal(journal_path(listings.lake, interrogation, partition)).marks(), default=None)


def count(lake: Lake, part: StalePartition) -> Counts | None:
    """Open a partition and count its items. It takes seconds.

    Returns:
        None where it cannot be opened. The run that works on it says why; the others are not kept back.
    """
    # What reads items takes a tenth of a second to import. Only a partition that was begun is opened.
    from holocron_assets.derive.results.partition_work import PartitionWork  # noqa: PLC0415

    try:
        work = PartitionWork(
            *(lake, part.interrogation, part.partition),
            model=part.model,
            digest=part.digest,
            superseded=superseded_pages(lake),
        )
    except (ConditionError, DamagedPartitionError, MissingPartitionError):
        return None
    return Counts(work.answered, work.dead, work.untried, tuple(work.dues), work.awaiting, work.is_behind)


def _waiting(parts: Sequence[StalePartition], now: datetime) -> Waiting:
    """The work of one interrogation, of its stale partitions."""
    first = parts[0]
    if first.not_before and first.not_before > now:
        named = (first.interrogation.name, first.model, first.interrogation.priority)
        return Waiting(*named, items=0, due=first.not_before)
    counted = [part.counts for part in parts if part.counts]
    dues = [due for counts in counted if (due := counts.next_due(now))]
    since = [moment for part in parts if (moment := part.waiting_since(now))]
    return Waiting(
        interrogation=first.interrogation.name,
        model=first.model,
        priority=first.interrogation.priority,
        items=sum(counts.ready(now) for counts in counted),
        waiting_since=min(since, default=None),
        due=min(dues, default=None),
        completions=sum(part.is_to_write for part in parts),
        uncounted=sum(part.counts is None for part in parts),
    )
