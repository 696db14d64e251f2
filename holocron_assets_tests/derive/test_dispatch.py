"""Which model works next: examples first, then what holds for any work at all."""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.dispatch.choosing import Ageing, Decision, Turn, Waiting, decide

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LARGE, SMALL = "large:7b", "small:1b"


def work(  # noqa: PLR0913, PLR0917 - a test names what it is about and leaves the rest
    name: str,
    model: str = LARGE,
    priority: int = 500,
    items: int = 1000,
    hours: float = 0,
    due_in: timedelta | None = None,
    **more: int,
) -> Waiting:
    """Work that has waited for some hours."""
    since = NOW - timedelta(hours=hours)
    return Waiting(name, model, priority, items, since, NOW + due_in if due_in else None, **more)


def turns(*waiting: Waiting, loaded: str = LARGE) -> list[tuple[str, int]]:
    return [(turn.interrogation, turn.items) for turn in decide(waiting, {loaded}, NOW).turns]


def test_the_model_with_the_most_important_work_is_chosen_though_another_has_more() -> None:
    decision = decide([work("a", LARGE, 400, items=9000), work("b", SMALL, 401, items=1)], {LARGE}, NOW)
    assert decision.model == SMALL
    assert decision.turns == (Turn("b", 1),)


def test_an_hour_of_waiting_counts_50_and_six_hours_as_much_as_ten() -> None:
    ageing = Ageing()
    waited = (timedelta(minutes=59), timedelta(hours=1), timedelta(hours=6), timedelta(hours=10))
    assert [ageing.points(time) for time in waited] == [0, 50, 300, 300]
    assert decide([work("a", LARGE, 500), work("b", SMALL, 460, hours=1)], {LARGE}, NOW).model == SMALL
    assert decide([work("a", LARGE, 500), work("b", SMALL, 199, hours=99)], {LARGE}, NOW).model == LARGE


def test_a_clock_that_went_back_lowers_nothing() -> None:
    assert Ageing().points(timedelta(hours=-3)) == 0


def test_minutes_of_waiting_do_not_take_the_gpu_from_a_model_of_equal_priority() -> None:
    newer, older = work("a", LARGE, hours=0.1), work("b", SMALL, hours=0.9)
    assert decide([newer, older], {LARGE}, NOW).model == LARGE
    assert decide([newer, older], {SMALL}, NOW).model == SMALL


def test_where_neither_is_loaded_equals_go_by_name() -> None:
    assert decide([work("b", SMALL), work("a", LARGE)], set(), NOW).model == LARGE


def test_a_more_important_interrogation_takes_the_whole_turn() -> None:
    assert turns(work("a", priority=500), work("b", priority=600)) == [("b", 100)]


def test_what_a_more_important_one_leaves_of_the_turn_goes_to_the_next() -> None:
    assert turns(work("a", priority=500), work("b", priority=600, items=30)) == [("b", 30), ("a", 70)]


def test_equals_share_a_turn_and_what_one_does_not_need_goes_to_the_others() -> None:
    assert turns(work("a"), work("b")) == [("a", 50), ("b", 50)]
    assert turns(work("a"), work("b", items=10), work("c")) == [("a", 45), ("b", 10), ("c", 45)]


def test_the_odd_item_goes_to_the_interrogation_that_waits_longest() -> None:
    shares = turns(work("a"), work("b", hours=0.5), work("c"))
    assert shares == [("b", 34), ("a", 33), ("c", 33)]


def test_interrogations_of_another_model_have_no_turn() -> None:
    assert turns(work("a", LARGE, 600, items=5), work("b", SMALL, 500)) == [("a", 5)]


def test_partitions_that_were_not_begun_may_hold_any_number_of_items() -> None:
    assert turns(work("a", items=0, uncounted=1), work("b", items=20)) == [("a", 80), ("b", 20)]


def test_partitions_that_need_no_call_are_work_too() -> None:
    decision = decide([work("a", items=0, completions=3)], set(), NOW)
    assert (decision.model, decision.turns) == (LARGE, (Turn("a", 0),))
    assert "3 partitions to complete without a call" in decision.reasons[0]


def test_nothing_due_says_when_something_is() -> None:
    later = work("a", items=0, due_in=timedelta(minutes=10))
    sooner = work("b", SMALL, items=0, due_in=timedelta(minutes=2))
    decision = decide([later, sooner], {LARGE}, NOW)
    assert (decision.model, decision.turns) == (None, ())
    assert decision.next_due == NOW + timedelta(minutes=2)
    assert decision.reasons == ("Nothing is due; b is at 2026-11-21 12:02:00 UTC.",)


def test_no_work_at_all_says_so() -> None:
    assert decide([], {LARGE}, NOW).reasons == ("Nothing is to be asked.",)
    assert decide([work("a", items=0)], {LARGE}, NOW).reasons == ("Nothing is to be asked.",)


def test_waiting_for_a_later_time_raises_nothing() -> None:
    waits = work("a", items=0, hours=50, due_in=timedelta(minutes=1))
    (score,) = decide([waits], set(), NOW).scores
    assert (score.ageing, score.priority) == (0, 500)


def test_the_decision_gives_its_reasons() -> None:
    decision = decide(
        [work("a", LARGE, 500, hours=2), work("b", SMALL, 600, items=1), work("c", "tiny", 100)], {LARGE}, NOW
    )
    assert decision.reasons == (
        "large:7b has the highest priority, 600, raised from 500 by waiting: a has 1000 items to ask about.",
        "small:1b has as much, and is not loaded.",
        "tiny has 100.",
    )


