"""The pages that search and answer, as a browser gets them."""

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from embedded import embed, searched_sample
from starlette.testclient import TestClient

from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval import search as searching
from holocron_assets.retrieval.search import Searcher
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk

if TYPE_CHECKING:
    from sample_holocron import Holocron

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def lake(finished_sample: "Holocron", tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return searched_sample(finished_sample, tmp_path_factory.mktemp("pages"))


@pytest.fixture
def page(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser on this machine, with a space that needs no model server."""
    monkeypatch.setattr(searching, "Searcher", lambda lake: Searcher(lake, embed))
    searching._SEARCHERS.clear()  # noqa: SLF001 - those of other tests
    with TestClient(make_app(Desk(lake, "me", ())), base_url="http://127.0.0.1:8001") as client:
        yield client


def shown(page: TestClient, address: str) -> str:
    response = page.get(address)
    assert response.status_code == 200
    return html.unescape(response.text)


def test_a_hit_shows_its_passage_with_marks_and_why_it_ranks_there(page: TestClient) -> None:
    text = shown(page, "/search?q=tidal+barges")
    assert "<mark>tidal</mark> <mark>barges</mark>" in text
    assert "1. by words, 1. by meaning" in text


def test_a_hit_leads_to_its_entity_and_a_filter_narrows_the_search(page: TestClient) -> None:
    text = shown(page, "/search?q=Issa+Dorrane")
    assert 'class="row" href="/entity/' in text
    assert "type=VehicleCraft" in text
    narrowed = shown(page, "/search?q=Issa+Dorrane&type=VehicleCraft")
    assert narrowed.count('class="row"') < text.count('class="row"')
    assert 'class="badge chosen"' in narrowed


def test_a_filter_keeps_the_others_and_is_taken_away_alone(page: TestClient) -> None:
    narrowed = shown(page, "/search?q=Issa+Dorrane&type=VehicleCraft&type=PersonCharacter")
    both = "/search?q=Issa+Dorrane&type=VehicleCraft&type=PersonCharacter&continuity=canon"
    assert f'href="{both}"' in narrowed
    links = re.findall(r'class="badge chosen" href="([^"]*)"', shown(page, both))
    assert links == [
        "/search?q=Issa+Dorrane&continuity=canon",
        "/search?q=Issa+Dorrane&type=VehicleCraft&type=PersonCharacter",
    ]


def test_an_answer_shows_the_words_of_the_page(page: TestClient) -> None:
    text = shown(page, "/answer?q=Who+owned+the+Patient+Heron%3F")
    assert "<blockquote>" in text
    assert "Issa Dorrane" in text
    assert "revision 1227" in text


def test_a_question_that_nothing_answers_is_refused(page: TestClient) -> None:
    text = shown(page, "/answer?q=What+is+the+shoe+size+of+Issa+Dorrane%3F")
    assert "No answer: not in this wiki" in text
    assert "The nearest passages" in text


def test_what_is_searched_is_shown_as_text(page: TestClient) -> None:
    for address in ("/search", "/answer"):
        raw = page.get(address, params={"q": "<script>alert(1)</script> salt"}).text
        assert "<script>alert" not in raw
        assert "&lt;script&gt;alert" in raw


def test_an_empty_question_asks_for_one(page: TestClient) -> None:
    assert "Write a question about something that it names." in shown(page, "/answer?q=")
