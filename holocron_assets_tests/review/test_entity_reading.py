"""What an entity's page is made of for readers: claims, the timeline, the summary, and mentions."""

from pathlib import Path
from typing import Any

import pytest
from review_lake import BATCH, NEM, OSK, PERSON, SOURCE, copied, fact, write

from holocron_assets.derive.interrogations.loading import derived_tables
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_FACTS, ENTITY_RELATIONS, PAGE_CHUNKS, SITES
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.review.claims import Claim, claims
from holocron_assets.review.entity_detail import EntityDetail, entity_detail
from holocron_assets.review.statements import Statement, by_predicate
from holocron_assets.review.timeline import Event, timeline
from holocron_assets.review.web.relation_graph import relation_graph

_ANSWERS = {table.name: table for table in derived_tables()}


@pytest.fixture
def lake(made_review_lake: Lake, tmp_path: Path) -> Lake:
    return Lake(copied(made_review_lake, tmp_path).root, tuple(derived_tables()))


def detail_of(lake: Lake) -> EntityDetail:
    detail = entity_detail(lake, NEM)
    assert detail is not None
    return detail


def stated(key: str, value: str, **more: Any) -> Statement:
    """A fact of Nem Sixfinger that is stated."""
    row: dict[str, Any] = {"model": None, "qualifier": None, "unit": None, "calendar": None}
    row |= fact(f"fact-{key}-{value}", key, value, value, **more)
    is_disputed = row.get("is_disputed", False)
    return Statement(
        row, row["fact_id"], NEM, "Nem Sixfinger", key, value, None, row["status"], None, is_disputed
    )


def related(relation: str, to_name: str, **more: Any) -> Statement:
    """A relation of Nem Sixfinger to another entity."""
    row = {"title": "Nem Sixfinger", "evidence": to_name, "calendar": None, "qualifier": None, "work": None}
    row |= {"start_time": None, "end_time": None, "starts_from": None, "ends_to": None, **more}
    return Statement(
        row, f"{relation}-{to_name}", NEM, "Nem Sixfinger", relation, to_name, "id", "stated", None
    )


def of_one_key(*statements: Statement, open_ids: tuple[str, ...] = ()) -> list[Claim]:
    [found] = claims(by_predicate(statements), open_ids).values()
    return found


def test_what_two_say_alike_is_one_claim_that_names_both() -> None:
    said = [
        stated("species", "Human"),
        stated("species", "human", method="sentence"),
        stated("species", "Ossiri"),
    ]
    human, ossiri = of_one_key(*said)
    assert (human.text, human.said_by, len(human.statements)) == ("Human", ["infobox", "sentence"], 2)
    assert (ossiri.text, ossiri.said_by) == ("Ossiri", ["infobox"])


def test_a_model_is_named_and_a_status_is_named_unless_it_is_stated() -> None:
    [claim] = of_one_key(stated("rank", "Admiral", method="model", model="small:1b", status="accepted"))
    assert (claim.said_by, claim.statuses) == (["small:1b"], ["accepted"])
    [claim] = of_one_key(stated("rank", "Admiral"))
    assert claim.statuses == []


def test_a_claim_is_open_if_it_is_disputed_or_in_the_queue() -> None:
    calm, disputed = of_one_key(stated("born", "271 AF"), stated("born", "268 AF", is_disputed=True))
    assert [(one.is_open, one.is_disputed) for one in (calm, disputed)] == [(False, False), (True, True)]
    asked = stated("born", "271 AF")
    [claim] = of_one_key(asked, open_ids=(asked.statement_id,))
    assert (claim.is_open, claim.is_disputed) == (True, False)


def test_a_unit_or_a_time_that_is_written_already_is_not_repeated() -> None:
    assert stated("height", "1.9 meters", unit="meters").details == []
    assert stated("height", "1.9", unit="meters").details == ["meters"]
    times = {"start_time": "305 AF", "end_time": "313 AF"}
    assert related("leads", "Pell", **times).details == ["305 AF to 313 AF"]
    assert related("leads", "Pell", qualifier="305 AF-313 AF", **times).details == ["305 AF-313 AF"]


def test_a_timeline_is_in_the_order_of_each_calendar_and_the_real_world_comes_last() -> None:
    dates = [
        stated("released", "May 1977", calendar="gregorian", date_from=1977.33, date_to=1977.42),
        stated("died", "4 ABY", calendar="galactic", date_from=4.0, date_to=5.0),
        stated("species", "Human"),
        stated("born", "41 BBY", calendar="galactic", date_from=-42.0, date_to=-41.0),
        stated("vanished", "before 19 BBY", calendar="galactic", date_from=None, date_to=-20.0),
    ]
    eras = timeline(dates, [])
    assert [(era.calendar, [event.when for event in era.events]) for era in eras] == [
        ("galactic", ["41 BBY", "before 19 BBY", "4 ABY"]),
        ("gregorian", ["May 1977"]),
    ]


