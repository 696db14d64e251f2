"""Conditions of interrogations: what cannot choose among pages is refused before any page is there."""

import pytest

from holocron_assets.derive.interrogations.conditions import ConditionError, check_condition


@pytest.mark.parametrize(
    "condition",
    ["count(*) > 3", "max(confidence) > 0.5", "row_number() over () < 10", "unnest([true, false])"],
)
def test_what_speaks_of_several_rows_at_once_is_no_condition(condition: str) -> None:
    with pytest.raises(ConditionError, match=r"wants\.sql: .* cannot be asked"):
        check_condition(condition, "pages", "page_types")


@pytest.mark.parametrize(
    "condition", ["is_list", "is_list or lead_length > 9 -- a remark\n", "title in ('A')"]
)
def test_what_is_true_of_one_row_is_a_condition(condition: str) -> None:
    check_condition(condition, "pages", "page_types")