def test_the_decision_as_json_holds_every_score() -> None:
    as_json = decide([work("a", LARGE, 500, hours=2), work("b", SMALL, 300)], set(), NOW).to_json()
    assert as_json["model"] == LARGE
    assert as_json["turns"] == [{"interrogation": "a", "items": 100}]
    assert [score["effective_priority"] for score in as_json["scores"]] == [600, 300]
    assert as_json["scores"][0]["ageing"] == 100


NAMES = [f"interrogation_{number}" for number in range(6)]
MODELS = ["m1", "m2", "m3"]


@st.composite
def any_work(draw: st.DrawFn, name: str) -> Waiting:
    items = draw(st.integers(0, 250))
    return Waiting(
        interrogation=name,
        model=draw(st.sampled_from(MODELS)),
        priority=draw(st.sampled_from([0, 100, 450, 500, 1000])),
        items=items,
        waiting_since=NOW - timedelta(minutes=draw(st.integers(0, 600))),
        due=draw(st.none() | st.just(NOW + timedelta(minutes=5))),
        completions=draw(st.integers(0, 2)),
        uncounted=draw(st.integers(0, 2)),
    )


@st.composite
def any_backlog(draw: st.DrawFn) -> list[Waiting]:
    return [draw(any_work(name)) for name in NAMES[: draw(st.integers(0, len(NAMES)))]]


loaded_models = st.frozensets(st.sampled_from(MODELS))


@given(any_backlog(), loaded_models, st.randoms())
def test_the_order_in_which_work_is_listed_does_not_matter(
    backlog: list[Waiting], loaded: frozenset[str], chance: random.Random
) -> None:
    shuffled = list(backlog)
    chance.shuffle(shuffled)
    assert decide(backlog, loaded, NOW) == decide(shuffled, loaded, NOW)


@given(any_backlog(), loaded_models)
def test_a_model_is_chosen_if_and_only_if_it_has_work_that_is_due(
    backlog: list[Waiting], loaded: frozenset[str]
) -> None:
    decision = decide(backlog, loaded, NOW)
    due = {work.model for work in backlog if work.items or work.completions or work.uncounted}
    assert (decision.model in due) if due else (decision.model is None)
    by_name = {work.interrogation: work for work in backlog}
    for turn in decision.turns:
        assert by_name[turn.interrogation].model == decision.model
        assert turn.items <= by_name[turn.interrogation].takes(100)
    assert sum(turn.items for turn in decision.turns) <= 100
    assert bool(decision.turns) == bool(due)


@given(any_backlog(), loaded_models)
def test_a_loaded_model_gives_way_only_to_a_higher_priority(
    backlog: list[Waiting], loaded: frozenset[str]
) -> None:
    decision = decide(backlog, loaded, NOW)
    best = {name: _best(decision, name) for name in MODELS}
    staying = [name for name in loaded if best[name] is not None]
    if decision.model and staying and decision.model not in loaded:
        chosen = best[decision.model]
        assert chosen is not None
        assert all(chosen > (best[name] or 0) for name in staying)


def _best(decision: Decision, model: str) -> int | None:
    found = [
        score.priority for score in decision.scores if score.waiting.model == model and score.waiting.is_due
    ]
    return max(found, default=None)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_no_equal_gets_more_than_one_item_over_another_that_wants_more(items: list[int]) -> None:
    backlog = [work(name, items=number) for name, number in zip(NAMES, items, strict=False)]
    shares = {turn.interrogation: turn.items for turn in decide(backlog, set(), NOW).turns}
    assert sum(shares.values()) == min(100, sum(items))
    short = [
        shares.get(one.interrogation, 0) for one in backlog if shares.get(one.interrogation, 0) < one.items
    ]
    if short:
        assert max(shares.values()) <= min(short) + 1


@given(any_backlog())
def test_work_that_is_done_turn_by_turn_all_gets_done(backlog: list[Waiting]) -> None:
    left = {one.interrogation: replace(one, uncounted=0, completions=0) for one in backlog}
    loaded: frozenset[str] = frozenset()
    now, done = NOW, Counter[str]()
    for _ in range(sum(one.items for one in backlog) + 1):
        decision = decide(left.values(), loaded, now)
        if decision.model is None:
            break
        loaded = frozenset({decision.model})
        for turn in decision.turns:
            done[turn.interrogation] += turn.items
            left[turn.interrogation] = replace(
                left[turn.interrogation], items=left[turn.interrogation].items - turn.items
            )
        now += timedelta(minutes=10)
    assert {name: done[name] for name in left} == {one.interrogation: one.items for one in backlog}


@given(st.integers(0, 700), st.integers(1, 299), st.integers(0, 59))
def test_nothing_starves_while_new_work_that_is_less_than_300_more_important_comes(
    priority: int, more: int, minutes: int
) -> None:
    """The other model's work never ends, but what it has is always fresh."""
    waiting_since, now, switched_after = NOW, NOW, None
    for turn in range(1, 9 * 6):
        now = NOW + timedelta(minutes=10 * turn)
        fresh = Waiting("fresh", LARGE, priority + more, 10**6, now - timedelta(minutes=minutes))
        starving = Waiting("starving", SMALL, priority, 1, waiting_since)
        if decide([fresh, starving], {LARGE}, now).model == SMALL:
            switched_after = now - NOW
            break
    assert switched_after is not None
    assert switched_after <= timedelta(hours=6)
