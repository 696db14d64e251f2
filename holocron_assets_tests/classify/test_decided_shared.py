"""A person's word on all articles with an infobox template, or of a category."""

from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from article_lake import article_lake
from pages_read import signals, typed
from review_lake import write

from holocron_assets.classify import decided_types
from holocron_assets.classify.decided_types import (
    DecidedTypes,
    decide_shared,
    read_decided_types,
    shared_title,
)
from holocron_assets.classify.merge import page_type_row
from holocron_assets.decisions.log import DecisionError, decided_now, new_decision, record, undo
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, PAGE_SIGNALS, SITES
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.lake.views.database import connect, query

PLACE = "LocationPlace"
STAR = {"infobox_template": "star_system"}
SAID: dict[str, Any] = {"author": "Ada", "reason": "I read some"}


def decision(kind: str, title: str, value: str = PLACE, source: str = "sample") -> Row:
    return new_decision(kind, source=source, title=title, value=value, **SAID)


def recorded(lake: Lake, *about: str, **more: str) -> Row:
    row = {**decision(*about, **more), "decided_at": decided_now(lake)}
    record(lake, [row])
    return row


def counting(page: Row, *decisions: Row) -> Row | None:
    return DecidedTypes(decisions).about(page, typed(page["title"], categories=page["categories"]))


def test_of_several_decisions_that_about_the_page_counts_then_that_about_its_template() -> None:
    page = signals("Vessa", **STAR, categories=["Moons"])
    moons = decision("category", "Category:Moons", "Species")
    systems = decision("template", "Template:Star system")
    own = {**decision("classify", "Vessa", "Droid"), "title_key": page["title_key"]}
    assert counting(page, moons, systems, own) == own
    assert counting(page, moons, systems) == systems
    assert counting(page, moons) == moons
    assert counting(page) is None


def test_a_category_counts_only_where_the_rules_leave_the_page_open() -> None:
    moons = decision("category", "Category:Moons", "Species")
    sure = typed("Vessa", infobox_template="Planet")
    assert sure["confidence"] > 0.8
    page = signals("Vessa", infobox_template="Planet", categories=["Moons"])
    assert DecidedTypes([moons]).about(page, sure) is None
    planets = decision("template", "Template:Planet", "Species")
    assert DecidedTypes([planets]).about(page, sure) == planets


def test_categories_that_contradict_each_other_settle_nothing() -> None:
    page = signals("Vessa", categories=["Moons", "Games"])
    moons, games = decision("category", "Category:Moons"), decision("category", "Category:Games", "Concept")
    assert counting(page, moons, games) is None
    assert counting(page, moons, {**games, "value": PLACE}) == moons


@pytest.mark.parametrize("no_article", [{"namespace": 10}, {"is_redirect": True}])
def test_a_template_says_nothing_of_what_is_no_article(no_article: dict[str, Any]) -> None:
    page = signals("Vessa", **STAR, **no_article)
    assert counting(page, decision("template", "Template:Star system")) is None


def test_the_reason_names_the_person_the_template_and_the_decision() -> None:
    page = signals("Vessa", **STAR)
    systems = decision("template", "Template:Star system")
    row = page_type_row(page, typed("Vessa"), "run", decision=counting(page, systems))
    assert (row["primary_type"], row["method"], row["confidence"]) == (PLACE, "person", 1.0)
    assert row["reason"].startswith("Ada decided on ")
    about = f"about all articles with Template:Star system (decision {systems['decision_id']})"
    assert row["reason"].endswith(f"{about}: I read some")


def test_only_batches_with_such_articles_get_the_decision(tmp_path: Path) -> None:
    star = {"title": "Vessa", **STAR}
    moon = {"title": "Thuum", "categories": ["Moons"]}
    lake = article_lake(
        tmp_path,
        sample_000001=[star],
        sample_000002=[moon],
        sample_000003=[
            {**star, "title": "Nal", "namespace": 10},
            {**moon, "title": "Osk", "is_redirect": True},
        ],
        other_000001=[star, moon],
    )
    systems = recorded(lake, "template", "Template:Star system")
    moons = recorded(lake, "category", "Category:Moons")
    own = recorded(lake, "classify", "Vessa")
    rows_of = read_decided_types(lake)
    assert [rows_of(name) for name in lake.partitions(PAGE_SIGNALS)] == [[], [own, systems], [moons], []]
    undo(lake, systems["decision_id"], author="Ada", reason="No")
    assert read_decided_types(lake)("sample-000001") == [own]


