"""Decisions give the same entities however often these were resolved in between, and in an empty lake."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resolved_wiki import START, Seen, Wiki, wiki_of

from holocron_assets.decisions.files import export_decisions, import_decisions
from holocron_assets.decisions.log import all_decisions, new_decision, record
from holocron_assets.entities.identity.identity import entity_id

PAGES = ["Varn", "Varn/Legends", "Varns", "Gort", "Osk"]

_TITLES = st.sampled_from(PAGES)
_OF_TWO = st.tuples(st.sampled_from(["merge", "split"]), _TITLES, _TITLES).filter(
    lambda two: two[1] != two[2]
)
_OF_ONE = st.tuples(st.sampled_from(["promote", "suppress"]), _TITLES)
steps = st.lists(_OF_TWO | _OF_TWO | _OF_ONE | st.integers(0, 9) | st.just("resolve"), max_size=8)
"""Decisions, undos of the one made so many ago, and when entities are resolved.

They may contradict each other, as those of two people's files may.
"""

_WHAT_IS_HELD = {
    "entities": """
        select * exclude (state_at, state_by, review_since, valid_from, valid_to, run_id)
        from entities order by entity_id
    """,
    "judgements": "select * exclude (judged_at) from entity_judgements order by pair_id",
    "aliases": "from entity_aliases order by all",
}


def crawled(folder: Path) -> Wiki:
    return wiki_of(folder, *(Seen(title, place) for place, title in enumerate(PAGES)))


def follow(wiki: Wiki, made: Sequence[tuple[str, ...] | int | str]) -> None:
    for second, step in enumerate(made):
        now = START + timedelta(seconds=second)
        by_whom: dict[str, Any] = {"author": "ada", "reason": "I know"}
        decided = all_decisions(wiki.lake)
        if step == "resolve":
            wiki.resolve()
        elif isinstance(step, tuple):
            kind, title, *other = step
            ids: dict[str, Any] = {"entity_id": entity_id("sample", title)}
            if other:
                ids["other_id"] = entity_id("sample", other[0])
            record(wiki.lake, [new_decision(kind, source="sample", title=title, now=now, **ids, **by_whom)])
        elif isinstance(step, int) and decided:
            undoes = decided[-1 - step % len(decided)]["decision_id"]
            record(wiki.lake, [new_decision("undo", undoes=undoes, now=now, **by_whom)])
    wiki.resolve()


def held(wiki: Wiki) -> dict[str, list[dict[str, Any]]]:
    return {name: wiki.query(sql) for name, sql in _WHAT_IS_HELD.items()}


def test_nobody_is_asked_again_about_what_a_person_decided(tmp_path: Path) -> None:
    wiki = crawled(tmp_path)
    follow(wiki, [("merge", "Varns", "Varn"), ("promote", "Gort"), "resolve", "resolve"])
    assert wiki.reviews() == {}


@pytest.mark.full
@settings(deadline=None, max_examples=20)
@given(steps)
def test_what_is_held_follows_from_what_counts_and_not_from_how_it_came_to_that(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, ...] | int | str]
) -> None:
    folder = tmp_path_factory.mktemp("wikis")
    one, two = crawled(folder / "one"), crawled(folder / "two")
    follow(one, made)
    export_decisions(one.lake, folder / "decisions.jsonl")
    import_decisions(two.lake, folder / "decisions.jsonl", types=())
    two.resolve()
    assert held(one) == held(two)
