"""When a person should check an entity, and when not."""

from typing import Any

import pytest

from holocron_assets.entities.reviews import IN_DISPUTE, is_disputed, review_reason
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row


def page(title: str = "Varn", **changes: Any) -> dict[str, Any]:
    return {
        "title": title,
        "title_key": title_key("sample", title),
        "page_id": 4,
        "revision_id": 100,
        "entity_type": "Species",
        "confidence": 0.95,
        "method": "rules",
        "state": "promoted",
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
        *(
            (
                page(page_id=9, revision_id=101, entity_type="Droid"),
                was_absent,
                "another page stands at its title, and is Droid",
            )
            for was_absent in (False, True)
        ),
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


def test_rules_that_type_the_same_revision_otherwise_are_no_reason() -> None:
    assert review_reason(page(), page(entity_type="Droid"), was_absent=False) is None


def test_pages_without_ids_are_never_called_moved() -> None:
    reason = review_reason(page(page_id=None), page("Varnite", page_id=None), was_absent=False)
    assert reason == "page 'Varnite' took the place of 'Varn'"


DOUBTFUL = page(entity_type="Droid", confidence=0.85, method="model")


def test_a_less_sure_type_is_named_with_its_method_and_confidence() -> None:
    assert review_reason(page(), DOUBTFUL, was_absent=False) == (
        f"{IN_DISPUTE}: by model it is Droid at 0.85, less surely than the Species at 0.95 that was promoted"
    )


@pytest.mark.parametrize(
    ("held", "now"),
    [
        (page(), page(entity_type="Droid", confidence=0.95)),
        (page(), page(confidence=0.85)),
        (page(), page(entity_type="Unknown", confidence=0.0)),
        (page(), page(entity_type="Droid", confidence=0.85, method="person")),
        (page(method="person", confidence=1.0), DOUBTFUL),
        (page(state="candidate"), DOUBTFUL),
        (page(), {**DOUBTFUL, "redirect_target": "Gort"}),
        (page(page_id=9), DOUBTFUL),
        (page(page_id=None), page("Varnite", page_id=None, entity_type="Droid", confidence=0.85)),
    ],
    ids=[
        *("as sure", "same type", "unknown", "a person", "withdrawn", "not promoted", "a redirect"),
        *("another page", "another title"),
    ],
)
def test_nothing_else_is_a_dispute(held: Row, now: Row) -> None:
    assert not is_disputed(held, now)


@pytest.mark.parametrize("page_id", [4, None])
def test_a_page_is_disputed_with_and_without_id(page_id: int | None) -> None:
    now = {**DOUBTFUL, "page_id": page_id}
    assert is_disputed(page(page_id=page_id), now)


def test_a_type_that_a_person_decided_needs_no_review() -> None:
    decided = page(entity_type="Droid", revision_id=101, confidence=1.0, method="person")
    assert review_reason(page(), decided, was_absent=False) is None
