import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pages_read import signals

from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.rules import classify_page, load_rules
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.tables import PAGE_TYPES, RULE_CLASSIFICATIONS

# Words that the grammar and the rules search for, in any order.
GLOSSARY = (
    "was were is a an the of in and , . : ( ) ! type one who planet human male droid she He Vessa 1138 war "
    "Moons models novel used it's X-wing \u2013 \u2019 served as / (novel) List \u6f22\u5b57 \0"
)
WORDS = st.sampled_from(GLOSSARY.split())
PROSE = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=30).map(" ".join))
NAMES = st.one_of(PROSE.filter(bool), st.text(string.ascii_letters, min_size=1, max_size=12))
PAGES = st.builds(
    signals,
    title=NAMES,
    lead=PROSE,
    name=NAMES,
    namespace=st.sampled_from([0, 0, 0, 2, 10, 14, 110, 3000]),
    continuity=st.sampled_from(["canon", "legends", "both", "real", "unknown"]),
    lead_excerpt=st.none() | PROSE,
    infobox_template=st.none() | NAMES | st.sampled_from(["Planet", "System", "Infobox film", "Character"]),
    infobox_fields=st.lists(st.builds(lambda name: {"name": name, "value": ""}, NAMES), max_size=5),
    categories=st.lists(PROSE, max_size=8),
    is_redirect=st.booleans(),
    redirect_target=st.none() | NAMES,
    is_disambiguation=st.booleans(),
    is_list=st.booleans(),
    timeline_markers=st.lists(NAMES, max_size=2),
)


@settings(max_examples=300, deadline=None)
@given(PAGES)
def test_any_page_gets_an_answer_that_fits_its_table(page: dict[str, Any]) -> None:
    answer = classify_page(page)
    taxonomy, weighing = load_taxonomy(), load_rules().weighing
    assert answer["primary_type"] in taxonomy.types
    assert 0 <= answer["confidence"] <= 1
    assert all(0 <= entry["weight"] <= 1 for entry in answer["types"])
    weights = [entry["weight"] for entry in answer["types"]]
    assert weights == sorted(weights, reverse=True)
    assert (answer["primary_type"] == "Unknown") == (not answer["rule_ids"])
    assert answer["needs_review"] or answer["confidence"] >= weighing.settled
    assert (answer["work_medium"] is None) == (answer["primary_type"] != "WorkMedia")
    assert RULE_CLASSIFICATIONS.to_arrow([answer], "p").num_rows == 1
    assert PAGE_TYPES.to_arrow([page_type_row(page, answer, "run")], "p").num_rows == 1


@settings(max_examples=100, deadline=None)
@given(PAGES)
def test_the_same_page_gets_the_same_answer(page: dict[str, Any]) -> None:
    assert classify_page(page) == classify_page(dict(page))


@settings(max_examples=100, deadline=None)
@given(PAGES)
def test_every_rule_named_is_one_that_exists(page: dict[str, Any]) -> None:
    answer = classify_page(page)
    known = load_rules().rules
    assert all(rule_id in known for rule_id in answer["rule_ids"])
    assert {piece["rule_id"] for piece in answer["evidence"]} >= set(answer["rule_ids"])
