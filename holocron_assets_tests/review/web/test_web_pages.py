"""The pages of `holocron web`, asked as a browser asks, without one."""

import re
import shutil
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha1, sha256
from html.parser import HTMLParser
from pathlib import Path
from threading import Barrier
from urllib.parse import quote

import pytest
from review_lake import (
    ALSO_NEM,
    BATCH,
    HOSTILE,
    MENTIONED,
    NEM,
    OSK,
    PAIR,
    PERSON,
    QUAY,
    SOURCE,
    review_lake,
    write,
)
from starlette.testclient import TestClient

from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.decisions.log import all_decisions, undo
from holocron_assets.derive.interrogations.loading import derived_tables
from holocron_assets.entities.deciding import decide_merge, decide_split
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    FILE_LIST,
    FILE_USES,
    FILES,
    PAGE_CHUNKS,
    PAGE_TYPES,
    PAGES,
    UNREAD_PAGES,
)
from holocron_assets.lake.tracebacks import keep_tracebacks
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.review.store import store_review
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk

pytestmark = pytest.mark.system

HERE = "http://127.0.0.1:8001"
CHESS = f"/item/page-{title_key(SOURCE, 'Shoal-chess')}"
UNKNOWN = f"/item/page-{title_key(SOURCE, HOSTILE)}"
ITEMS = (
    CHESS,
    f"/item/page-{title_key(SOURCE, HOSTILE)}",
    f"/item/pair-{quote(PAIR)}",
    f"/item/entity-{QUAY}",
    f"/item/promotion-{OSK}",
    f"/item/statement-{NEM}.homeworld",
    "/item/statement-fact-rank",
)
ADDRESSES = ("/", *ITEMS, f"/entity/{NEM}", "/search?q=nem", f"/text/{BATCH}/{title_key(SOURCE, HOSTILE)}")


def browser(lake: Lake) -> TestClient:
    desk = Desk(lake, "Ada", ("Concept", "Droid", "WorkMedia"))
    return TestClient(make_app(desk), base_url=HERE, follow_redirects=False)


@pytest.fixture
def lake(tmp_path: Path, made_once: Path) -> Lake:
    shutil.copytree(made_once, tmp_path / "data")
    return Lake(tmp_path / "data")


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return review_lake(tmp_path_factory.mktemp("review")).root


@pytest.fixture
def page(lake: Lake) -> Iterator[TestClient]:
    with browser(lake) as client:
        yield client


