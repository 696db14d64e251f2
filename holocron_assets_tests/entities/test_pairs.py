"""Which records may be one thing, and which are."""

from collections.abc import Sequence
from operator import itemgetter
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.entities.identity.blocking import REACH
from holocron_assets.entities.identity.pairs import pair_rows
from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.entities.identity.records import Record
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITY_PAIRS

POLICY = load_identity_policy(DEFAULT_IDENTITY_FILE, {"PersonCharacter"})


def page(name: str, wiki: str = "one", **changes: Any) -> Record:
    """A record of a page; its id is wiki and title."""
    record = Record(
        entity_id=f"{wiki}:{name}",
        entity_type="Species",
        source=wiki,
        wiki=wiki,
        page_id=None,
        title=name,
        batch=f"{wiki}-000001",
        continuity="canon",
        origin="page",
        name=name,
        names=(),
        external_ids=(),
    )
    return record._replace(**changes)


def mention(name: str, wiki: str = "one", **changes: Any) -> Record:
    return page(name, wiki, entity_id=f"{wiki}:mention of {name}", origin="mention", **changes)


def rows_of(*records: Record) -> list[Row]:
    rows = pair_rows(records, POLICY)
    assert ENTITY_PAIRS.to_arrow(rows, "Species").num_rows == len(rows)
    return rows


def verdict(*records: Record) -> str:
    """What is made of the first two of the records; 'none' if they are no pair."""
    wanted = "+".join(sorted(record.entity_id for record in records[:2]))
    return next((row["verdict"] for row in rows_of(*records) if row["pair_id"] == wanted), "none")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (page("Varn"), page("varn", "two")),
        (page("Varn (moon)"), page("Varn", "two")),
        (page("Varn"), page("Gort", "two", names=("VARN",))),
        (page("Varn"), mention("Varn's")),
        (mention("Varn"), mention("Varn", "two")),
        (page("Varn", page_id=7), page("Gort", page_id=7, source="mirror")),
        (page("Varn", external_ids=("isbn:1",)), page("Gort", "two", external_ids=("isbn:1",))),
        (page("Varn pilot"), page("Varn pilots", "two")),
        (page("Varn battery"), mention("varn batteries")),
        (page("The Varnian"), page("Varnian", "two")),
        (page("Academy of Varn"), page("Varn Academy", "two")),
        (page("Nar Korvaddika"), page("Nar Korvadika", "two")),
        (page("Varn Academy IV"), page("Varn Academies 4", "two")),
        (page("Jet pack"), page("Jetpacks", "two")),
    ],
)
def test_these_are_the_same(one: Record, other: Record) -> None:
    assert verdict(one, other) == "same"
    assert verdict(other, one) == "same"


def test_a_misspelt_name_is_found_wherever_its_records_come() -> None:
    others = (page("Gort"), page("Tibb Hollow", "two"))
    [row] = rows_of(*others, page("Nar Korvaddika"), page("Nar Korvadika", "two"))
    assert (row["pair_id"], row["verdict"]) == ("one:Nar Korvaddika+two:Nar Korvadika", "same")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (page("Varn (moon)"), page("Varn (planet)", "two")),
        (page("Varn", names=("Old",)), page("Gort", "two", names=("old",))),
        (page("The Varnian"), page("Varnians", "two")),
        (page("Kavarn"), page("Kevarn", "two")),
        (page("Varn pilots (film)"), page("Varn pilot (novel)", "two")),
        (page("Grey Varn"), page("Gray Varn", "two")),
    ],
)
def test_about_these_nobody_but_a_person_can_be_sure(one: Record, other: Record) -> None:
    assert verdict(one, other) == "unsure"


