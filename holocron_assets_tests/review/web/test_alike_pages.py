"""Items that are alike on the web: one page for all, its form, and the way back from one of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from alike_lake import (
    LISTED,
    LISTED_QUESTION,
    ODD_QUESTION,
    PLACE,
    PLANET_QUESTION,
    SCRIPT,
    SOURCE,
    SYSTEM_QUESTION,
    SYSTEMS,
    asked,
    write_types,
)
from proposals_lake import GLORB_QUESTION, proposals_lake
from review_lake import copied
from starlette.testclient import TestClient

from holocron_assets.decisions.log import all_decisions, standing
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.store import store_review
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk

pytestmark = pytest.mark.system

OSK = f"/item/page-{title_key(SOURCE, 'Osk system')}"
VARN = f"/item/page-{title_key(SOURCE, 'Varn system')}"


@pytest.fixture
def lake(made_alike_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_alike_lake, tmp_path)


@pytest.fixture
def page(lake: Lake) -> Iterator[TestClient]:
    desk = Desk(lake, "Ada", ("Concept", "Droid", PLACE))
    with TestClient(make_app(desk), base_url="http://127.0.0.1:8001", follow_redirects=False) as client:
        yield client


def address(lake: Lake, subject: str) -> str:
    return f"/item/{asked(lake, subject)['item_id']}"


def hidden(page: TestClient, where: str) -> dict[str, str]:
    """The hidden fields of the form that is shown last."""
    html = page.get(where).text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', html))
    assert "token" in fields
    return fields


def send(page: TestClient, where: str, **fields: str) -> str:
    """Send a form as its page would; gives where it leads to."""
    answer = page.post(where, data={**hidden(page, where), "author": "Bo", **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_the_queue_has_one_line_for_what_is_alike_and_its_page_leads_to_each(
    page: TestClient, lake: Lake
) -> None:
    html = page.get("/").text
    where = address(lake, SYSTEM_QUESTION)
    assert html.count(SYSTEM_QUESTION) == 1
    assert where in html
    assert OSK not in html
    shown = page.get(where).text
    members = [f"/item/page-{title_key(SOURCE, title)}" for title in SYSTEMS]
    assert all(f'href="{member}"' in shown for member in members)
    assert "One of 3 that are alike" in page.get(OSK).text
    assert f'href="{where}"' in page.get(OSK).text


@pytest.mark.parametrize("of_all", [False, True], ids=["queue", "question"])
def test_a_template_of_the_wiki_becomes_no_markup(page: TestClient, lake: Lake, *, of_all: bool) -> None:
    html = page.get(address(lake, ODD_QUESTION) if of_all else "/").text
    assert SCRIPT not in html
    assert SCRIPT.replace("<", "&lt;").replace(">", "&gt;") in html


def test_an_answer_decides_all_and_one_undo_takes_all_back(page: TestClient, lake: Lake) -> None:
    where = address(lake, SYSTEM_QUESTION)
    after = send(page, where, choice=f"classify.{PLACE}", reason="All are")
    made = all_decisions(lake)
    assert {(row["title"], row["value"], row["author"]) for row in made} == {
        (title, PLACE, "Bo") for title in SYSTEMS
    }
    assert "So are 2 more." in page.get(after).text
    assert page.get(where).status_code == 404
    assert "is not in the queue any more" in page.get(where).text

    fields = hidden(page, after)
    assert (fields["decision"], fields["back"]) == (made[0]["decision_id"], where)
    undone = page.post("/undo", data=fields)
    assert undone.headers["location"].startswith(f"{where}?undone=")
    assert "Taken back:" in page.get(undone.headers["location"]).text
    assert list(standing(lake).rows) == []


def test_another_type_is_chosen_for_all_from_the_list(page: TestClient, lake: Lake) -> None:
    send(page, address(lake, SYSTEM_QUESTION), choice="type", type="classify.Droid")
    assert [row["value"] for row in all_decisions(lake)] == ["Droid"] * len(SYSTEMS)


def test_what_only_lists_name_is_offered_no_type(page: TestClient, lake: Lake) -> None:
    assert "It is of this type" not in page.get(f"/entity/{entity_id(SOURCE, LISTED[0])}").text
    assert "All are of this type" not in page.get(address(lake, LISTED_QUESTION)).text


def test_all_of_a_promotion_are_promoted(page: TestClient, lake: Lake) -> None:
    send(page, address(lake, PLANET_QUESTION), choice="promote")
    assert [row["kind"] for row in all_decisions(lake)] == ["promote"] * 3
    assert {row["reason"] for row in all_decisions(lake)} == {
        f"It is what it is held for; one answer for {PLANET_QUESTION}"
    }


def test_a_form_that_showed_other_members_is_refused(page: TestClient, lake: Lake) -> None:
    where = address(lake, SYSTEM_QUESTION)
    before = hidden(page, where)
    send(page, OSK, choice="classify.Droid")
    late = page.post(where, data={**before, "choice": f"classify.{PLACE}", "author": "Bo"})
    assert (late.status_code, "other items are alike now" in late.text) == (409, True)
    assert [row["title"] for row in all_decisions(lake)] == ["Osk system"]


def test_a_form_that_showed_another_proposed_type_is_refused(page: TestClient, lake: Lake) -> None:
    where = address(lake, SYSTEM_QUESTION)
    before = hidden(page, where)
    write_types(lake, rules_type="Droid")
    store_review(lake, SOURCE)
    late = page.post(where, data={**before, "choice": f"classify.{PLACE}", "author": "Bo"})
    assert (late.status_code, "the machines say otherwise" in late.text) == (404, True)
    assert list(all_decisions(lake)) == []


def test_a_form_that_does_not_say_what_it_showed_is_refused(page: TestClient, lake: Lake) -> None:
    where = address(lake, SYSTEM_QUESTION)
    fields = {"token": hidden(page, where)["token"], "choice": f"classify.{PLACE}", "author": "Bo"}
    assert page.post(where, data=fields).status_code == 409
    assert list(all_decisions(lake)) == []


def test_one_that_is_decided_alone_leads_back_to_what_is_left(page: TestClient, lake: Lake) -> None:
    where = address(lake, SYSTEM_QUESTION)
    after = send(page, OSK, choice="classify.Droid")
    assert after.startswith(f"{where}?done=")
    assert SYSTEM_QUESTION.replace("3", "2") in page.get(after).text
    last = send(page, VARN, choice="classify.Droid")
    rothe = f"/item/page-{title_key(SOURCE, 'Rothe system')}"
    assert last.startswith(f"{rothe}?done=")
    assert "that are alike" not in page.get(last).text


def test_what_is_not_alike_is_asked_one_by_one_from_its_first(page: TestClient, lake: Lake) -> None:
    where, first = address(lake, SYSTEM_QUESTION), asked(lake, SYSTEM_QUESTION)["members"][0]
    after = send(page, where, choice="ungroup")
    assert after.startswith(f"/item/{first['item_id']}?done=")
    assert "one by one" in page.get(after).text
    html = page.get("/").text
    assert SYSTEM_QUESTION not in html
    assert OSK in html


def test_what_is_not_of_a_question_cannot_be_chosen(page: TestClient, lake: Lake) -> None:
    where = address(lake, SYSTEM_QUESTION)
    answer = page.post(where, data={**hidden(page, where), "choice": "promote", "author": "Bo"})
    assert answer.status_code == 400
    assert list(all_decisions(lake)) == []


def test_a_template_is_asked_about_once_and_the_next_page_says_how_many_pages_that_settled(
    tmp_path: Path,
) -> None:
    lake = proposals_lake(tmp_path / "proposals")
    desk = Desk(lake, "Ada", ("Concept", "Droid", PLACE))
    with TestClient(make_app(desk), base_url="http://127.0.0.1:8001", follow_redirects=False) as page:
        where = address(lake, GLORB_QUESTION)
        assert "Of all 14 articles: 8 by rules LocationPlace" in page.get(where).text
        assert 'href="/?kind=template"' in page.get("/").text
        after = page.get(send(page, where, choice=f"classify.{PLACE}")).text
        assert f"All articles with <bdi>Template:Glorb</bdi> are of type <strong>{PLACE}</strong>" in after
        assert "That settles 6 pages of the queue." in after
        gone = page.get(where)
        assert gone.status_code == 404
        assert "articles with the infobox &#39;Template:Glorb&#39; of sample are of type" in gone.text
    [row] = all_decisions(lake)
    assert (row["kind"], row["author"]) == ("template", "Bo")
