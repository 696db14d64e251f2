"""What holds of clusters whatever machines and people judge, and in whatever order rows come."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.entities.identity.clusters import Held, Member, followed, merges
from holocron_assets.entities.identity.evidence.weights import Weights
from holocron_assets.entities.identity.judgements import judged, since_when
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITY_JUDGEMENTS

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IDS = tuple("abcdefg")
PAIRS = tuple(combinations(IDS, 2))
NOBODY = Held()
UNWEIGHED = Weights({}, "as shipped")


def member(name: str, **changes: Any) -> Member:
    usual = Member(name, "sample", "wiki", f"Title {name}", None, "unknown", "mention", is_present=True)
    return usual._replace(**changes)


def pair(one: str, other: str, score: float = 1.0, verdict: str = "same") -> Row:
    first, second = sorted((one, other))
    named = {"pair_id": f"{first}+{second}", "first_id": first, "second_id": second}
    said = {"reason": "alike", "score": score, "method": "exact", "verdict": verdict, "evidence": []}
    return {**named, "entity_type": "Species", **said}


def decision(number: int, kind: str, one: str, other: str) -> Row:
    return {
        "decision_id": f"{number:03}",
        "kind": kind,
        "entity_id": one,
        "other_id": other,
        "author": "Kim",
        "reason": "It is so.",
    }


def judge(
    pairs: Sequence[Row], decisions: Sequence[Row], members: Mapping[str, Member], held: Held
) -> list[Row]:
    decided = {frozenset((row["entity_id"], row["other_id"])): row for row in decisions}
    by_policy: Any = {"author": "policy:p", "checks": {}, "weights": UNWEIGHED}
    rows = judged("Species", pairs, decided, known=members.keys(), **by_policy)
    return followed(rows, members, held)


def clusters(rows: Sequence[Row], members: Mapping[str, Member], held: Held = NOBODY) -> dict[str, str]:
    """The survivor of every entity's cluster."""
    merged = merges(rows, members, held)
    return {name: merged[name].into_id if name in merged else name for name in members}


members_of_all = st.fixed_dictionaries(
    {
        name: st.builds(
            member,
            st.just(name),
            source=st.sampled_from(["one", "two"]),
            wiki=st.sampled_from(["wiki", "other"]),
            continuity=st.sampled_from(["canon", "legends", "unknown", "both"]),
            origin=st.sampled_from(["page", "mention", "mention"]),
            is_present=st.sampled_from([True, True, False]),
        )
        for name in IDS
    }
)
machine_pairs = st.lists(
    st.builds(
        lambda ids, score, verdict: pair(ids[0], ids[1], score, verdict),
        st.sampled_from(PAIRS),
        st.sampled_from([0.9, 0.95, 1.0]),
        st.sampled_from(["same", "same", "unsure"]),
    ),
    unique_by=lambda row: row["pair_id"],
    max_size=12,
)
decisions_made = st.lists(
    st.tuples(st.sampled_from(["merge", "split"]), st.sampled_from(PAIRS), st.booleans()), max_size=5
).map(
    lambda made: [
        decision(number, kind, *(ids[::-1] if turned else ids))
        for number, (kind, ids, turned) in enumerate(made)
    ]
)
states = st.builds(
    Held,
    promoted=st.frozensets(st.sampled_from(IDS), max_size=2),
    suppressed=st.frozensets(st.sampled_from(IDS), max_size=1),
)


@given(machine_pairs, decisions_made, members_of_all, states, st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order_of_rows(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member], held: Held, random: Any
) -> None:
    rows = judge(pairs, decisions, members, held)
    shuffled, others = list(pairs), list(members.items())
    random.shuffle(shuffled)
    random.shuffle(others)
    assert judge(shuffled, decisions, dict(others), held) == rows
    said = [{name: value for name, value in row.items() if name != "is_followed"} for row in rows]
    random.shuffle(said)
    again = followed(said, dict(others), held)
    assert again == rows
    random.shuffle(rows)
    assert merges(rows, members, held) == merges(again, members, held)


@given(machine_pairs, members_of_all, states)
def test_no_machine_joins_canon_and_legends_nor_two_pages_of_a_wiki(
    pairs: list[Row], members: dict[str, Member], held: Held
) -> None:
    survivors = clusters(judge(pairs, [], members, held), members, held)
    for one, other in combinations(IDS, 2):
        if survivors[one] == survivors[other]:
            first, second = members[one], members[other]
            assert {first.continuity, second.continuity} != {"canon", "legends"}
            assert not (first.origin == second.origin == "page" and first.wiki == second.wiki)
            assert not {one, other} <= held.promoted
            for unwanted, out in ((one, second), (other, first)):
                assert unwanted not in held.suppressed or (
                    out.origin == "mention" and survivors[one] == unwanted
                )


@given(machine_pairs, decisions_made, members_of_all, states)
def test_what_a_person_keeps_apart_stays_apart_through_thirds_too(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member], held: Held
) -> None:
    rows = judge(pairs, decisions, members, held)
    survivors = clusters(rows, members, held)
    for row in rows:
        if row["judgement"] == "different":
            assert row["is_followed"]
            assert survivors[row["first_id"]] != survivors[row["second_id"]]


@given(machine_pairs, decisions_made, members_of_all, states)
def test_what_is_followed_stands_and_what_is_not_says_why(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member], held: Held
) -> None:
    rows = judge(pairs, decisions, members, held)
    survivors = clusters(rows, members, held)
    for row in rows:
        is_one = survivors[row["first_id"]] == survivors[row["second_id"]]
        if row["judgement"] == "same":
            assert row["is_followed"] == is_one == (row["refused"] is None)
        else:
            assert row["refused"] is None