def test_a_relation_with_a_period_is_an_event_that_names_both_sides() -> None:
    period = {"calendar": "drift", "start_time": "305 AF", "end_time": None, "starts_from": 305.0}
    [era] = timeline([related("commanded_by", "Pell", **period)], [])
    [event] = era.events
    assert (event.when, event.what) == ("305 AF to ?", "Nem Sixfinger commanded by Pell")


def test_an_event_that_is_stated_twice_is_shown_once() -> None:
    twice = {"calendar": "drift", "date_from": 308.0, "date_to": 309.0}
    [era] = timeline([stated("died", "308 AF", **twice), stated("died", "308 af", **twice)], [])
    assert [event.when for event in era.events] == ["308 AF"]


def test_events_of_a_model_are_placed_by_the_words_of_their_dates_and_undated_ones_come_last() -> None:
    rows: list[dict[str, Any]] = [
        {"year": None, "date": "in her youth", "event": "learned chess"},
        {"year": 3, "date": "3 BF", "event": "left home"},
        {"year": 7, "date": "the seventh tide", "event": "came back"},
    ]
    told = [{**row, "evidence": "her words", "told_by": "Nem Sixfinger"} for row in rows]
    dated = stated("born", "20 BF", calendar="drift", date_from=-21.0, date_to=-20.0)
    drift, unknown = timeline([dated], told)
    assert drift.calendar == "drift"
    assert [event.what for event in drift.events] == ["born", "left home"]
    assert [event.what for event in unknown.events] == ["came back", "learned chess"]
    assert unknown.events[1] == Event(
        None, float("inf"), "in her youth", "learned chess", "her words", "Nem Sixfinger"
    )


def test_events_of_a_model_are_placed_by_dates_in_the_language_of_the_wiki(lake: Lake) -> None:
    rows = [
        {"entity_id": NEM, "name": "Nem", "title": "Nem Sixfinger", "told_by": "Nem Sixfinger", **event}
        for event in (
            {"position": 0, "date": "5. Oktober 1907", "event": "kam zurück"},
            {"position": 1, "date": "3. März 1907", "event": "zog fort"},
        )
    ]
    write(lake, _ANSWERS["derived_entity_timeline"], PERSON, rows)
    write(lake, SITES, SOURCE, [{"namespaces": [], "extensions": [], "language": "de-at"}])
    [era] = (era for era in detail_of(lake).timeline if era.events[0].what == "zog fort")
    assert era.calendar == "gregorian"
    assert [event.what for event in era.events] == ["zog fort", "kam zurück"]


def chunk(title: str, position: int, text: str, *headings: str) -> dict[str, Any]:
    names = {"title": title, "passage_id": content_hash(f"{title} {position}"), "headings": list(headings)}
    return {**names, "position": position, "text": text, "end_offset": len(text)}


@pytest.mark.parametrize(("word", "kept"), [("Nem ", 104), ("帆", 418)])
def test_the_beginning_of_a_long_page_is_cut_also_without_spaces(lake: Lake, word: str, kept: int) -> None:
    write(lake, PAGE_CHUNKS, BATCH, [chunk("Nem Sixfinger", 0, word * 500)])
    summary = detail_of(lake).summary
    assert summary
    assert summary[0] == f"{(word * kept).strip()} …"


def test_an_entity_is_summed_up_by_facts_or_its_lead_or_a_model(lake: Lake) -> None:
    assert detail_of(lake).summary == ("homeworld Varn; species Saltback", "facts that are stated")

    write(lake, PAGE_CHUNKS, BATCH, [chunk("Nem Sixfinger", 0, "Nem sailed.\n\nShe drowned.")])
    assert detail_of(lake).summary == ("Nem sailed.", "the beginning of its page")

    told = {
        "entity_id": NEM,
        "name": "Nem",
        "title": "Nem Sixfinger",
        "summary": "A player.",
        "supported": True,
        "model": "small:1b",
    }
    write(lake, _ANSWERS["derived_entity_summary"], PERSON, [told])
    assert detail_of(lake).summary == ("A player.", "summed up by small:1b")


