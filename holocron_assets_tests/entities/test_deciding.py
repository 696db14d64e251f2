"""What people may decide about entities and statements, and how they name them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from known_entities import FACT, RELATION, entity, known_as, lake_of_entities, statement
from resolved_wiki import TYPES, Seen, Wiki, missing, wiki_of

from holocron_assets.decisions.log import (
    DecisionError,
    Standing,
    all_decisions,
    new_decision,
    record,
    standing,
    undo,
)
from holocron_assets.entities.deciding import (
    decide_merge,
    decide_split,
    decide_state,
    decide_statement,
    decide_undo,
    decide_undo_of_answer,
    kinds_for_entity,
    merge_warning,
)
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.entities.identity.judgement_store import store_judgements
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.names.named import find_entities, named_entity, named_statement, survivor
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS

pytestmark = pytest.mark.system

WORD = {"author": "ada", "reason": "I know"}
VARN, GORT, DUNE = (entity_id("sample", title) for title in ("Varn", "Gort", "Dune"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_of_entities(tmp_path)


def merge(lake: Lake, gone: str, into: str) -> Row:
    return decide_merge(lake, gone=known_as(gone), into=known_as(into), **WORD)


def split(lake: Lake, one: str, other: str) -> Row:
    return decide_split(lake, one=known_as(one), other=known_as(other), **WORD)


@pytest.mark.parametrize(
    ("named", "titles"),
    [
        ("Varn", ["Varn"]),
        ("Varn/Legends", ["Varn/Legends"]),
        (known_as("Varn"), ["Varn"]),
        (known_as("Varn")[:8], ["Varn"]),
        (known_as("Varn")[:8].upper(), ["Varn"]),
        (known_as("Varn")[:7], []),
        ("E\u0301lan", ["Élan"]),
        ("Unit_4 ", ["Unit 4"]),
        ("varn", ["Varn", "Varn/Legends"]),
        ("Gorts", ["Gorts"]),
        ("Osk", ["Osk", "Osk"]),
        ("Nobody", []),
        ("%", []),
    ],
)
def test_an_entity_is_named_in_the_surest_way_that_finds_any(
    lake: Lake, named: str, titles: list[str]
) -> None:
    assert [row["title"] for row in find_entities(lake, named)] == titles


def test_source_or_type_name_the_entity_where_a_title_is_not_enough(lake: Lake) -> None:
    with pytest.raises(
        DecisionError, match=r"'Osk' may be 'Osk' of other \(Species, .*\) or 'Osk' of sample"
    ):
        named_entity(lake, "Osk")
    assert named_entity(lake, "Osk", source="other")["entity_id"] == known_as("Osk", "other")
    with pytest.raises(DecisionError, match="no entity of type Droid is called 'Osk'"):
        named_entity(lake, "Osk", entity_type="Droid")


def test_of_a_name_that_several_have_the_one_that_they_were_merged_into_is_meant(lake: Lake) -> None:
    rows = [entity("Varn"), entity("The Varn", name="Varn", merged_into=known_as("Varn"))]
    write_partition(lake, ENTITIES, "Species", rows)
    assert [row["title"] for row in find_entities(lake, "varn")] == ["Varn"]


def test_a_merge_names_both_and_the_one_that_stays(lake: Lake) -> None:
    row = merge(lake, "Varn", "Gort")
    expected = {
        "kind": "merge",
        "source": "sample",
        "title": "Varn",
        "entity_id": known_as("Varn"),
        "other_id": known_as("Gort"),
        "other_title": "Gort",
        **WORD,
    }
    assert {name: row[name] for name in expected} == expected
    assert all_decisions(lake) == [row]


def test_what_is_merged_into_one_that_was_merged_goes_into_its_survivor(lake: Lake) -> None:
    assert merge(lake, "Varn", "Gorts")["other_id"] == known_as("Gort")


def test_a_person_may_say_which_of_two_that_are_one_stays(lake: Lake) -> None:
    assert merge(lake, "Gort", "Gorts")["other_id"] == known_as("Gorts")
    assert merge(lake, "Gorts", "Gort")["other_id"] == known_as("Gort")


def test_canon_and_legends_may_be_merged_by_a_person_who_is_warned(lake: Lake) -> None:
    canon, legends = named_entity(lake, "Varn"), named_entity(lake, "Varn/Legends")
    assert merge_warning(canon, named_entity(lake, "Gort"), standing(lake)) is None
    warning = merge_warning(canon, legends, standing(lake))
    assert warning is not None
    assert "canon and the other of Legends" in warning
    merge(lake, "Varn/Legends", "Varn")


@pytest.mark.parametrize("decide", [merge, split])
def test_entities_of_two_types_and_one_with_itself_are_refused(
    lake: Lake, decide: Callable[[Lake, str, str], Row]
) -> None:
    with pytest.raises(DecisionError, match="are of two types, Species and Droid, and never one"):
        decide(lake, "Varn", "Unit 4")
    with pytest.raises(DecisionError, match="both are one entity: 'Varn' of sample"):
        decide(lake, "Varn", "Varn")
    with pytest.raises(DecisionError, match="no entity is called"):
        decide(lake, "Varn", "Nobody")
    assert all_decisions(lake) == []


def test_a_split_of_two_that_nothing_joins_is_kept(lake: Lake) -> None:
    row = split(lake, "Varn", "Gort")
    assert standing(lake).pairs == {frozenset({known_as("Varn"), known_as("Gort")}): row}


def test_a_person_s_last_word_on_a_pair_needs_no_undo(lake: Lake) -> None:
    split(lake, "Varn", "Gort")
    merge(lake, "Varn", "Gort")
    last = split(lake, "Gort", "Varn")
    assert list(standing(lake).pairs.values()) == [last]


def test_a_merge_that_would_join_what_people_keep_apart_names_the_decision_to_undo(lake: Lake) -> None:
    apart = split(lake, "Varn", "Osk")
    merge(lake, "Gort", "Osk")
    with pytest.raises(DecisionError, match=f"keeps 'Varn' and 'Osk' apart.* {apart['decision_id']} first"):
        merge(lake, "Varn", "Gort")
    undo(lake, apart["decision_id"], **WORD)
    merge(lake, "Varn", "Gort")


def test_a_merge_with_one_that_was_merged_is_refused_if_people_keep_the_two_apart(lake: Lake) -> None:
    for other in ("Gorts", "Gort"):  # what is named, and what it was merged into
        apart = split(lake, "Varn", other)
        kept = f"keeps 'Varn' and '{other}' apart.* {apart['decision_id']} first"
        with pytest.raises(DecisionError, match=kept):
            merge(lake, "Varn", "Gorts")
        undo(lake, apart["decision_id"], **WORD)
    assert merge(lake, "Varn", "Gorts")["other_id"] == known_as("Gort")


def test_a_split_of_two_that_people_joined_through_a_third_names_the_decisions(lake: Lake) -> None:
    first, second = merge(lake, "Varn", "Gort"), merge(lake, "Osk", "Gort")
    merge(lake, "Élan", "Varn/Legends")
    with pytest.raises(DecisionError, match=f"{first['decision_id']}, {second['decision_id']} first"):
        split(lake, "Varn", "Osk")
    undo(lake, second["decision_id"], **WORD)
    split(lake, "Varn", "Osk")


@pytest.mark.parametrize("take_back", [decide_undo, decide_undo_of_answer])
def test_an_undo_that_would_restore_what_contradicts_a_later_decision_is_refused_and_names_it(
    lake: Lake, take_back: Callable[..., object]
) -> None:
    undone = undo(lake, merge(lake, "Varn", "Gort")["decision_id"], **WORD)["decision_id"]
    merge(lake, "Gort", "Osk")
    apart = split(lake, "Varn", "Osk")
    with pytest.raises(DecisionError, match=f"keeps 'Varn' and 'Osk' apart.* {apart['decision_id']} first"):
        take_back(lake, undone, **WORD)
    assert all_decisions(lake)[-1] == apart
    take_back(lake, apart["decision_id"], **WORD)
    take_back(lake, undone, **WORD)
    assert len(standing(lake).pairs) == 2


def test_an_undo_that_would_restore_an_older_word_on_a_pair_is_refused_if_others_contradict_that(
    lake: Lake,
) -> None:
    split(lake, "Varn", "Osk")
    last = merge(lake, "Varn", "Osk")
    first, second = merge(lake, "Varn", "Gort"), merge(lake, "Osk", "Gort")
    joined = f"'Varn' and 'Osk' with others.* {first['decision_id']}, {second['decision_id']} first"
    with pytest.raises(DecisionError, match=joined):
        decide_undo(lake, last["decision_id"], **WORD)
    decide_undo(lake, second["decision_id"], **WORD)
    decide_undo(lake, last["decision_id"], **WORD)
    assert [row["kind"] for row in standing(lake).pairs.values()] == ["split", "merge"]


def test_a_state_is_decided_once_until_it_is_decided_otherwise(lake: Lake) -> None:
    decision = {"entity_id": known_as("Varn"), **WORD}
    first = decide_state(lake, "promote", **decision)
    assert (first["title"], first["kind"]) == ("Varn", "promote")
    with pytest.raises(DecisionError, match="it is decided already to promote 'Varn' of sample"):
        decide_state(lake, "promote", **decision)
    decide_state(lake, "suppress", **decision)
    decide_state(lake, "promote", **decision)
    assert len(all_decisions(lake)) == 3


def test_promoting_what_was_merged_promotes_what_it_is_now_and_suppressing_it_is_refused(lake: Lake) -> None:
    decision = {"entity_id": known_as("Gorts"), **WORD}
    assert decide_state(lake, "promote", **decision)["entity_id"] == known_as("Gort")
    with pytest.raises(DecisionError, match=r"'Gorts' of sample .* is merged into 'Gort' of sample"):
        decide_state(lake, "suppress", **decision)


def test_what_people_merged_counts_as_merged_before_anything_is_run(lake: Lake) -> None:
    merge(lake, "Varn", "Osk")
    merge(lake, "Osk", "Gort")
    assert kinds(lake, "Varn") == kinds(lake, "Osk") == kinds(lake, "Gorts") == ("split",)
    assert kinds(lake, "Gort") == ("merge", "split", "promote", "suppress")
    with pytest.raises(DecisionError, match=r"'Varn' of sample .* is merged into 'Gort' of sample"):
        decide_state(lake, "suppress", entity_id=known_as("Varn"), **WORD)
    promoted = decide_state(lake, "promote", entity_id=known_as("Varn"), **WORD)
    assert promoted["entity_id"] == known_as("Gort")


def test_what_the_lake_holds_as_merged_goes_where_people_merged_that(lake: Lake) -> None:
    merge(lake, "Gort", "Varn")
    row = decide_state(lake, "promote", entity_id=known_as("Gorts"), **WORD)
    assert row["entity_id"] == known_as("Varn")
    assert merge(lake, "Élan", "Gorts")["other_id"] == known_as("Varn")


def test_what_people_took_apart_is_two_before_anything_is_run(lake: Lake) -> None:
    split(lake, "Gorts", "Gort")
    row = decide_state(lake, "suppress", entity_id=known_as("Gorts"), **WORD)
    assert row["entity_id"] == known_as("Gorts")


def test_a_merge_that_was_undone_is_none_before_anything_is_run(lake: Lake) -> None:
    merged = {"merged_into": known_as("Gort"), "state_by": "person:ada"}
    rows = [entity("Gort"), entity("Varn", **merged)]
    write_partition(lake, ENTITIES, "Species", rows)
    row = merge(lake, "Varn", "Gort")
    assert kinds(lake, "Varn") == ("split",)
    undo(lake, row["decision_id"], **WORD)
    assert decide_state(lake, "promote", entity_id=known_as("Varn"), **WORD)["entity_id"] == known_as("Varn")


def test_where_people_merge_one_into_two_the_one_that_they_promoted_stays(lake: Lake) -> None:
    merge(lake, "Varn", "Gort")
    row = new_decision(
        "merge", entity_id=known_as("Varn"), other_id=known_as("Élan"), author="ada", reason="x"
    )
    record(lake, [row])
    for stays in ("Gort", "Élan"):
        promoted = decide_state(lake, "promote", entity_id=known_as(stays), **WORD)
        assert survivor(lake, named_entity(lake, "Varn"))["title"] == stays
        undo(lake, promoted["decision_id"], **WORD)


def test_a_merge_into_what_the_lake_does_not_hold_yet_waits(lake: Lake) -> None:
    row = new_decision("merge", entity_id=known_as("Varn"), other_id="not yet", author="ada", reason="x")
    record(lake, [row])
    promoted = decide_state(lake, "promote", entity_id=known_as("Varn"), **WORD)
    assert promoted["entity_id"] == known_as("Varn")


def merged_wiki(folder: Path, *more: Seen) -> Wiki:
    """Gort was merged into Varn, and a run followed it."""
    wiki = wiki_of(folder, Seen("Varn", 1), Seen("Gort", 2), *more)
    wiki.resolve_all()
    decide_merge(wiki.lake, gone=GORT, into=VARN, **WORD)
    wiki.crawl()
    wiki.resolve_all()
    return wiki


def test_of_merged_entities_the_one_that_the_lake_keeps_is_decided_about(tmp_path: Path) -> None:
    """Varn's page was deleted since: Gort stays, though the decision says that Gort goes into Varn."""
    wiki = merged_wiki(tmp_path)
    assert survivor(wiki.lake, named_entity(wiki.lake, GORT))["entity_id"] == VARN
    wiki.crawl(missing("Varn"))
    wiki.resolve_all()
    for name in (GORT, VARN):
        assert survivor(wiki.lake, named_entity(wiki.lake, name))["entity_id"] == GORT
    assert kinds_for_entity(wiki.lake, named_entity(wiki.lake, VARN)) == ("split",)
    assert "suppress" in kinds_for_entity(wiki.lake, named_entity(wiki.lake, GORT))
    assert decide_state(wiki.lake, "suppress", entity_id=GORT, **WORD)["entity_id"] == GORT