class _Reader(HTMLParser):
    """Collects what a browser would see: elements by name, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader


def token_on(page: TestClient, address: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]+)"', page.get(address).text)
    assert found
    return found[1]


def hidden(page: TestClient, address: str) -> dict[str, str]:
    """The hidden fields of the form of a page."""
    return dict(re.findall(r'name="(token|shown)" value="([0-9a-f]+)"', page.get(address).text))


def send(page: TestClient, address: str, **fields: str) -> str:
    """Send a form as its page would; gives where it leads to."""
    answer = page.post(address, data={**hidden(page, address), **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


@pytest.mark.fault(6, "scripts in what a wiki wrote, on every web page")
@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_of_the_wiki_becomes_markup(page: TestClient, address: str) -> None:
    answer = page.get(address)
    assert answer.status_code == 200
    seen = read(answer.text)
    scripts = [attributes for tag, attributes in seen.elements if tag == "script"]
    assert scripts == [{"src": "/static/keys.js", "defer": None}]
    assert not {"img", "iframe", "style", "object", "base"} & {tag for tag, _ in seen.elements}
    names = {name for _, attributes in seen.elements for name in attributes}
    handlers = [name for name in names if name.startswith(("on", "style"))]
    assert handlers == []
    assert "\u202e" not in answer.text, "nothing turns the direction of the text next to it"


def test_a_hostile_title_is_shown_as_it_is_written(page: TestClient) -> None:
    seen = read(page.get(f"/item/page-{title_key(SOURCE, HOSTILE)}").text)
    assert HOSTILE.replace("\u202e", "\ufffd") in seen.text
    assert "<img src=x onerror=alert(2)>" in seen.text


def test_an_unsure_page_shows_what_the_learned_model_says_and_why(page: TestClient) -> None:
    text = " ".join(read(page.get(CHESS).text).text.split())
    said = text.partition("What the learned model says ")[2]
    assert said.startswith("WorkMedia 0.93; next Concept, 0.05 ")
    assert "for it title word: chess against it link: " in said


def test_the_queue_shows_the_most_important_first_and_can_be_filtered(page: TestClient) -> None:
    html = page.get("/").text
    rows = [
        attributes["href"] or "" for _, attributes in read(html).elements if attributes.get("class") == "row"
    ]
    assert sorted(rows) == sorted(address.replace("%2B", "+") for address in ITEMS)
    only = page.get("/?kind=statement").text
    assert {address for address in ITEMS if address in only} == set(ITEMS[-2:])
    assert "Nothing of this kind is open." in page.get("/?kind=page&source=another").text


def test_a_decision_leads_to_the_next_item_and_can_be_undone_there(page: TestClient, lake: Lake) -> None:
    address = send(page, CHESS, choice="classify.WorkMedia", reason="It is sold", author="Bo")
    (row,) = all_decisions(lake)
    assert (row["value"], row["author"], row["reason"]) == ("WorkMedia", "Bo", "It is sold")
    assert address.startswith("/item/")
    html = page.get(address).text
    assert "Recorded:" in html
    assert 'value="Bo"' in html, "who decided is remembered"
    assert page.get(CHESS).status_code == 404, "it left the queue"

    fields = {"token": token_on(page, address)}
    undone = page.post(
        "/undo", data={**fields, "decision": row["decision_id"], "back": CHESS, "author": "Bo"}
    )
    assert undone.headers["location"].startswith(CHESS)
    assert "Taken back:" in page.get(undone.headers["location"]).text
    assert [line["kind"] for line in all_decisions(lake)] == ["classify", "undo"]


def test_who_undoes_an_answer_after_the_queue_was_made_anew_is_told_so_on_a_page_that_is_found(
    page: TestClient, lake: Lake
) -> None:
    after = send(page, f"{CHESS}?kind=page", choice="classify.WorkMedia", author="Bo")
    store_review(lake, SOURCE)
    decision = all_decisions(lake)[0]["decision_id"]
    fields = {"token": token_on(page, after), "decision": decision, "back": f"{CHESS}?kind=page"}
    undone = page.post("/undo", data=fields).headers["location"]
    queue = page.get(undone).headers["location"]
    assert queue == f"/?kind=page&undone={decision}"
    shown = page.get(queue)
    assert shown.status_code == 200
    for said in ("Taken back:", "asked again after the next"):
        assert said in shown.text
    store_review(lake, SOURCE)
    assert page.get(undone).status_code == 200, "it is asked again"
    send(page, CHESS, choice="classify.Droid", author="Ada")
    answered = page.get(undone)
    assert (answered.status_code, "Ada decided on" in answered.text) == (404, True)


def test_an_empty_reason_is_the_one_that_the_button_stands_for(page: TestClient, lake: Lake) -> None:
    send(page, f"/item/pair-{quote(PAIR)}", choice="split", reason=" ", author="Ada")
    assert all_decisions(lake)[0]["reason"] == "They are two things"


def test_who_decides_is_remembered_also_when_a_link_of_another_site_is_followed(page: TestClient) -> None:
    fields = {**hidden(page, CHESS), "choice": "classify.Droid", "author": "Bo"}
    cookie = page.post(CHESS, data=fields).headers["set-cookie"].lower()
    assert cookie.startswith("holocron-author=bo;")
    assert ("httponly" in cookie, "samesite=lax" in cookie) == (True, True)


def test_a_type_is_chosen_from_the_list(page: TestClient, lake: Lake) -> None:
    send(page, CHESS, choice="type", type="classify.Droid", author="Ada")
    assert all_decisions(lake)[0]["value"] == "Droid"


def test_what_cannot_be_chosen_is_refused(page: TestClient, lake: Lake) -> None:
    for choice in ("merge", "classify.Nothing", "", "accept.fact-varn"):
        answer = page.post(CHESS, data={**hidden(page, CHESS), "choice": choice, "author": "Ada"})
        assert answer.status_code == 400
    assert list(all_decisions(lake)) == []


def test_an_item_shows_what_failed_about_its_page_with_the_traceback_folded(
    page: TestClient, lake: Lake
) -> None:
    assert "What failed" not in page.get(CHESS).text
    key, scope = title_key(SOURCE, "Shoal-chess"), f"{BATCH}-page_facts"
    keep_tracebacks(lake, scope, "page_facts", {str(key): "Traceback:\n  <b>parser.py</b>\nValueError: odd"})
    assert "What failed" not in page.get(CHESS).text, "it was read since"
    row = {"title": "Shoal-chess", "scope": scope, "step": "page_facts", "error": "Shoal-chess: odd"}
    write(lake, UNREAD_PAGES, scope, [row])
    html = page.get(CHESS).text
    assert "<bdi>Shoal-chess: odd</bdi></summary><pre>Traceback:\n  &lt;b&gt;parser.py&lt;/b&gt;" in html
    assert "What failed" not in page.get(f"/item/entity-{QUAY}").text


def test_an_item_shows_why_a_file_of_its_page_failed(page: TestClient, lake: Lake) -> None:
    put_file(lake, "File:Nem.png", b"", "image/png")
    [row] = read_partition(lake, FILES, "files-000001")
    failed = {**row, "status": "failed", "sha256": None, "error": "File:Nem.png: the connection broke"}
    write_partition(lake, FILES, "files-000001", [failed])
    keep_tracebacks(lake, "files-000001", "files", {str(row["artifact_key"]): "Traceback:\nReadError"})
    shown = page.get(f"/item/pair-{quote(PAIR)}").text
    assert "<bdi>File:Nem.png: the connection broke</bdi></summary><pre>Traceback:\nReadError</pre>" in shown
    assert "What failed" not in page.get(CHESS).text, "its page does not show that file"


def test_for_an_item_that_somebody_else_decided_meanwhile_the_page_says_so(
    page: TestClient, lake: Lake
) -> None:
    shown = hidden(page, CHESS)
    send(page, CHESS, choice="classify.Droid", author="Ada")
    late = page.post(CHESS, data={**shown, "choice": "classify.WorkMedia", "author": "Bo"})
    assert late.status_code == 404
    assert "Ada decided on" in late.text
    assert "is of type Droid" in late.text
    assert len(all_decisions(lake)) == 1


def test_an_entity_shows_where_each_fact_comes_from(page: TestClient) -> None:
    seen = read(page.get(f"/entity/{NEM}").text)
    for expected in (
        "Varn",
        "later [[Rothe]]",
        "generic:field",
        "revision 7",
        "the page does not have these words",
    ):
        assert expected in seen.text
    links = [attributes.get("href") or "" for tag, attributes in seen.elements if tag == "a"]
    text = next(link for link in links if link.startswith("/text/") and "words" in link)
    assert "<mark" in page.get(text).text


def test_the_text_of_a_page_marks_what_was_read_between_two_offsets(page: TestClient) -> None:
    address = f"/text/{BATCH}/{title_key(SOURCE, 'Nem Sixfinger')}"
    text = page.get(f"{address}?start=18&end=31&words=Varn").text
    assert re.findall("<mark[^>]*>([^<]*)</mark>", text) == ["Nem Sixfinger"]
    for end in ("2000000", "9" * 5000):
        answer = page.get(f"{address}?start=18&end={end}")
        assert (answer.status_code, "<mark" in answer.text) == (200, False)


def claims_on(page: TestClient, address: str) -> dict[str, bool]:
    """The claims of an entity's page by the id of their first statement, and whether each is shown open."""
    seen = read(page.get(address).text).elements
    places = [
        place for place, (tag, names) in enumerate(seen) if (tag, names.get("class")) == ("details", "claim")
    ]
    first = {place: next(names["id"] for tag, names in seen[place:] if tag == "li") for place in places}
    return {first[place] or "": "open" in seen[place][1] for place in places}


