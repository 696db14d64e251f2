"""What two pages say of both, beside their names: shown with the pair, and against it if it contradicts."""

from pathlib import Path
from typing import Any

import pytest
from resolved_wiki import Seen, Wiki

from holocron_assets.entities.identity import pair_store
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system


def fact(key: str, value: str, **columns: Any) -> Row:
    return {"kind": "fact", "key": key, "value": value, **columns}


def year(key: str, value: int) -> Row:
    dated = {"calendar": "galactic", "date_from": float(value), "date_to": value + 1.0}
    return fact(key, f"{value} ABY", is_single=True, **dated)


def relation(key: str, target: str) -> Row:
    return {"kind": "relation", "key": key, "value": target, "target": target}


def pair_of(folder: Path, one: tuple[Row, ...], other: tuple[Row, ...], languages: str = "en en") -> Row:
    """The only pair of two wikis that have one page each, of one name."""
    wikis = [Wiki(Lake(folder), source=name) for name in ("one", "two")]
    for wiki, facts, language in zip(wikis, (one, other), languages.split(), strict=True):
        wiki.says_its_language(language)
        wiki.crawl(Seen("Varn", 1, facts=facts))
    wikis[0].resolve_all()
    assert wikis[0].stale() == []
    (row,) = wikis[0].query("select verdict, reason, evidence from lake.entity_pairs")
    return {**row, "evidence": {each["name"]: each["value"] for each in row["evidence"]}}


def test_facts_and_relations_that_agree_are_evidence_and_are_named(tmp_path: Path) -> None:
    one = (year("born", 4), fact("gender", "Male"), fact("eyes", "blue"), relation("homeworld", "Thuum"))
    other = (year("born", 4), fact("gender", "male"), fact("eyes", "red"), relation("homeworld", "Thuum"))
    row = pair_of(tmp_path, one, other)
    assert (row["verdict"], row["reason"]) == (
        "same",
        "both are called 'Varn'; both have the same born, gender",
    )
    assert row["evidence"] == {"name": 1.0, "targets": 1.0, "facts": 0.67}


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        (year("died", 4), year("died", 9), "died (4 ABY, 9 ABY)"),
        (
            fact("gender", "Male", is_single=True),
            fact("gender", "Female", is_single=True),
            "gender (Male, Female)",
        ),
        (
            fact("gender", "мужской", is_single=True),
            fact("gender", "женский", is_single=True),
            "gender (мужской, женский)",
        ),
        (
            fact("gender", "Männlich", is_single=True),
            fact("gender", "Weiblich", is_single=True),
            "gender (Männlich, Weiblich)",
        ),
        (
            fact("gender", "पुरुष", is_single=True),
            fact("gender", "स्त्री", is_single=True),
            "gender (पुरुष, स्त्री)",
        ),
    ],
)
def test_a_pair_that_facts_contradict_is_a_question(tmp_path: Path, one: Row, other: Row, named: str) -> None:
    row = pair_of(tmp_path, (one,), (other,))
    assert (row["verdict"], row["evidence"]["contradictions"]) == ("unsure", 0.33)
    assert row["reason"] == f"both are called 'Varn'; they contradict each other: {named}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((fact("eyes", "blue"),), (fact("eyes", "red"),)),
        (
            (fact("gender", "Male", is_single=True),),
            (fact("gender", "Masculine programming", is_single=True),),
        ),
        ((fact("gender", "男", is_single=True),), (fact("gender", "男性", is_single=True),)),
        ((fact("gender", "オス", is_single=True),), (fact("gender", "男性型", is_single=True),)),
        ((fact("gender", "ชาย", is_single=True),), (fact("gender", "เพศชาย", is_single=True),)),
        ((year("died", 4), year("died", 5)), (year("died", 5),)),
        ((year("died", 4),), (fact("died", "long ago", is_single=True),)),
        ((year("died", 4),), ({**year("died", 9), "calendar": "gregorian"},)),
    ],
)
def test_values_that_may_both_be_true_contradict_nothing(
    tmp_path: Path, one: tuple[Row, ...], other: tuple[Row, ...]
) -> None:
    assert pair_of(tmp_path, one, other)["verdict"] == "same"


def test_words_of_two_languages_are_not_compared_but_dates_are(tmp_path: Path) -> None:
    one = (fact("gender", "Male", is_single=True), year("born", 4), relation("homeworld", "Thuum"))
    other = (fact("gender", "Mann", is_single=True), year("born", 4), relation("homeworld", "Tuum"))
    row = pair_of(tmp_path, one, other, "en de")
    assert row["evidence"] == {"name": 1.0, "facts": 0.33}


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("isbn", "0-345-44610 7", ["same"]),
        ("isbn", "-", []),
        ("isbn", "—", []),
        ("imdb", "IMDb profile", []),
        ("wikidata", "unknown", []),
        ("databank", "luke-skywalker", ["same"]),
        ("databank", "see there", []),
        ("databank", "-", []),
    ],
)
def test_an_identifier_has_digits_or_is_a_word_of_a_key_of_peoples_own(
    tmp_path: Path, key: str, value: str, verdict: list[str]
) -> None:
    said = ({"kind": "external_id", "key": key, "value": value},)
    one, other = (Wiki(Lake(tmp_path), source=name) for name in ("one", "two"))
    one.crawl(Seen("Varn", 1, facts=said))
    other.crawl(Seen("Gort", 1, facts=said))
    one.resolve_all()
    assert verdicts(one) == verdict