def stay(wiki: Wiki, *names: str) -> set[str]:
    """The entities that some entities are now."""
    return {survivor(wiki.lake, named_entity(wiki.lake, name))["entity_id"] for name in names}


def test_of_three_that_are_one_through_a_deleted_page_all_are_the_one_that_the_lake_keeps(
    tmp_path: Path,
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2), Seen("Dune", 3))
    wiki.resolve_all()
    for gone in (GORT, DUNE):
        decide_merge(wiki.lake, gone=gone, into=VARN, **WORD)
    wiki.crawl()
    wiki.resolve_all()
    wiki.crawl(missing("Varn"))
    wiki.resolve_all()
    kept = wiki.query("select entity_id from entities where merged_into is null and state <> 'suppressed'")
    assert stay(wiki, GORT, DUNE, VARN) == {row["entity_id"] for row in kept}


def test_a_merge_that_no_run_knows_leads_on_all_that_followed_merges_join_with_it(tmp_path: Path) -> None:
    wiki = merged_wiki(tmp_path, Seen("Dune", 3))
    wiki.crawl(missing("Varn"))
    wiki.resolve_all()
    assert stay(wiki, VARN, GORT) == {GORT}
    decide_merge(wiki.lake, gone=VARN, into=DUNE, **WORD)
    assert stay(wiki, VARN, GORT, DUNE) == {DUNE}
    wiki.crawl()
    wiki.resolve_all()
    assert stay(wiki, VARN, GORT, DUNE) == {DUNE}