def test_evidence_and_verdicts_are_open_where_a_person_is_asked_and_elsewhere_on_demand(
    page: TestClient,
) -> None:
    address = f"/entity/{NEM}"
    asked = {"fact-varn": True, "fact-rothe": True, "fact-rank": True}
    assert claims_on(page, address) == asked | {"fact-species": False, "relation-heron": False}
    assert 'value="reject.fact-species"' in page.get(address).text
    send(page, address, choice="accept.fact-varn", author="Ada")
    assert claims_on(page, address) == {
        name: name == "fact-rank" for name in [*asked, "fact-species", "relation-heron"]
    }


def test_what_a_wiki_says_is_text_wherever_an_entitys_page_shows_it(lake: Lake) -> None:
    told = {table.name: table for table in derived_tables()}
    nem = {"entity_id": NEM, "name": HOSTILE, "title": HOSTILE, "evidence": HOSTILE}
    event = {"date": HOSTILE, "event": HOSTILE, "told_by": HOSTILE}
    write(lake, told["derived_entity_timeline"], PERSON, [{**nem, **event}])
    write(lake, told["derived_entity_summary"], PERSON, [{**nem, "summary": HOSTILE}])
    related = {
        "relation_id": "r",
        "relation": HOSTILE,
        "status": "stated",
        "evidence": HOSTILE,
        "title": HOSTILE,
    }
    sides = [
        {"relation_id": "to", "from_id": NEM, "to_id": OSK, "to_name": HOSTILE},
        {"relation_id": "from", "from_id": QUAY, "to_id": NEM, "to_name": "Nem"},
    ]
    write(lake, ENTITY_RELATIONS, PERSON, [{**related, **side} for side in sides])
    naming = {"title": HOSTILE, "headings": [HOSTILE], "text": f"Nem Sixfinger, {HOSTILE}", "passage_id": "p"}
    write(lake, PAGE_CHUNKS, BATCH, [naming])
    answering = Lake(lake.root, tuple(derived_tables()))
    SearchIndex(answering).update()
    with browser(answering) as page:
        answer = page.get(f"/entity/{NEM}")
    seen = read(answer.text)
    places = ("lead", "graph", "timeline", "passage")
    shown = {str(names.get("class")) for _, names in seen.elements}
    assert set(places) <= shown
    assert seen.text.count("<script>alert(1)</script>") > len(places)
    assert [names for tag, names in seen.elements if tag == "script"] == [
        {"src": "/static/keys.js", "defer": None}
    ]
    assert "\u202e" not in answer.text
    assert not [name for _, names in seen.elements for name in names if name.startswith(("on", "style"))]