@given(machine_pairs, decisions_made, members_of_all, states, st.sampled_from(["page", "mention"]))
def test_a_record_that_is_like_no_other_changes_nothing(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member], held: Held, origin: str
) -> None:
    before = judge(pairs, decisions, members, held)
    for name in ("A", "z"):  # before all others in order, and after them
        more = {**members, name: member(name, source="one", origin=origin)}
        assert judge(pairs, decisions, more, held) == before
        assert clusters(before, more, held) == {**clusters(before, members, held), name: name}


@given(machine_pairs, decisions_made, members_of_all, states)
def test_a_merged_entity_leads_to_a_survivor_that_is_not_merged(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member], held: Held
) -> None:
    merged = merges(judge(pairs, decisions, members, held), members, held)
    assert merged.keys().isdisjoint(merge.into_id for merge in merged.values())


@given(machine_pairs, decisions_made, members_of_all, states)
def test_undoing_a_judgement_gives_exactly_what_stood_before(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member], held: Held
) -> None:
    before = judge(pairs, decisions, members, held)
    made = decision(900, "merge", "a", "b")
    others = [row for row in decisions if {row["entity_id"], row["other_id"]} != {"a", "b"}]
    after = judge(pairs, [*others, made], members, held)
    assert [row for row in after if row["decision_id"] == "900"]
    assert judge(pairs, decisions, members, held) == before


@settings(deadline=None)  # the first table of a process takes long
@given(machine_pairs, decisions_made, members_of_all)
def test_judgements_fit_their_table_and_keep_the_time_when_they_were_made(
    pairs: list[Row], decisions: list[Row], members: dict[str, Member]
) -> None:
    rows = since_when(judge(pairs, decisions, members, NOBODY), [], NOW)
    assert ENTITY_JUDGEMENTS.to_arrow(rows, "Species").to_pylist() == rows
    later = datetime(2026, 4, 1, tzinfo=UTC)
    assert since_when(judge(pairs, decisions, members, NOBODY), rows, later) == rows


def test_a_decision_about_an_entity_that_is_not_there_waits() -> None:
    members = {"a": member("a")}
    made = [decision(1, "merge", "a", "b")]
    assert judge([], made, members, NOBODY) == []
    members["b"] = member("b")
    assert clusters(judge([], made, members, NOBODY), members) == {"a": "b", "b": "b"}


def test_a_person_decides_which_of_two_survives() -> None:
    members = {name: member(name, origin="page") for name in "ab"}
    assert clusters(judge([], [decision(1, "merge", "a", "b")], members, NOBODY), members)["a"] == "b"
    assert clusters(judge([], [decision(1, "merge", "b", "a")], members, NOBODY), members)["b"] == "a"


def test_an_entity_whose_survivor_is_merged_too_leads_to_the_last_survivor() -> None:
    members = {name: member(name) for name in "abc"}
    made = [decision(1, "merge", "a", "b"), decision(2, "merge", "b", "c")]
    assert clusters(judge([], made, members, NOBODY), members) == {"a": "c", "b": "c", "c": "c"}


def test_a_page_survives_a_mention_and_a_present_page_survives_one_that_is_gone() -> None:
    members = {"a": member("a"), "b": member("b", origin="page")}
    assert clusters(judge([pair("a", "b")], [], members, NOBODY), members) == {"a": "b", "b": "b"}
    gone = {"a": member("a", origin="page"), "b": member("b", origin="page", is_present=False)}
    assert clusters(judge([], [decision(1, "merge", "a", "b")], gone, NOBODY), gone) == {"a": "a", "b": "a"}


def test_people_may_join_canon_and_legends_but_machines_add_neither_then() -> None:
    members = {
        "a": member("a", continuity="canon"),
        "b": member("b", continuity="legends"),
        "c": member("c", continuity="canon"),
        "d": member("d"),
    }
    rows = judge([pair("b", "c"), pair("b", "d")], [decision(1, "merge", "a", "b")], members, NOBODY)
    assert clusters(rows, members) == {"a": "b", "b": "b", "c": "c", "d": "b"}


def test_of_merges_that_a_split_forbids_together_the_newest_counts() -> None:
    members = {name: member(name) for name in "abc"}
    made = [decision(1, "merge", "a", "b"), decision(2, "merge", "b", "c"), decision(3, "split", "a", "c")]
    rows = judge([], made, members, NOBODY)
    assert clusters(rows, members) == {"a": "a", "b": "c", "c": "c"}
    [refused] = [row["refused"] for row in rows if row["pair_id"] == "a+b"]
    assert refused == "a person keeps apart what it would join"


def test_a_model_only_proposes() -> None:
    members = {name: member(name) for name in "ab"}
    check = {"same_entity": True, "confidence": 0.9, "model": "some-model"}
    by_policy: Any = {"author": "policy:p", "checks": {"a+b": check}, "weights": UNWEIGHED}
    rows = judged("Species", [pair("a", "b", 0.9, "unsure")], {}, known=set(), **by_policy)
    [row] = followed(rows, members, NOBODY)
    assert (row["judgement"], row["proposal"], row["proposed_by"]) == ("unsure", "same", "some-model")
    assert not row["is_followed"]
    assert clusters([row], members) == {"a": "a", "b": "b"}