def test_a_merge_that_was_judged_and_not_followed_counts_as_one_that_no_run_knows(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2))
    wiki.resolve_all()
    decide_merge(wiki.lake, gone=GORT, into=VARN, **WORD)
    types = frozenset(TYPES)
    with open_snapshot(wiki.lake) as snapshot:
        store_pairs(snapshot, "Species", entity_types=types)
        store_judgements(snapshot, "Species", entity_types=types, now=datetime.now(UTC))
    assert survivor(wiki.lake, named_entity(wiki.lake, GORT))["entity_id"] == VARN


def test_once_the_merge_that_joined_three_is_undone_the_others_count(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2), Seen("Dune", 3))
    wiki.resolve_all()
    decide_merge(wiki.lake, gone=GORT, into=VARN, **WORD)
    last = decide_merge(wiki.lake, gone=VARN, into=DUNE, **WORD)
    wiki.crawl()
    wiki.resolve_all()
    assert survivor(wiki.lake, named_entity(wiki.lake, GORT))["entity_id"] == DUNE
    undo(wiki.lake, last["decision_id"], **WORD)
    for name in (GORT, VARN):
        assert survivor(wiki.lake, named_entity(wiki.lake, name))["entity_id"] == VARN


@pytest.mark.parametrize(("decide", "kind"), [(merge, "the same"), (split, "not the same")])
def test_what_was_decided_of_two_is_not_decided_again(
    lake: Lake, decide: Callable[[Lake, str, str], Row], kind: str
) -> None:
    row = decide(lake, "Varn", "Gort")
    message = f"decided already that 'Varn' of sample is {kind} as 'Gort': decision {row['decision_id']}"
    with pytest.raises(DecisionError, match=message):
        decide(lake, "Varn", "Gort")
    undo(lake, row["decision_id"], **WORD)
    decide(lake, "Varn", "Gort")