def test_names_of_persons_have_no_plural_but_a_possessive() -> None:
    one, plural, possessive = (
        page(name, wiki, entity_type="PersonCharacter")
        for name, wiki in (("Bel Arno", "one"), ("Bel Arnos", "two"), ("Bel Arno's", "two"))
    )
    assert (verdict(one, plural), verdict(one, possessive)) == ("unsure", "same")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CT-7567", "CT-7568"),
        ("Varn Weekly issue 12", "Varn Weekly issue 13"),
        ("Varn Academy II", "Varn Academy III"),
        ("Class A Varn", "Class B Varn"),
        ("First Battle of Varn", "Second Battle of Varn"),
        ("Bel A. Arnokor", "Bel Arnokor"),
        ("Soldier (1)", "Soldier (2)"),
        ("Varn", "Varnax"),
        ("Matriarch", "Patriarch"),
        ("Varna", "Varnan"),
        ("Varn", "Vorn"),
        ("C", "C++"),
        ("C (language)", "C♯ (language)"),
        ("Varn Channel", "Varn Channel+"),
        ("세종대왕", "세조대왕"),
        ("???", "!!!"),
    ],
)
def test_these_are_no_pair(one: str, other: str) -> None:
    assert verdict(page(one), page(other, "two")) == "none"


@pytest.mark.parametrize("other", ["VARN", "Varns", "The Varn", "Varn (moon)", "Varns (moon)", "Varna"])
def test_pages_of_one_wiki_are_no_pair_by_their_names(other: str) -> None:
    assert rows_of(page("Varn"), page(other)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (page("Jak (Coruscanti)", names=("Jak",)), page("Jak (Nautolan)", names=("Jak",))),
        (page("Unidentified droid (Quell)", names=("Unidentified droid",)), page("Unidentified droid")),
        (page("Varn Weekly 12", names=("Varn Weekly",)), page("Varn Weekly (novel)")),
    ],
)
def test_pages_of_one_wiki_are_no_pair_by_what_their_infoboxes_call_them(one: Record, other: Record) -> None:
    assert rows_of(one, other) == []


BORN_AND_DIED = ("born=22 BBY; died=4 ABY",)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ({"external_ids": ("isbn:1",)}, {"external_ids": ("isbn:1",)}, "both have isbn:1"),
        (
            {"singled_out_by": BORN_AND_DIED},
            {"singled_out_by": BORN_AND_DIED},
            f"both have {BORN_AND_DIED[0]}",
        ),
        ({"to_merge": ("Varns",)}, {}, "a notice proposes to merge them"),
        ({}, {"to_merge": ("Varn",)}, "a notice proposes to merge them"),
        ({"to_merge": ("",)}, {}, "a notice proposes to merge them"),
    ],
)
def test_pages_of_one_wiki_are_asked_about_with_a_reason_beyond_the_name(
    one: dict[str, Any], other: dict[str, Any], reason: str
) -> None:
    (row,) = rows_of(page("Varn", **one), page("Varns", **other))
    assert (row["verdict"], row["reason"].rpartition("; ")[2]) == ("unsure", reason.rpartition("; ")[2])


def test_a_notice_makes_a_pair_of_pages_with_other_names_but_not_of_other_wikis() -> None:
    asked = page("Varn", to_merge=("Gort",))
    assert verdict(asked, page("Gort")) == "unsure"
    assert verdict(asked, page("Gort", "two")) == verdict(asked, page("Kettle")) == "none"


def test_a_notice_that_names_no_page_makes_no_pair_by_itself() -> None:
    assert rows_of(page("Varn", to_merge=("",)), page("Gort")) == []


def test_equal_facts_make_no_pair_of_pages_with_other_names() -> None:
    held: dict[str, Any] = {"singled_out_by": BORN_AND_DIED}
    assert rows_of(page("Varn", **held), page("Gort", **held)) == []


def test_a_work_and_its_parts_are_no_pair_though_they_have_one_identifier() -> None:
    series = page("Tales of Varn", external_ids=("isbn:1",))
    part = page("Tale of Varn", external_ids=("isbn:1",), related=("Tales of Varn",))
    assert rows_of(series, part) == []
    assert verdict(series, part._replace(related=())) == "unsure"