def test_the_picture_of_relations_leads_to_the_neighbours(page: TestClient, lake: Lake) -> None:
    sides = {"relation_id": "r", "from_id": NEM, "relation": "knows", "to_id": OSK, "to_name": "Osk"}
    write(lake, ENTITY_RELATIONS, PERSON, [{**sides, "title": "Nem Sixfinger", "status": "stated"}])
    for here, there in ((NEM, OSK), (OSK, NEM)):
        picture = page.get(f"/entity/{here}").text.partition("<svg")[2].partition("</svg>")[0]
        assert [names["href"] for tag, names in read(picture).elements if tag == "a"] == [f"/entity/{there}"]


def test_a_fact_is_accepted_on_the_entitys_page(page: TestClient, lake: Lake) -> None:
    address = send(page, f"/entity/{NEM}", choice="accept.fact-varn", author="Ada")
    html = page.get(address).text
    assert 'class="badge accepted"' in html
    assert 'value="accept.fact-varn"' not in html, "it cannot be accepted twice"
    assert all_decisions(lake)[0]["statement_id"] == "fact-varn"


@pytest.mark.parametrize(
    ("decided", "stale"),
    [
        ("suppress", "promote"),
        ("accept.fact-varn", "reject.fact-varn"),
        ("classify.Droid", "classify.Concept"),
    ],
)
def test_a_form_that_shows_what_was_decided_otherwise_since_overrules_nobody(
    page: TestClient, lake: Lake, decided: str, stale: str
) -> None:
    address = f"/entity/{NEM}"
    shown = hidden(page, address)
    send(page, address, choice=decided, author="Ada")
    answer = page.post(address, data={**shown, "choice": stale, "author": "Bo"})
    assert answer.status_code == 409
    assert "Nothing was recorded: the entity, or what people decided about it" in answer.text
    assert [row["author"] for row in all_decisions(lake)] == ["Ada"]
    send(page, address, choice=stale, author="Bo")
    assert [row["author"] for row in all_decisions(lake)] == ["Ada", "Bo"], "who saw it may overrule it"


def test_an_older_form_about_disputed_values_overrules_no_rejection_of_another_person(
    page: TestClient, lake: Lake
) -> None:
    facts = read_partition(lake, ENTITY_FACTS, PERSON)
    third = next({**row, "fact_id": "fact-osk", "value": "Osk"} for row in facts if row["value"] == "Varn")
    write_partition(lake, ENTITY_FACTS, PERSON, [*facts, third])
    store_review(lake, SOURCE)
    address = f"/item/statement-{NEM}.homeworld"
    shown = hidden(page, address)
    send(page, address, choice="reject.fact-osk", author="Ada")
    answer = page.post(address, data={**shown, "choice": "accept.fact-osk", "author": "Bo"})
    assert answer.status_code == 409
    assert "Nothing was recorded: the item, or what people decided about it" in answer.text
    assert [row["author"] for row in all_decisions(lake)] == ["Ada"]
    send(page, address, choice="accept.fact-osk", author="Bo")
    assert [row["author"] for row in all_decisions(lake)] == ["Ada", "Bo"], "who saw it may overrule it"


def test_a_form_about_another_page_that_had_the_title_is_refused(page: TestClient, lake: Lake) -> None:
    shown = hidden(page, CHESS)
    types = read_partition(lake, PAGE_TYPES, BATCH)
    write_partition(lake, PAGE_TYPES, BATCH, [{**row, "page_id": place} for place, row in enumerate(types)])
    store_review(lake, SOURCE)
    assert page.post(CHESS, data={**shown, "choice": "classify.WorkMedia"}).status_code == 409
    assert list(all_decisions(lake)) == []


def test_a_form_that_shows_a_decision_that_was_taken_back_since_is_refused(
    page: TestClient, lake: Lake
) -> None:
    address = f"/entity/{NEM}"
    send(page, address, choice="promote", author="Ada")
    shown = hidden(page, address)
    address_undone(page, lake)
    answer = page.post(address, data={**shown, "choice": "accept.fact-varn", "author": "Bo"})
    assert answer.status_code == 409


def test_a_member_of_a_cluster_is_split_off(page: TestClient, lake: Lake) -> None:
    send(page, f"/entity/{NEM}", choice=f"split.{MENTIONED}", author="Ada")
    (row,) = all_decisions(lake)
    assert {row["entity_id"], row["other_id"]} == {NEM, MENTIONED}