def test_a_split_is_not_decided_again_the_other_way_round_and_a_merge_is(lake: Lake) -> None:
    split(lake, "Varn", "Gort")
    with pytest.raises(DecisionError, match="decided already"):
        split(lake, "Gort", "Varn")
    merge(lake, "Varn", "Gort")
    assert merge(lake, "Gort", "Varn")["other_id"] == known_as("Varn")


def test_a_merge_into_a_suppressed_entity_has_a_warning(lake: Lake) -> None:
    varn, gort = (named_entity(lake, known_as(title)) for title in ("Varn", "Gort"))
    decide_state(lake, "suppress", entity_id=known_as("Gort"), **WORD)
    warning = merge_warning(varn, gort, standing(lake), stays=gort["entity_id"])
    assert warning is not None
    assert "'Gort' of sample" in warning
    assert "is suppressed: what is merged into it leaves the knowledge base" in warning
    suppressed = {**gort, "state": "suppressed"}
    decide_state(lake, "promote", entity_id=known_as("Gort"), **WORD)
    assert merge_warning(varn, suppressed, standing(lake)) is None
    assert merge_warning(varn, suppressed, Standing(()), stays=gort["entity_id"]) == warning


def test_of_a_suppressed_entity_that_goes_the_warning_says_that_its_suppression_ends(lake: Lake) -> None:
    varn, gort = (named_entity(lake, known_as(title)) for title in ("Varn", "Gort"))
    decide_state(lake, "suppress", entity_id=known_as("Gort"), **WORD)
    decided, ends = standing(lake), "its suppression no longer counts"
    for one, other in ((varn, gort), (gort, varn)):
        goes = merge_warning(one, other, decided, stays=varn["entity_id"])
        assert goes is not None
        assert ends in goes
        assert "leaves the knowledge base" not in goes
        unchosen = merge_warning(one, other, decided)
        assert unchosen is not None
        assert "if it stays, what is merged into it leaves the knowledge base" in unchosen
        assert ends in unchosen


