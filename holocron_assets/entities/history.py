"""Entities of one type with their history: their values, each with the time for which it held."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from holocron_assets.entities.identity.clusters import Merge
from holocron_assets.entities.identity.identity import Holders, Known, held_in, identified, last_held
from holocron_assets.entities.names.first_titles import NO_FIRST_TITLES, FirstTitles
from holocron_assets.entities.people import NOBODY, People
from holocron_assets.entities.promotion import Decision, PromotionPolicy, by_person
from holocron_assets.entities.reviews import (
    ACROSS_TYPES,
    PageNow,
    away_ids,
    has_left,
    is_disputed,
    review_reason,
    settles_review,
)
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import SMALLEST_STEP
from holocron_assets.lake.tables import ENTITIES, ENTITY_CANDIDATES

_BY_PERSON = "person:"

# The same revision in another batch, or the same decision for the same reason under a policy with another
# id, is no change of an entity.
_NO_CHANGE = frozenset({"batch", "state_by", "valid_from", "valid_to"})
_COMPARED = itemgetter(*(name for name in ENTITIES.content_columns if name not in _NO_CHANGE))
_NO_REVIEW: Mapping[str, None] = {"review_reason": None, "review_since": None}
_FROM_CANDIDATE = tuple(
    name for name in ENTITY_CANDIDATES.content_columns if name in set(ENTITIES.content_columns)
)


def resolve_entities(  # noqa: PLR0913  each is a fact of its own, and half of them go by name
    entity_type: str,
    candidates: Sequence[Row],
    standing: Sequence[Row],
    *,
    policy: PromotionPolicy,
    now: datetime,
    run_id: str,
    elsewhere: Sequence[Holders] = (),
    pages: Mapping[tuple[str, str], PageNow] = MappingProxyType({}),
    merged: Mapping[str, Merge] = MappingProxyType({}),
    people: People = NOBODY,
    taken: AbstractSet[str] = frozenset(),
    first_titles: FirstTitles = NO_FIRST_TITLES,
) -> list[Row]:
    """All rows, history included, of an entity type's new file.

    When a value changes, the row is closed and another one opened. A new revision alone counts as a change,
    since an entity names the revision that it was last read from. Rows are never removed. An entity without
    a candidate is suppressed, and comes back under its id with its page.

    An entity whose page was deleted, moved, restored or retyped, or became a redirect, is flagged for review
    when that changes its candidate. The flag stays, also after edits, until such a thing happens again.

    A promoted entity keeps type and state while a less certain machine gives its page another type. It is
    flagged, and no other type takes the page meanwhile. An entity that a person promoted or merged keeps
    them against every machine.

    A retyped page keeps its id: its old type's file suppresses the entity, and the new type's file holds it
    under the same id. Only one of the two files holds it unsuppressed.

    Args:
        entity_type: the type that the file is about.
        candidates: current rows of `entity_candidates` of this type: one a page, of its newest revision. A
            moved page is one page: of several rows with one page id, pass only the newest revision.
        standing: every row of the type's present file.
        policy: decides each entity's state.
        now: with time zone. The clock may have moved back: an entity's rows still follow each other.
        run_id: the run that makes new rows.
        elsewhere: entities of other types, so that no two pages get one id.
        pages: by entity type and id, the state of entities' pages: of those without a candidate of their
            title, and of those whose title was absent since they were read.
        merged: for each merged entity, the one that it is now.
        people: people's decisions, which outrank all that.
        taken: ids of more entities of the type that get no row.
        first_titles: the first known titles of moved pages.

    Returns:
        Rows of `entities`, by id and then time. The same input again gives the same rows.

    Raises:
        ValueError: a row of another type, two candidates of one title, an entity without exactly one current
            row, or `now` without time zone.
    """
    if now.tzinfo is None:
        raise ValueError(f"entities of type {entity_type}: {now} has no time zone; pass the time in UTC")
    _refuse_wrong_rows(entity_type, candidates, standing)
    current = current_rows(standing)
    away = away_ids(current.values(), pages, people.keeps)
    known = Known(elsewhere, people.keeps, taken, away, first_titles)
    ids = identified(candidates, current, known)

    here = frozenset(ids.values()) | (taken - current.keys())
    revision = _Revision(policy, now, run_id, pages, elsewhere, merged, people, here)
    rows = [row for row in standing if row["valid_to"] is not None]
    held = [(ids[row["title_key"]], row) for row in candidates if row["title_key"] in ids]
    for identifier, candidate in held:
        before = current.get(identifier)
        rows += revision.confirm(before, candidate) if before else [revision.create(identifier, candidate)]
    for identifier, row in current.items():
        if identifier not in here:
            rows += revision.suppress(row)
    return sorted(rows, key=itemgetter("entity_id", "valid_from"))


def current_rows(standing: Sequence[Row]) -> dict[str, Row]:
    """The current row of each entity, by id.

    Args:
        standing: all rows of one type's file.

    Raises:
        ValueError: an entity has no current row, or several.
    """
    current = [row for row in standing if row["valid_to"] is None]
    found = Counter(row["entity_id"] for row in current)
    for row in standing:
        if found[row["entity_id"]] != 1:
            raise ValueError(
                f"entities of type {row['entity_type']}: entity {row['entity_id']} ({row['title']!r}) has "
                f"{found[row['entity_id']]} current rows instead of one; restore the file's last good version"
            )
    return {row["entity_id"]: row for row in current}


@dataclass(frozen=True)
class _Revision:
    """The next part of an entity's history, by one run."""

    policy: PromotionPolicy
    now: datetime
    run_id: str
    pages: Mapping[tuple[str, str], PageNow]
    elsewhere: Sequence[Holders]
    merged: Mapping[str, Merge]
    people: People
    here: AbstractSet[str]

    def create(self, identifier: str, candidate: Row) -> Row:
        last = last_held(held_in(self.elsewhere, identifier))
        facts = {**self._facts(identifier, candidate), **self._review(identifier, last, candidate)}
        moment = self._after_other_types(identifier)
        return self._open(facts, state_at=moment, valid_from=moment)

    def confirm(self, before: Row, candidate: Row) -> list[Row]:
        identifier = before["entity_id"]
        last = last_held([before, *held_in(self.elsewhere, identifier)])
        facts = {**self._facts(identifier, candidate), **self._review(identifier, last, candidate)}
        return self._succeed(before, facts, moment=self._after_other_types(identifier))

    def suppress(self, before: Row) -> list[Row]:
        """The row when no page and no list names it any more. People's decisions and disputes still count.

        They count in the type that had the entity last: in others it stays suppressed.
        """
        identifier = before["entity_id"]
        known = self.pages.get((before["entity_type"], identifier))
        by_policy = self.policy.suppress(before)
        is_here = last_held([before, *held_in(self.elsewhere, identifier)]) is before
        if not is_here or (known and known.page and has_left(before, known.page, self.people.keeps)):
            left = {**before, **by_policy._asdict(), "merged_into": None}
            return self._succeed(before, left, moment=self._leaves_at(before))
        facts = {**before, **self._state(identifier, by_policy)}
        # An entity that people promoted just now is in dispute from now on, and not from the next run.
        row = before if facts["state"] == "suppressed" else facts
        if known and known.page and is_disputed(row, known.page, self.people.keeps):
            state = self._state(identifier, self.policy.keep(before))
            return self._succeed(before, {**before, **state, **self._review(identifier, row, known.page)})
        if facts["state"] == "suppressed" and self._still_leads(before):
            return [before]
        # An entity that is suppressed or merged already does not change with its page.
        if known and before["state"] not in {"suppressed", "merged"}:
            facts |= self._review(identifier, before, known.page)
        return self._succeed(before, facts)

    def _still_leads(self, before: Row) -> bool:
        """Whether an entity that a machine merged stays merged, now that no page or list names it.

        Its pair is gone with its name. Its old id leads to the survivor as long as that is not merged itself,
        and people did not decide otherwise.
        """
        identifier, into = before["entity_id"], before["merged_into"]
        is_said = identifier in self.people.states or frozenset((identifier, into)) in self.people.pairs
        by_machine = into is not None and not before["state_by"].startswith(_BY_PERSON)
        return by_machine and not is_said and into in self.here and into not in self.merged

    def _review(self, identifier: str, last: Row | None, page: Row | None) -> dict[str, Any]:
        """The flag for review: a new one if something happened to the page, else the one that it had."""
        reason = self._merged_elsewhere(identifier)
        if last is None or last["origin"] == "mention":
            return {"review_reason": reason, "review_since": self.now} if reason else dict(_NO_REVIEW)
        known = self.pages.get((last["entity_type"], identifier))
        was_absent = known is not None and known.was_absent
        reason = reason or review_reason(last, page, was_absent=was_absent, kept=self.people.keeps)
        if reason is None and page is not None and settles_review(last, page):
            return dict(_NO_REVIEW)
        if reason is None or reason == last["review_reason"]:
            return {name: last[name] for name in _NO_REVIEW}
        return {"review_reason": reason, "review_since": self.now}

    def _merged_elsewhere(self, identifier: str) -> str | None:
        """Why a person's merge is not followed: only entities of one type can be one."""
        for other, decision in self.people.partners.get(identifier, ()):
            held = last_held(held_in(self.elsewhere, other)) if other not in self.here else None
            if held and held["state"] != "suppressed":
                return (
                    f"{ACROSS_TYPES}: {decision['author']} merged it with {held['title']!r}, "
                    f"which is of type {held['entity_type']}"
                )
        return None

    def _facts(self, identifier: str, candidate: Row) -> dict[str, Any]:
        return {
            "entity_id": identifier,
            **{column: candidate.get(column) for column in _FROM_CANDIDATE},
            "rule_ids": list(candidate["rule_ids"]),
            "origin": candidate["origin"],
            **self._state(identifier, self.policy.decide(candidate)),
        }

    def _state(self, identifier: str, by_policy: Decision) -> dict[str, Any]:
        """The state of an entity: of the one that it was merged into, else by people, else by the policy."""
        merge, by_people = self.merged.get(identifier), self.people.states.get(identifier)
        if merge:
            decision = Decision("merged", merge.judged_by, merge.reason)
        else:
            decision = by_person(by_people) if by_people else by_policy
        return {**decision._asdict(), "merged_into": merge.into_id if merge else None}

    def _after_other_types(self, identifier: str) -> datetime:
        """From when on this type holds an entity: later than others, whose rows may end a step later."""
        others = (row["valid_from"] + 2 * SMALLEST_STEP for row in held_in(self.elsewhere, identifier))
        latest: datetime = max([self.now, *others])
        return latest

    def _leaves_at(self, before: Row) -> datetime:
        """When this type lets an entity go: before another has it, if that was resolved first."""
        held = held_in(self.elsewhere, before["entity_id"])
        since = (row["valid_from"] for row in held if row["valid_from"] > before["valid_from"])
        earliest: datetime = min([self.now, *(moment - SMALLEST_STEP for moment in since)])
        return earliest

    def _succeed(self, before: Row, facts: dict[str, Any], moment: datetime | None = None) -> list[Row]:
        if _COMPARED(before) == _COMPARED(facts):
            return [before]
        moment = max(moment or self.now, before["valid_from"] + SMALLEST_STEP)
        same_state = before["state"] == facts["state"]
        if same_state and before["state_reason"] == facts["state_reason"]:
            facts = {**facts, "state_by": before["state_by"]}
        after = self._open(facts, state_at=before["state_at"] if same_state else moment, valid_from=moment)
        return [{**before, "valid_to": moment}, after]

    def _open(self, facts: dict[str, Any], *, state_at: datetime, valid_from: datetime) -> Row:
        return {
            **facts,
            "state_at": state_at,
            "valid_from": valid_from,
            "valid_to": None,
            "run_id": self.run_id,
        }


def _refuse_wrong_rows(entity_type: str, candidates: Sequence[Row], standing: Sequence[Row]) -> None:
    for row in (*candidates, *standing):
        if row["entity_type"] != entity_type:
            raise ValueError(
                f"entities of type {entity_type}: {row['title']!r} of {row['source']} is a row of type "
                f"{row['entity_type']}; pass the rows of one type"
            )
    titles = Counter(row["title_key"] for row in candidates)
    for row in candidates:
        if titles[row["title_key"]] > 1:
            raise ValueError(
                f"entities of type {entity_type}: {row['title']!r} of {row['source']} is a candidate "
                f"{titles[row['title_key']]} times; pass the row of its newest revision only"
            )
