from typing import Any

import pytest

from holocron_assets.entities.identity.candidates import NEVER_ENTITIES, candidate_row
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITY_CANDIDATES

WORTHY = frozenset({"Species", "PersonCharacter"})
PAGE = {
    "source": "sample",
    "batch": "sample-000001",
    "title": "Varn/Legends",
    "title_key": 17,
    "namespace": 0,
    "page_id": 4,
    "revision_id": 40,
}


def page_type(**changes: Any) -> Row:
    return {
        **PAGE,
        "primary_type": "Species",
        "confidence": 0.95,
        "method": "rules",
        "rule_ids": ["infobox.species"],
        "needs_review": False,
        **changes,
    }


def signals(**changes: Any) -> Row:
    return {
        **PAGE,
        "name": "Varn",
        "continuity": "legends",
        "lead_length": 120,
        "is_redirect": False,
        **changes,
    }


def test_a_sure_page_of_a_worthy_type_is_a_candidate_that_leads_back_to_its_revision() -> None:
    row = candidate_row(page_type(), signals(), "run-1", entity_types=WORTHY)
    assert row == {
        "source": "sample",
        "batch": "sample-000001",
        "title": "Varn/Legends",
        "title_key": 17,
        "page_id": 4,
        "revision_id": 40,
        "entity_type": "Species",
        "name": "Varn",
        "continuity": "legends",
        "confidence": 0.95,
        "method": "rules",
        "rule_ids": ["infobox.species"],
        "needs_review": False,
        "has_lead": True,
        "run_id": "run-1",
    }
    ENTITY_CANDIDATES.to_arrow([row], "sample-000001")


@pytest.mark.parametrize(("confidence", "expected"), [(0.80, True), (0.7999, False), (1.0, True)])
def test_a_page_is_a_candidate_from_point_eight_on(confidence: float, expected: bool) -> None:  # noqa: FBT001  pytest passes it by name
    row = candidate_row(page_type(confidence=confidence), signals(), "run-1", entity_types=WORTHY)
    assert (row is not None) is expected


@pytest.mark.parametrize("never", sorted(NEVER_ENTITIES))
def test_pages_about_the_wiki_are_never_candidates_even_if_the_taxonomy_calls_them_worthy(never: str) -> None:
    sure = page_type(primary_type=never, confidence=1.0)
    assert candidate_row(sure, signals(), "run-1", entity_types=WORTHY | {never}) is None


def test_a_type_that_the_taxonomy_does_not_call_worthy_is_no_candidate() -> None:
    assert candidate_row(page_type(primary_type="Droid"), signals(), "run-1", entity_types=WORTHY) is None


def test_a_redirect_is_no_candidate() -> None:
    assert candidate_row(page_type(), signals(is_redirect=True), "run-1", entity_types=WORTHY) is None


def test_a_page_without_a_lead_is_a_candidate_that_says_so() -> None:
    row = candidate_row(page_type(), signals(lead_length=0), "run-1", entity_types=WORTHY)
    assert row is not None
    assert row["has_lead"] is False


@pytest.mark.parametrize("other", [{"title": "Gort"}, {"revision_id": 41}, {"batch": "sample-000002"}])
def test_signals_of_another_revision_are_refused_naming_both(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'Varn/Legends'.*materialize page_signals and page_types") as error:
        candidate_row(page_type(), signals(**other), "run-1", entity_types=WORTHY)
    assert str(next(iter(other.values()))) in str(error.value)