def kinds(lake: Lake, title: str) -> Sequence[str]:
    return kinds_for_entity(lake, named_entity(lake, known_as(title)))


def test_what_can_be_decided_of_an_entity_follows_from_what_was(lake: Lake) -> None:
    assert kinds(lake, "Gorts") == ("split",)
    assert kinds(lake, "Varn") == ("merge", "split", "promote", "suppress")
    decide_state(lake, "suppress", entity_id=known_as("Varn"), **WORD)
    assert kinds(lake, "Varn") == ("merge", "split", "promote")


@pytest.mark.parametrize(
    ("named", "identifier", "said"),
    [(FACT, FACT, "homeworld: Tal"), (RELATION[:8], RELATION, "lives_on: Tal")],
)
def test_a_fact_or_relation_is_accepted_or_rejected(
    lake: Lake, named: str, identifier: str, said: str
) -> None:
    row = decide_statement(lake, "reject", statement_id=named, **WORD)
    recorded = (row["statement_id"], row["value"], row["entity_id"], row["title"])
    assert recorded == (identifier, said, known_as("Varn"), "Varn")
    with pytest.raises(DecisionError, match=f"it is decided already to reject '{said}' of 'Varn'"):
        decide_statement(lake, "reject", statement_id=named, **WORD)
    decide_statement(lake, "accept", statement_id=named, **WORD)


