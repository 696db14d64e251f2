"""What holds of ids while pages move, change type, go and come back, in whatever order types are met."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.entities.history import resolve_entities
from holocron_assets.entities.identity.identity import holders_of
from holocron_assets.entities.promotion import PromotionPolicy, Thresholds
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row

START = datetime(2026, 3, 1, tzinfo=UTC)
LIMITS = Thresholds(staged=0.5, candidate=0.80, promoted=0.90, requires=("page", "lead"))
POLICY = PromotionPolicy(id="test-1", default=LIMITS, types={})
TYPES = ("Concept", "Droid", "Species")


def as_candidate(page: dict[str, Any]) -> dict[str, Any]:
    return {
        **page,
        "source": "sample",
        "title_key": title_key("sample", page["title"]),
        "name": page["title"].removesuffix("/Legends"),
        "batch": "sample-000001",
        "revision_id": 1,
        "confidence": 0.95,
        "method": "rules",
        "rule_ids": [],
        "needs_review": False,
        "has_lead": True,
        "origin": "page",
        "run_id": "run-candidates",
    }


pages = st.fixed_dictionaries(
    {
        "title": st.sampled_from(["Varn", "Varn/Legends", "Gort"]),
        "page_id": st.none() | st.integers(1, 3),
        "entity_type": st.sampled_from(TYPES),
        "continuity": st.sampled_from(["canon", "legends"]),
    }
).map(as_candidate)
# A wiki has one page of a title, and current_pages has one title of a page id.
wikis = st.lists(
    pages, max_size=4, unique_by=(lambda page: page["title"], lambda page: page["page_id"] or page["title"])
)


def current(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["valid_to"] is None]


@given(st.lists(st.tuples(wikis, st.permutations(TYPES)), min_size=1, max_size=6))
def test_two_pages_never_share_an_id(history: list[tuple[list[Row], list[str]]]) -> None:
    files: dict[str, list[Row]] = {entity_type: [] for entity_type in TYPES}
    for step, (wiki, order) in enumerate(history):
        for entity_type in order:
            files[entity_type] = resolve_entities(
                entity_type,
                [page for page in wiki if page["entity_type"] == entity_type],
                files[entity_type],
                policy=POLICY,
                now=START + timedelta(days=step),
                run_id=f"run-{step}",
                elsewhere=[holders_of(current(files[name])) for name in TYPES if name != entity_type],
            )
        held = [row for rows in files.values() for row in current(rows) if row["state"] != "suppressed"]
        assert max(Counter(row["entity_id"] for row in held).values(), default=1) == 1
        assert sorted(row["title"] for row in held) == sorted(page["title"] for page in wiki)