def test_twins_of_one_name_are_no_pair_by_their_facts() -> None:
    """A wiki's page and its Legends subpage, where one's continuity is not known."""
    held: dict[str, Any] = {"singled_out_by": BORN_AND_DIED}
    twin = page("Varn", title="Varn/Legends", entity_id="one:legends", continuity="unknown", **held)
    assert rows_of(page("Varn", **held), twin) == []


def test_one_article_more_is_a_change_though_both_have_one() -> None:
    (row,) = rows_of(page("Rise of the Varn"), page("The Rise of the Varn", "two"))
    assert (row["score"], row["reason"].rpartition(" ")[2]) == (1 - POLICY.fuzzy.default.article, "article")


def test_names_with_other_suffixes_are_one_name_with_other_suffixes() -> None:
    (row,) = rows_of(page("Varn (moon)"), page("varn (planet)", "two"))
    assert (row["method"], row["score"]) == ("exact", POLICY.exact["suffix"].score)


@pytest.mark.parametrize("called", [("Varn",), ("The Varn",), ("varns",), ("Varn", "Va rn", "Old Varn")])
def test_what_infoboxes_and_redirects_call_both_does_not_undo_other_suffixes(called: tuple[str, ...]) -> None:
    moon, planet = page("Varn (moon)", names=called), page("Varn (planet)", "two")
    for other in (planet, planet._replace(names=("Varn",))):
        assert verdict(moon, other) == "unsure"
    (row,) = rows_of(page("Varn (moon)", names=("Varn",)), planet)
    assert row["reason"] == "'Varn (moon)' and 'Varn (planet)' are one name"
    assert rows_of(page("Varn (1)", names=("Varn",)), page("Varn (2)", "two", names=("Varn",))) == []


@pytest.mark.parametrize("other", [page("Varn", "two"), mention("Varn"), page("Varn (moon)", "two")])
def test_what_it_is_called_keeps_a_name_with_a_suffix_one_with_the_bare_name(other: Record) -> None:
    assert verdict(page("Varn (moon)", names=("Varn", "Old Varn")), other) == "same"
    assert verdict(page("Varn (moon)", names=("Old Varn",)), page("Old Varn (city)", "two")) == "same"


def test_canon_and_legends_are_never_a_pair() -> None:
    assert rows_of(page("Varn"), page("Varn", "two", continuity="legends")) == []


@pytest.mark.parametrize("continuity", ["both", "real", "unknown"])
def test_what_is_not_known_to_be_of_the_other_continuity_may_be_one(continuity: str) -> None:
    (row,) = rows_of(page("Varn"), page("Varn", "two", continuity=continuity))
    assert (row["verdict"], row["continuity"]) == ("same", "canon")


def test_a_name_that_two_things_of_a_wiki_are_equally_like_is_of_neither_for_sure() -> None:
    sailor, pilot = page("Bel Arno (sailor)"), page("Bel Arno (pilot)")
    asked = mention("Bel Arno")
    assert verdict(asked, sailor) == "same"
    assert verdict(asked, sailor, pilot) == verdict(asked, pilot, sailor) == "unsure"
    assert "Bel Arno (pilot)" in next(
        row["reason"] for row in rows_of(asked, sailor, pilot) if sailor.entity_id in row["pair_id"]
    )


def test_a_name_that_is_one_things_alone_is_that_ones() -> None:
    assert verdict(mention("Bel Arno"), page("Bel Arno"), page("Bel Arno (pilot)")) == "same"
    assert verdict(mention("Varnians"), page("Varnian"), page("Varnian (language)")) == "same"


def test_of_twins_in_canon_and_legends_a_name_of_unknown_continuity_is_neither_for_sure() -> None:
    canon, legends = page("Varn"), page("Varn", entity_id="one:Varn/Legends", continuity="legends")
    assert verdict(mention("Varn", continuity="unknown"), canon) == "same"
    assert verdict(mention("Varn", continuity="unknown"), canon, legends) == "unsure"
    assert verdict(mention("Varn", continuity="canon"), canon, legends) == "same"


