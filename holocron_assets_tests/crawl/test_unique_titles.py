"""Which of many listed titles count."""

from hypothesis import example, given
from hypothesis import strategies as st

from holocron_assets.crawl.dumps.listing import winners

number = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(st.one_of(st.integers(0, 5), number), st.one_of(st.integers(0, 3), number))))
@example([])
@example([(7, 1), (7, 1)])
@example([(-(2**63), -1), (2**63 - 1, 0), (-(2**63), -2)])
def test_of_each_key_the_last_of_the_highest_rank_counts(ranked_keys: list[tuple[int, int]]) -> None:
    best: dict[int, int] = {}
    for place, (key, rank) in enumerate(ranked_keys):
        if key not in best or rank >= ranked_keys[best[key]][1]:
            best[key] = place
    assert [place for place, counts in enumerate(winners(ranked_keys)) if counts] == sorted(best.values())
