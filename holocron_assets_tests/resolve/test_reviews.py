"""When a person should look at an entity, and when not."""

from typing import Any

import pytest

from holocron_assets.lake.keys import title_key
from holocron_assets.lake.schema import Row
from holocron_assets.resolve.reviews import review_reason


def page(title: str = "Varn", **changes: Any) -> Row:
    return {
        "title": title,
        "title_key": title_key("sample", title),
        "page_id": 4,
        "revision_id": 100,
        "entity_type": "Species",
        **changes,
    }


@pytest.mark.parametrize(
    ("now", "was_absent", "reason"),
    [
        (None, True, "page deleted"),
        (page(redirect_target="Gort"), True, "page became a redirect to 'Gort'"),
        (page("Varnite"), True, "page moved from 'Varn' to 'Varnite'"),
        (page("Varn (species)", page_id=9), True, "page 'Varn (species)' took the place of 'Varn'"),
        (page(), True, "page restored"),
        (page(page_id=9), True, "page restored"),
        (page(revision_id=101, entity_type="Droid"), False, "type changed from Species to Droid"),
        (
            page("Varnite", revision_id=101, entity_type="Droid"),
            False,
            "page moved from 'Varn' to 'Varnite'; type changed from Species to Droid",
        ),
    ],
)
def test_what_happened_to_the_page_is_the_reason(now: Row | None, was_absent: bool, reason: str) -> None:  # noqa: FBT001 - a case of the table
    assert review_reason(page(), now, was_absent=was_absent) == reason


@pytest.mark.parametrize("now", [page(), page(revision_id=101), page(redirect_target=None)])
def test_an_edited_page_is_no_reason(now: Row) -> None:
    assert review_reason(page(), now, was_absent=False) is None


def test_rules_that_tell_the_same_revision_otherwise_are_no_reason() -> None:
    assert review_reason(page(), page(entity_type="Droid"), was_absent=False) is None


def test_pages_without_ids_are_never_called_moved() -> None:
    reason = review_reason(page(page_id=None), page("Varnite", page_id=None), was_absent=False)
    assert reason == "page 'Varnite' took the place of 'Varn'"