def test_a_merged_id_leads_to_the_entity_that_it_is_now(page: TestClient) -> None:
    answer = page.get(f"/entity/{MENTIONED}")
    assert answer.headers["location"].startswith(f"/entity/{NEM}?")
    assert "N. Sixfinger was merged into this entity" in read(page.get(answer.headers["location"]).text).text


def test_a_title_leads_to_its_entity_or_to_its_place_in_the_queue_or_to_its_text(page: TestClient) -> None:
    assert page.get("/page?title=Nem_Six-Finger").headers["location"] == f"/entity/{ALSO_NEM}"
    assert page.get("/page?title=Shoal-chess").headers["location"] == CHESS
    send(page, CHESS, choice="classify.Droid", author="Ada")
    text = f"/text/{BATCH}/{title_key(SOURCE, 'Shoal-chess')}"
    assert page.get(f"/page?title=Shoal-chess&source={SOURCE}").headers["location"] == text
    missing = page.get("/page?title=Nobody<b>")
    assert missing.status_code == 404
    assert "called &#39;Nobody&lt;b&gt;&#39;" in missing.text


def test_a_title_leads_to_its_own_page_before_an_entity_in_other_capitals(
    page: TestClient, lake: Lake
) -> None:
    text = put_page(lake, "OSK", 900)
    for address in ("/page?title=OSK", f"/page?title=OSK&source={SOURCE}"):
        assert page.get(address).headers["location"] == text
    assert page.get("/page?title=Osk").headers["location"] == f"/entity/{OSK}"
    text = put_page(lake, "Lamp War", 901)
    for address in ("/page?title=lamp war", f"/page?title=lamp war&source={SOURCE}"):
        assert page.get(address).headers["location"] == text


def test_an_entity_whose_page_is_gone_does_not_hide_a_new_page_of_its_title(
    page: TestClient, lake: Lake
) -> None:
    places = read_partition(lake, ENTITIES, "LocationPlace")
    write_partition(lake, ENTITIES, "LocationPlace", [{**row, "page_id": 105} for row in places])
    assert page.get("/page?title=Osk").headers["location"] == f"/entity/{OSK}"
    text = put_page(lake, "Osk", 900)
    assert page.get("/page?title=Osk").headers["location"] == text


def test_a_page_that_moved_while_its_form_was_open_gets_the_answer_and_what_came_to_its_title_gets_nothing(
    page: TestClient, lake: Lake
) -> None:
    types = read_partition(lake, PAGE_TYPES, BATCH)
    known = [{**row, "page_id": 100 if row["title"] == "Shoal-chess" else None} for row in types]
    write_partition(lake, PAGE_TYPES, BATCH, known)
    store_review(lake, SOURCE)
    shown = hidden(page, CHESS)
    put_page(lake, "Shoal-chess", 999)
    assert page.post(CHESS, data={**shown, "choice": "classify.WorkMedia"}).status_code == 303
    assert [row["page_id"] for row in all_decisions(lake)] == [100]
    assert CHESS not in page.get("/").text


def test_on_an_entitys_page_the_type_of_the_page_that_it_was_read_from_is_decided(
    page: TestClient, lake: Lake
) -> None:
    places = read_partition(lake, ENTITIES, "LocationPlace")
    write_partition(lake, ENTITIES, "LocationPlace", [{**row, "page_id": 105} for row in places])
    shown = hidden(page, f"/entity/{OSK}")
    put_page(lake, "Osk", 900)
    answer = page.post(f"/entity/{OSK}", data={**shown, "choice": "classify.Droid"})
    assert answer.status_code == 303
    assert [row["page_id"] for row in all_decisions(lake)] == [105]


def put_page(lake: Lake, title: str, page_id: int) -> str:
    """Put a page of which nothing is made into the lake, and give the address of its text."""
    named = {"title": title, "requested_title": title, "requested_key": title_key(SOURCE, title)}
    read_at = {"revision_at": utc_now(), "fetched_at": utc_now()}
    about = {"batch": "sample-000009", "page_id": page_id, "status": "ok", "wikitext": "A text."}
    write(lake, PAGES, "sample-000009", [{**named, **about, **read_at}])
    return f"/text/sample-000009/{title_key(SOURCE, title)}"