def test_a_statement_of_several_lines_is_decided_in_one_printable_line(lake: Lake) -> None:
    said = {
        "fact_id": "a" * 32,
        "entity_id": "one",
        "fact_key": "homeworld",
        "value": "Tal\n\x1b[1m\x85or Osk",
    }
    write_partition(lake, ENTITY_FACTS, "Species", [statement(ENTITY_FACTS, **said, is_disputed=True)])
    row = decide_statement(lake, "accept", statement_id="a" * 32, **WORD)
    assert row["value"] == "homeworld: Tal [1m or Osk"
    said["value"] = "x" * 2_000
    write_partition(lake, ENTITY_FACTS, "Species", [statement(ENTITY_FACTS, **said, is_disputed=True)])
    row = decide_statement(lake, "reject", statement_id="a" * 32, **WORD)
    assert len(row["value"]) == 1_000, "an import takes no longer one"


def test_a_statement_that_is_not_known_is_refused(lake: Lake) -> None:
    for named in ("", "fffffff", "e" * 32):
        with pytest.raises(DecisionError, match="no fact or relation has the id"):
            named_statement(lake, named)


def test_the_start_of_an_id_that_is_too_short_is_refused_with_the_length_that_it_needs(lake: Lake) -> None:
    needed = "the start of an id needs 8 characters or more"
    with pytest.raises(DecisionError, match=f"has the id 'fca'; {needed}"):
        named_statement(lake, "fca")
    with pytest.raises(DecisionError, match=f"is called '33fd8b8'; {needed}"):
        named_entity(lake, "33fd8b8")
    with pytest.raises(DecisionError, match=r"is called 'Nobody'\. `holocron page`"):
        named_entity(lake, "Nobody")


def test_the_start_of_an_id_that_several_statements_share_lists_them(lake: Lake) -> None:
    facts = [
        statement(
            ENTITY_FACTS,
            fact_id="a" * 10 + last,
            entity_id="one",
            fact_key="homeworld",
            value=last,
            is_disputed=True,
        )
        for last in "12"
    ]
    write_partition(lake, ENTITY_FACTS, "Species", facts)
    with pytest.raises(DecisionError, match=r"'aaaaaaaa' may be aaaaaaaaaa1 \(Varn, homeworld: 1\); aaa"):
        named_statement(lake, "a" * 8)


def test_a_decision_about_what_is_no_more_in_the_lake_still_stands(lake: Lake) -> None:
    row = new_decision("split", entity_id="gone", other_id=known_as("Varn"), author="ada", reason="x")
    record(lake, [row])
    merge(lake, "Varn", "Gort")
    assert len(standing(lake).pairs) == 2