def test_the_best_reason_counts_where_there_are_several() -> None:
    (row,) = rows_of(page("Varn", names=("Old",)), page("Varn", "two", names=("Old", "Varns")))
    assert (row["reason"], row["score"], row["method"]) == ("both are called 'Varn'", 1.0, "exact")


def test_a_record_is_no_pair_with_itself() -> None:
    assert rows_of(page("Varn", names=("varn", "Varns"), external_ids=("isbn:1", "isbn:1"))) == []
    assert rows_of() == []


def test_of_a_name_that_very_many_share_only_neighbours_are_paired() -> None:
    many = [page("Soldier", f"{number:04}") for number in range(REACH * 10)]
    assert len(rows_of(*many[: REACH + 1])) == REACH * (REACH + 1) // 2
    assert len(rows_of(*many)) < REACH * len(many)


WORDS = st.sampled_from(
    ["Varn", "Varns", "the", "pilot", "pilots", "II", "7", "Korvadda", "Korvada", "(moon)"]
)
RECORDS = st.lists(
    st.builds(
        lambda words, wiki, continuity, origin: page(
            " ".join(words), wiki, continuity=continuity, origin=origin
        ),
        st.lists(WORDS, min_size=1, max_size=3),
        st.sampled_from(["one", "two"]),
        st.sampled_from(["canon", "legends", "unknown"]),
        st.sampled_from(["page", "mention"]),
    ),
    unique_by=lambda record: record.entity_id,
    max_size=REACH,
)


@settings(deadline=None, max_examples=60)
@given(RECORDS, st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(records: list[Record], shuffled: Any) -> None:
    other = list(records)
    shuffled.shuffle(other)
    assert pair_rows(records, POLICY) == pair_rows(other, POLICY)


@settings(deadline=None, max_examples=60)
@given(RECORDS, st.data())
def test_comparing_only_changed_entities_gives_what_comparing_all_gives(
    records: list[Record], data: st.DataObject
) -> None:
    changed = data.draw(st.sets(st.sampled_from(records))) if records else set()
    ids = {record.entity_id for record in changed}
    before = pair_rows([record for record in records if record.entity_id not in ids], POLICY)
    assert pair_rows(records, POLICY, changed=ids, kept=before) == pair_rows(records, POLICY)


def test_a_pair_becomes_unsure_when_a_rival_comes_and_sure_again_when_it_goes() -> None:
    asked, sailor, pilot = mention("Bel Arno"), page("Bel Arno (sailor)"), page("Bel Arno (pilot)")
    before = rows_of(asked, sailor)
    together = pair_rows([asked, sailor, pilot], POLICY, changed={pilot.entity_id}, kept=before)
    assert [row["verdict"] for row in together] == ["unsure", "unsure"]
    assert pair_rows([asked, sailor], POLICY, changed=set(), kept=together) == before


@pytest.mark.full
def test_two_hundred_thousand_records_take_seconds_and_a_thousand_changed_ones_less() -> None:
    records = many_records(200_000)
    changed = {record.entity_id for record in records[::200]}
    whole, rows = timed(records)
    less, again = timed(records, changed=changed, kept=rows)
    assert again == rows
    assert whole < 60
    assert less < whole


def many_records(number: int) -> Sequence[Record]:
    syllables = ["ka", "ro", "mi", "ten", "vel", "dar", "so", "quin", "la", "por", "zu", "ne"]
    base = len(syllables)

    def name(seed: int) -> str:
        return "".join(syllables[seed // base**power % base] for power in range(5)).capitalize()

    return [page(f"{name(place * 7 % 150_000)} {name(place)}", f"{place % 3}") for place in range(number)]


def timed(records: Sequence[Record], **how: Any) -> tuple[float, list[Row]]:
    started = process_time()
    rows = pair_rows(records, POLICY, **how)
    return process_time() - started, sorted(rows, key=itemgetter("pair_id"))