@pytest.mark.parametrize(
    ("address", "status", "expected"),
    [
        ("/nowhere", 404, "There is nothing at this address."),
        ("/undo", 405, "does not take such a request"),
        ("/item/none", 404, "not in the queue"),
        ("/entity/none", 404, "no entity of this id"),
        ("/text/..%2f..%2fetc/1", 404, "nothing at this address"),
        ("/text/sample-000001/none", 404, "no text of such a page"),
        (f"/text/sample-000001/{2**63}", 404, "no text of such a page"),
        (f"/text/sample-000001/{-(2**128)}", 404, "no text of such a page"),
        ("/text/a.b/1", 404, "no text of such a page"),
        ("/static/..%2fapp.py", 404, "nothing at this address"),
        ("/?page=99999999999999999999", 200, "Review queue"),
        ("/?page=-1&kind=none", 200, "Nothing of this kind"),
        ("/search?q=a", 200, "at least two letters"),
        ("/search?q=zzzz", 200, "Nothing was found for"),
    ],
)
def test_addresses_that_lead_nowhere_say_what_to_do(
    page: TestClient, address: str, status: int, expected: str
) -> None:
    answer = page.get(address)
    assert (answer.status_code, expected in read(answer.text).text) == (status, True), answer.text


def test_a_damaged_file_is_named_and_the_page_is_whole(lake: Lake) -> None:
    file = lake.file(PAGES, BATCH)
    file.write_bytes(b"no parquet")
    desk = Desk(lake, "Ada", ("Concept",))
    with TestClient(make_app(desk), base_url=HERE, raise_server_exceptions=False) as client:
        answer = client.get(CHESS)
    assert answer.status_code == 500
    assert str(file) in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