@pytest.mark.parametrize("supported", [True, False])
def test_an_entity_is_summed_up_by_what_other_pages_say_if_a_quote_is_theirs(
    lake: Lake, *, supported: bool
) -> None:
    told = {"entity_id": NEM, "name": "Nem", "title": "Nem Sixfinger", "summary": "A sailor."}
    rows = [{**told, "supported": supported, "model": "small:1b"}]
    write(lake, _ANSWERS["derived_mention_summary"], PERSON, rows)
    summary = detail_of(lake).summary
    assert summary is not None
    assert (summary.text == "A sailor.") is supported


def test_a_section_is_no_lead_and_a_long_lead_is_cut_after_a_word(lake: Lake) -> None:
    write(lake, PAGE_CHUNKS, BATCH, [chunk("Nem Sixfinger", 0, "A list of boats", "Boats")])
    assert detail_of(lake).summary == ("homeworld Varn; species Saltback", "facts that are stated")

    write(lake, PAGE_CHUNKS, BATCH, [chunk("Nem Sixfinger", 0, "boat " * 200)])
    summary = detail_of(lake).summary
    assert summary is not None
    assert summary.text.endswith("boat …")
    assert len(summary.text) <= 420


def test_what_a_model_tells_of_an_entity_is_in_its_timeline(lake: Lake) -> None:
    event = {
        "year": 3,
        "date": "3 AF",
        "event": "Won at chess",
        "evidence": "she won",
        "told_by": "Shoal-chess",
    }
    rows = [{"entity_id": NEM, "name": "Nem", "title": "Nem Sixfinger", **event}]
    write(lake, _ANSWERS["derived_entity_timeline"], PERSON, rows)
    [era] = detail_of(lake).timeline
    assert era == ("drift", [Event("drift", 3.0, "3 AF", "Won at chess", "she won", "Shoal-chess")])


def test_passages_of_other_pages_that_name_an_entity_are_shown_with_the_name_marked(lake: Lake) -> None:
    chunks = [
        chunk("Nem Sixfinger", 0, "Nem Sixfinger was a player."),
        chunk("Shoal-chess", 0, "A game of Nem Sixfinger's, played on boats."),
        chunk("Osk", 0, "Sixfinger and Nem were two sailors."),
        chunk("Old Quay", 0, "The inn was called the leaky compass."),
    ]
    write(lake, PAGE_CHUNKS, BATCH, chunks)
    assert detail_of(lake).mentions == [], "nothing is indexed yet"
    SearchIndex(lake).update()
    found = {one.row["title"]: one.pieces for one in detail_of(lake).mentions}
    assert found == {
        "Shoal-chess": [("A game of ", False), ("Nem Sixfinger", True), ("'s, played on boats.", False)],
        "Old Quay": [("The inn was called ", False), ("the leaky compass", True), (".", False)],
    }


def test_a_relation_that_another_page_says_bears_the_name_of_the_entity_it_is_of(lake: Lake) -> None:
    said = {"title": "Nem Sixfinger", "status": "stated", "method": "model", "to_name": "Nem Sixfinger"}
    period = {"calendar": "drift", "start_time": "305 AF", "starts_from": 305.0}
    between = {"from_id": OSK, "entity_type": "LocationPlace", "relation": "leads", "to_id": NEM}
    row = {"relation_id": "relation-osk", **between, **said, **period}
    write(lake, ENTITY_RELATIONS, "LocationPlace", [row])
    detail = detail_of(lake)
    [claim] = claims(by_predicate(detail.relations_to), detail.open_ids, of_others=True)["leads"]
    assert (claim.text, claim.other_id) == ("Osk", OSK)
    graph = relation_graph("Nem Sixfinger", NEM, [], detail.relations_to)
    assert graph is not None
    assert [node.name for group in graph.groups for node in group.nodes] == ["Osk"]
    [event] = [event for era in detail.timeline for event in era.events]
    assert event.what == "Osk leads Nem Sixfinger"
    other = entity_detail(lake, OSK)
    assert other is not None
    assert other.timeline == detail.timeline, "its own page says the same"


def test_a_disagreement_is_marked_on_the_timeline(lake: Lake) -> None:
    dated = {"calendar": "drift", "is_disputed": True, "date_to": 300.0}
    born = [
        fact("born-1", "born", "271 AF", "271 AF", date_from=271.0, **dated),
        fact("born-2", "born", "268 AF", "268 AF", date_from=268.0, **dated),
    ]
    write(lake, ENTITY_FACTS, PERSON, born)
    [era] = detail_of(lake).timeline
    assert [(event.when, event.is_disputed) for event in era.events] == [("268 AF", True), ("271 AF", True)]