def test_a_batch_is_read_once_and_only_if_something_was_decided_in_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = article_lake(
        tmp_path, sample_000001=[{"title": "Vessa", **STAR}], other_000001=[{"title": "Vessa"}]
    )
    systems = recorded(lake, "template", "Template:Star system")
    assert read_decided_types(lake)("sample-000001") == [systems]
    monkeypatch.setattr(decided_types, "read_table", None)
    assert read_decided_types(lake)("sample-000001") == [systems]
    assert read_decided_types(lake)("other-000001") == []


@pytest.mark.parametrize("name", ["star system", "Star_system", "Template:star  system", " Star system "])
def test_a_template_is_known_however_the_name_is_written(tmp_path: Path, name: str) -> None:
    pages = [{"title": "Vessa", **STAR}, {"title": "Thuum", "infobox_template": "Star system"}]
    lake = article_lake(tmp_path, sample_000001=[*pages, {"title": "Osk"}], other_000001=[{"title": "Vessa"}])
    row, found = decide_shared(lake, "template", source=None, name=name, type_name=PLACE, **SAID)
    assert (row["title"], row["source"], row["value"]) == ("Template:Star system", "sample", PLACE)
    assert found == ("sample", 2, 2, "Template:Star system")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"type_name": "Robot"}, "'Robot' is no type of page"),
        ({"name": "Game"}, "no article has the infobox 'Template:Game': nothing can be decided"),
        ({"kind": "category"}, "no article is in 'Category:Star system'"),
        ({"source": "third"}, "no article of third has the infobox"),
        ({}, "other and sample have articles with 'Template:Star system': name one by --source"),
        ({"reason": " "}, "needs a reason"),
    ],
)
def test_what_cannot_be_decided_is_refused_and_leaves_nothing(
    tmp_path: Path, wrong: dict[str, Any], problem: str
) -> None:
    star = {"title": "Vessa", **STAR}
    lake = article_lake(tmp_path, sample_000001=[star], other_000001=[star])
    said = {"kind": "template", "source": None, "name": "Star system", "type_name": PLACE, **SAID}
    with pytest.raises(DecisionError, match=problem):
        decide_shared(lake, **{**said, **wrong})
    assert lake.partitions(DECISIONS) == []


def test_the_view_and_the_code_write_a_name_in_the_same_way(tmp_path: Path) -> None:
    names = ["moon", "Moon_of", "  a \t moon\x1f", "a\xa0moon", "éa", "жа", "1 a", "_", "a\x85\u2003b", "ßa"]
    pages = [{"title": f"T{place}", "categories": [name]} for place, name in enumerate(names)]
    lake = article_lake(tmp_path, sample_000001=pages)
    with connect(lake, relations=["shared_by_articles"]) as connection:
        found = query(connection, "select shared from shared_by_articles order by title")
    assert [row["shared"] for row in found] == [shared_title("category", name) for name in names]


@pytest.mark.parametrize("written", ["Pet", "Template:Pet", "template: pet", ":Template:Pet", " :pet"])
def test_a_template_may_be_named_with_its_namespace_as_a_wiki_takes_it(written: str) -> None:
    assert shared_title("template", written) == "Template:Pet"


def test_every_letter_has_the_same_capital_in_the_view_and_in_titles(tmp_path: Path) -> None:
    letters = filter(str.isalpha, map(chr, range(0x20000)))
    names = [normalize("NFC", f"{letter}a") for letter in letters if letter.upper() != letter]
    lake = article_lake(tmp_path, sample_000001=[{"title": "Vessa", "categories": names}])
    with connect(lake, relations=["shared_by_articles"]) as connection:
        found = query(connection, "select distinct shared from shared_by_articles")
    wanted = {DEFAULT_SITE.parse_title(f"Category:{name}").title for name in names}
    assert {row["shared"] for row in found} == wanted


def test_a_small_i_means_the_dotted_capital_where_the_wiki_has_one(tmp_path: Path) -> None:
    pages = [{"title": "Vessa", "infobox_template": "\u0130limiz"}]
    lake = article_lake(tmp_path, sample_000001=pages, other_000001=[{"title": "Osk"}])
    write(lake, SITES, "sample", [{"source": "sample", "namespaces": [], "language": "tr"}])
    row, _ = decide_shared(lake, "template", source=None, name="ilimiz", type_name=PLACE, **SAID)
    assert (row["source"], row["title"]) == ("sample", "Template:\u0130limiz")
    page = signals("Vessa", infobox_template="\u0130limiz")
    assert DecidedTypes([row]).about(page, typed("Vessa")) == row