def test_what_fails_is_said_without_secrets(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file(PAGES, BATCH).write_bytes(b"no parquet")
    monkeypatch.setenv("SOME_TOKEN", BATCH)  # as an error of others may repeat one
    desk = Desk(lake, "Ada", ("Concept",))
    with TestClient(make_app(desk), base_url=HERE, raise_server_exceptions=False) as client:
        answer = client.get(CHESS)
    assert (answer.status_code, BATCH in answer.text, "***" in answer.text) == (500, False, True)


def test_what_fails_after_a_form_does_not_claim_that_nothing_was_recorded(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the disk")

    desk = Desk(lake, "Ada", ("Concept", "Droid"))
    with TestClient(make_app(desk), base_url=HERE, raise_server_exceptions=False) as client:
        shown = hidden(client, CHESS)
        monkeypatch.setattr(Desk, "decided", fail)
        answer = client.post(CHESS, data={**shown, "choice": "classify.Droid", "author": "Ada"})
    assert answer.status_code == 500
    assert len(all_decisions(lake)) == 1
    assert "may have been recorded: see `holocron decisions list`" in answer.text
    assert "Nothing was recorded" not in answer.text


@pytest.mark.parametrize("address", [CHESS, f"/entity/{NEM}"])
def test_an_author_of_any_script_is_recorded_and_remembered(
    page: TestClient, lake: Lake, address: str
) -> None:
    choice = "classify.Droid" if address == CHESS else "accept.fact-varn"
    after = send(page, address, choice=choice, author="Łukasz; 李")
    assert all_decisions(lake)[0]["author"] == "Łukasz; 李"
    assert 'value="Łukasz; 李"' in page.get(after).text


def test_undoing_keeps_what_the_queue_was_filtered_by(page: TestClient) -> None:
    after = send(page, f"{CHESS}?kind=page", choice="classify.Droid", author="Ada")
    form = {
        attributes["name"] or "": attributes["value"] or ""
        for tag, attributes in read(page.get(after).text).elements
        if tag == "input"
        and attributes.get("name") in {"token", "decision", "back"}
        and "value" in attributes
    }
    back = page.post("/undo", data={**form, "author": "Ada"}).headers["location"]
    assert back == f"{CHESS}?kind=page&undone={form['decision']}"
    assert "Taken back:" in page.get(back).text


def test_a_page_repeats_a_claim_of_its_address_only_if_it_is_true(page: TestClient) -> None:
    after = send(page, CHESS, choice="classify.Droid", author="Ada")
    decision = after.partition("done=")[2].partition("&")[0]
    assert "Taken back" not in page.get(f"/?undone={decision}").text
    assert "was merged into" not in page.get(f"/entity/{NEM}?was=Anything").text
    assert "was merged into" not in page.get(f"/entity/{NEM}?was={ALSO_NEM}").text


def test_of_a_page_of_unknown_type_none_is_chosen_by_default(page: TestClient, lake: Lake) -> None:
    rows = read_partition(lake, PAGE_TYPES, BATCH)
    for row in rows:
        if row["title"] == HOSTILE:
            row["primary_type"] = "Unknown"
    write_partition(lake, PAGE_TYPES, BATCH, rows)
    store_review(lake, SOURCE)
    by_itself = read(page.get(UNKNOWN).text).elements
    first = next(item for tag, item in by_itself if tag == "option")
    assert first["value"] == ""
    assert "disabled" in first
    given = {**hidden(page, UNKNOWN), "choice": "type", "author": "Ada"}
    answer = page.post(UNKNOWN, data=given)
    assert (answer.status_code, "Choose a type in the list first" in answer.text) == (400, True)
    assert list(all_decisions(lake)) == []


def test_the_other_of_a_pair_can_be_the_one_that_stays(page: TestClient, lake: Lake) -> None:
    address = f"/item/pair-{quote(PAIR)}"
    text = read(page.get(address).text).text
    assert "One thing: Nem Sixfinger stays" in text
    assert "One thing: Nem Six-Finger stays" in text
    send(page, address, choice=f"merge.{ALSO_NEM}", author="Ada")
    send(page, address_undone(page, lake), choice=f"merge.{NEM}", author="Ada")
    first, _, second = all_decisions(lake)
    assert (first["entity_id"], first["other_id"]) == (NEM, ALSO_NEM)
    assert (second["entity_id"], second["other_id"]) == (ALSO_NEM, NEM)


def test_a_merge_is_of_the_entities_that_its_button_named_or_is_refused_if_people_decided_about_them(
    page: TestClient, lake: Lake
) -> None:
    address = f"/item/pair-{quote(PAIR)}"
    stale, shown = hidden(page, address), read(page.get(address).text)
    first = next(item for tag, item in shown.elements if tag == "button" and item.get("data-key") == "m")
    assert "One thing: Nem Six-Finger stays" in shown.text
    send(page, f"/entity/{NEM}", choice="promote", author="Bo")  # by the rule, this one stays from now on
    choice = first["value"] or ""
    assert page.post(address, data={**stale, "choice": choice, "author": "Ada"}).status_code == 409
    send(page, address, choice=choice, author="Ada", reason="Seen")
    assert all_decisions(lake)[-1]["other_id"] == ALSO_NEM


def test_an_undo_that_later_decisions_contradict_is_refused_with_the_decision_to_undo_first(
    page: TestClient, lake: Lake
) -> None:
    said = {"author": "Ada", "reason": "I know"}
    merged = decide_merge(lake, gone=NEM, into=ALSO_NEM, **said)
    undone = undo(lake, merged["decision_id"], **said)
    apart = decide_split(lake, one=MENTIONED, other=ALSO_NEM, **said)
    decide_merge(lake, gone=MENTIONED, into=NEM, **said)
    token = token_on(page, f"/entity/{NEM}")
    answer = page.post("/undo", data={"token": token, "decision": undone["decision_id"]})
    assert answer.status_code == 409
    assert "Nothing was undone: Ada keeps" in answer.text
    assert f"undo decision {apart['decision_id']} first" in answer.text


def address_undone(page: TestClient, lake: Lake) -> str:
    """Undo the last decision; gives where it was made."""
    decision, back = all_decisions(lake)[-1]["decision_id"], f"/item/pair-{quote(PAIR)}"
    page.post("/undo", data={"token": token_on(page, f"/entity/{NEM}"), "decision": decision, "back": back})
    return back


@pytest.mark.parametrize("address", [CHESS, f"/entity/{NEM}"])
def test_a_button_that_is_pressed_twice_decides_once(lake: Lake, page: TestClient, address: str) -> None:
    fields = {**hidden(page, address), "choice": "classify.Droid", "author": "Ada"}
    start = Barrier(4)

    def press(_: int) -> int:
        with browser(lake) as client:
            client.cookies = page.cookies
            start.wait()
            return client.post(address, data=fields).status_code

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(press, range(4)))
    assert answers.count(303) == 1
    assert [row["value"] for row in all_decisions(lake)] == ["Droid"]


def test_a_decision_that_settles_the_next_item_too_leads_to_one_that_is_open(
    page: TestClient, lake: Lake
) -> None:
    rows = read_partition(lake, ENTITIES, PERSON)
    write_partition(lake, ENTITIES, PERSON, [{**row, "review_reason": "page deleted"} for row in rows])
    store_review(lake, SOURCE)
    pair = f"/item/pair-{quote(PAIR)}?kind=entity"
    skip = next(item for _, item in read(page.get(pair).text).elements if item.get("data-key") == "s")
    assert (skip["href"] or "").partition("?")[0] in {f"/item/entity-{NEM}", f"/item/entity-{ALSO_NEM}"}
    after = page.get(send(page, pair, choice=f"merge.{NEM}", author="Ada"))
    assert (after.status_code, "Recorded:" in after.text) == (200, True)


def test_values_next_to_an_accepted_one_are_disputed_no_more(page: TestClient) -> None:
    assert page.get(f"/entity/{NEM}").text.count('class="badge disputed"') == 2
    after = send(page, f"/entity/{NEM}", choice="accept.fact-varn", author="Ada")
    assert 'class="badge disputed"' not in page.get(after).text


def test_the_reason_of_a_pair_is_shown_once(page: TestClient) -> None:
    assert page.get(f"/item/pair-{quote(PAIR)}").text.count(">told by a test. A model proposes") == 1


def test_a_title_is_found_with_its_accents_as_letters_of_their_own(page: TestClient, lake: Lake) -> None:
    rows = [{**row, "title": "Élan"} for row in read_partition(lake, ENTITIES, PERSON)]
    write_partition(lake, ENTITIES, PERSON, rows[:1])
    address = f"/page?title={quote(unicodedata.normalize('NFD', 'Élan'))}"
    assert page.get(address).headers["location"] == f"/entity/{rows[0]['entity_id']}"


def test_a_title_is_found_in_other_capitals(page: TestClient) -> None:
    assert page.get("/page?title=nem six-finger").headers["location"] == f"/entity/{ALSO_NEM}"
    assert page.get("/page?title=SHOAL-CHESS").headers["location"] == CHESS


def test_keys_are_named_where_they_do_something(page: TestClient) -> None:
    def footer(address: str) -> str:
        return page.get(address).text.partition('class="keys"')[2]

    assert "accept the proposal" in footer(CHESS)
    assert "accept" not in footer(f"/item/promotion-{OSK}")
    assert "undo" not in footer(CHESS)
    assert "undo" in footer(send(page, CHESS, choice="classify.Droid", author="Ada"))


@pytest.mark.parametrize("address", ["/nowhere", "/item/none", "/undo"])
def test_a_page_of_an_error_leads_on(page: TestClient, address: str) -> None:
    elements = read(page.get(address).text).elements
    assert ("form", {"class": "search", "action": "/search", "role": "search"}) in elements
    assert ("a", {"href": "/"}) in elements


def test_an_empty_lake_says_what_to_do(tmp_path: Path) -> None:
    with browser(Lake(tmp_path / "nothing")) as page:
        assert "holocron run" in page.get("/").text
        assert "Nothing has been crawled yet" in page.get("/").text


def put_file(lake: Lake, name: str, content: bytes, mime: str) -> str:
    """Let Nem's page use a file that the lake holds, and give the hash of its bytes."""
    digest, artifact_id = sha256(content).hexdigest(), f"sha1:{sha1(content).hexdigest()}"  # noqa: S324
    path = FileStore(lake).path(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    [nem] = [row for row in read_partition(lake, ENTITIES, "PersonCharacter") if row["entity_id"] == NEM]
    page = {"source": SOURCE, "batch": BATCH, "title": nem["title"], "title_key": nem["title_key"]}
    use = {**page, "role": "infobox", "name": name, "caption": "<b>Nem</b>", "position": 0}
    write_partition(lake, FILE_USES, BATCH, [use])
    artifact = {"name": name, "artifact_id": artifact_id, "artifact_key": artifact_key(artifact_id)}
    listed = {"position": 0, "pages_of": [SOURCE], "origin": "pages", "listed_at": utc_now()}
    write_partition(lake, FILE_LIST, "files", [{"source": "files", **artifact, **listed}])
    of_bytes = {"sha256": digest, "mime": mime, "size_bytes": len(content)}
    outcome = {"status": "ok", "reason": "http-200", "attempts": 1, "fetched_at": utc_now(), "candidates": []}
    row = {"source": "files", "batch": "files-000001", "position": 0, "run_id": "run"}
    write_partition(lake, FILES, "files-000001", [{**row, **artifact, **of_bytes, **outcome}])
    return digest


def test_a_picture_is_shown_on_its_entitys_page_with_a_strict_type(lake: Lake) -> None:
    digest = put_file(lake, "File:Nem.png", b"\x89PNG pixels", "image/png")
    with browser(lake) as client:
        shown = client.get(f"/entity/{NEM}").text
        assert f'src="/file/{digest}"' in shown
        assert "<b>Nem</b>" not in shown
        served = client.get(f"/file/{digest}")
    assert served.content == b"\x89PNG pixels"
    assert served.headers["content-type"] == "image/png"
    assert served.headers["x-content-type-options"] == "nosniff"
    assert served.headers["content-disposition"].startswith("inline")


@pytest.mark.parametrize("mime", ["image/svg+xml", "text/html", "application/pdf"])
def test_what_may_hold_a_script_is_never_shown_and_only_saved(lake: Lake, mime: str) -> None:
    digest = put_file(lake, "File:Nem.svg", b"<svg onload=alert(1)>", mime)
    with browser(lake) as client:
        assert digest not in client.get(f"/entity/{NEM}").text
        served = client.get(f"/file/{digest}")
    assert served.headers["content-type"] == "application/octet-stream"
    assert served.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("name", ["0" * 64, "x", "..%2f..%2fetc%2fpasswd"])
def test_a_file_that_the_lake_does_not_hold_is_not_found(page: TestClient, name: str) -> None:
    assert page.get(f"/file/{name}").status_code == 404