def reasons(folder: Path, key: str, one: str, other: str) -> list[str]:
    """Why pages of two wikis and of two names are a pair, if they state these identifiers."""
    wikis = [Wiki(Lake(folder), source=name) for name in ("one", "two")]
    for wiki, name, value in zip(wikis, ("Varn", "Gort"), (one, other), strict=True):
        wiki.crawl(Seen(name, 1, facts=({"kind": "external_id", "key": key, "value": value},)))
    wikis[0].resolve_all()
    return [row["reason"] for row in wikis[0].query("select reason from lake.entity_pairs")]


@pytest.mark.parametrize(
    "value",
    [
        "0345446107 (paperback)",
        "(hardcover) 978-0-345-44610-7",
        "ISBN 0-345-44610-7 [US",
        "ISBN-13: 9780345446107",
        "isbn 10 0 345 44610 7",
        "978\u20130\u2013345\u201344610\u20137",
    ],
)
def test_a_books_number_is_one_however_pages_write_it(tmp_path: Path, value: str) -> None:
    assert reasons(tmp_path, "isbn", "0-345-44610-7", value) == ["both are isbn:9780345446107"]


@pytest.mark.parametrize(
    ("key", "value", "identifiers"),
    [
        ("isbn", "Ex 0-8044-2957-X (pbk)", ["isbn:9780804429573"]),
        ("issn", "ISSN 2049-363X", ["issn:2049363x"]),
        ("ean", "4 006381 333931", ["ean:4006381333931"]),
        ("isbn", "TBA 2023", []),
        ("isbn", "2 volumes", []),
        ("isbn", "0000000000", []),
        ("imdb", "tt0076759", ["imdb:tt0076759"]),
    ],
)
def test_a_number_is_its_digits_and_a_value_with_too_few_is_none(
    tmp_path: Path, key: str, value: str, identifiers: list[str]
) -> None:
    assert reasons(tmp_path, key, value, value) == [f"both are {each}" for each in identifiers]


def test_a_fact_that_changes_makes_the_pair_again(tmp_path: Path) -> None:
    assert pair_of(tmp_path, (year("died", 4),), (year("died", 4),))["verdict"] == "same"
    wiki = Wiki(Lake(tmp_path), 1, source="two")
    wiki.crawl(Seen("Varn", 1, revision_id=101, facts=(year("died", 9),)))
    assert wiki.stale() == ["Species"]
    wiki.resolve_all()
    assert verdicts(wiki) == ["unsure"]
    (said,) = wiki.query("select reason from lake.entity_judgements")
    assert "% likely by weights as shipped (always -1.0, name +1.0, contradictions -1.3)" in said["reason"]


def test_facts_that_other_code_reads_of_the_same_revision_make_the_pair_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    male, female = (fact("gender", word, is_single=True) for word in ("Male", "Female"))
    assert pair_of(tmp_path, (male,), (male,))["verdict"] == "same"
    wiki = Wiki(Lake(tmp_path), source="two")
    wiki.crawl(Seen("Varn", 1, facts=(female,)))
    assert wiki.stale() == []
    monkeypatch.setattr(pair_store, "FACT_READER_VERSION", "upgraded")
    assert wiki.stale() == ["Species"]
    wiki.resolve_all()
    assert verdicts(wiki) == ["unsure"]


def test_pairs_that_were_made_before_all_facts_were_read_anew_are_made_again(tmp_path: Path) -> None:
    male, female = (fact("gender", word, is_single=True) for word in ("Male", "Female"))
    for source in ("one", "two"):
        Wiki(Lake(tmp_path), source=source).crawl(Seen("Varn", 1, facts=(male,)), read_by="older")
    one, other = Wiki(Lake(tmp_path), source="one"), Wiki(Lake(tmp_path), source="two")
    one.crawl(Seen("Varn", 1, facts=(male,)))
    one.resolve_all()
    assert (one.stale(), verdicts(one)) == ([], ["same"])
    other.crawl(Seen("Varn", 1, facts=(female,)))
    assert one.stale() == ["Species"]
    one.resolve_all()
    assert (one.stale(), verdicts(one)) == ([], ["unsure"])


def verdicts(wiki: Wiki) -> list[str]:
    return [row["verdict"] for row in wiki.query("select verdict from lake.entity_pairs")]
