"""The Reconciliation Service API on `holocron web`, asked by a client library and by requests of our own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any
from urllib.parse import quote

import httpx
import pandas as pd
import pytest
import reconciler
import uvicorn
from click.testing import CliRunner
from playwright.sync_api import sync_playwright
from sample_holocron import Holocron
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from holocron_assets.cli.main import main
from holocron_assets.doors.reconciliation import PATH, reconciliation_routes
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES
from holocron_assets.loopback_guard import Shared, own_origin
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk

pytestmark = pytest.mark.system

HERE = "http://127.0.0.1:8001"
OPEN_REFINE = "http://127.0.0.1:3333"


def client_of(lake: Lake, *origins: str) -> TestClient:
    shared = Shared(PATH, frozenset(origins))
    return TestClient(make_app(Desk(lake, "Ada", ()), reconciliation_routes(lake), shared), base_url=HERE)


@pytest.fixture(scope="module")
def client(indexed_sample: Holocron) -> TestClient:
    return client_of(indexed_sample.lake)


def asked(client: TestClient, **queries: Any) -> dict[str, list[dict[str, Any]]]:
    response = client.post("/reconcile", data={"queries": json.dumps(queries)})
    assert response.status_code == 200, response.text
    return {key: found["result"] for key, found in response.json().items()}


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of an application that a server of its own answers for."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", http="h11"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def test_a_client_library_matches_a_column_of_names(indexed_sample: Holocron) -> None:
    app = make_app(Desk(indexed_sample.lake, "Ada", ()), reconciliation_routes(indexed_sample.lake))
    with served(app) as address:
        frame = reconciler.reconcile(
            pd.Series(["Brass Tam", "DUO-14", "Isa Dorrano"]), reconciliation_endpoint=f"{address}/reconcile"
        )
        droids = reconciler.reconcile(
            pd.Series(["Kettle"]),
            type_id="Droid",
            property_mapping={"homeworld": pd.Series(["Nowhere"])},
            reconciliation_endpoint=f"{address}/reconcile",
        )
    found = frame.set_index("input_value")
    assert found["name"].to_dict() == {
        "Brass Tam": "Brass Tam",
        "DUO-14": "DUO-14",
        "Isa Dorrano": "Issa Dorrane",
    }
    assert found["match"].to_dict() == {"Brass Tam": True, "DUO-14": True, "Isa Dorrano": False}
    assert droids["type_id"].tolist() == ["Droid"]


def test_the_command_serves_it_to_a_named_origin(indexed_sample: Holocron) -> None:
    call = "from holocron_assets.cli.main import main; main()"
    command = [sys.executable, "-c", call, "web", "--port", "0", "--allow-origin", OPEN_REFINE]
    environment = {**os.environ, **indexed_sample.environment}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        address = process.stdout.readline().split()[2]
        answer = httpx.get(f"{address}reconcile", headers=cross(OPEN_REFINE))
        process.terminate()
    assert answer.headers["access-control-allow-origin"] == OPEN_REFINE
    assert answer.json()["view"]["url"] == f"{address}entity/{{{{id}}}}"


def test_the_command_takes_no_origin_of_another_machine() -> None:
    said = CliRunner().invoke(main, ["web", "--allow-origin", "http://elsewhere.example"])
    assert said.exit_code == 2
    assert "no origin of this machine, such as http://127.0.0.1:3333" in " ".join(said.output.split())


def test_the_manifest_names_what_there_is(client: TestClient) -> None:
    manifest = client.get("/reconcile").json()
    assert manifest["versions"] == ["0.2"]
    assert {"id": "Droid", "name": "Droid"} in manifest["defaultTypes"]
    [entity, *_] = asked(client, q={"query": "Brass Tam"})["q"]
    view = manifest["view"]["url"].replace("{{id}}", entity["id"])
    preview = manifest["preview"]["url"].replace("{{id}}", entity["id"])
    assert "Brass Tam" in client.get(view).text
    assert "Brass Tam" in client.get(preview).text
    for kind, place in manifest["suggest"].items():
        response = client.get(f"{place['service_url']}{place['service_path']}", params={"prefix": "a"})
        assert response.json()["result"], kind


def test_queries_come_by_get_as_well(client: TestClient) -> None:
    queries = json.dumps({"q": {"query": "Brass Tam"}})
    assert client.get("/reconcile", params={"queries": queries}).json() == {
        "q": {"result": asked(client, q={"query": "Brass Tam"})["q"]}
    }


def test_what_get_gives_is_there_for_head(client: TestClient) -> None:
    answer = client.head("/reconcile")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


def test_namesakes_are_no_match_until_something_tells_them_apart(client: TestClient) -> None:
    homeworld = {"pid": "homeworld", "v": "Cassivane"}
    [first, second, *_] = asked(client, q={"query": "Issa Dorrane"})["q"]
    assert first["score"] == second["score"] == 100
    assert not first["match"]
    [only] = asked(client, q={"query": "Issa Dorrane", "limit": 1})["q"]
    assert not only["match"], "the namesake that is not shown counts"
    wrong = asked(client, q={"query": "Issa Dorrane", "properties": [{"pid": "eye_color", "v": "violet"}]})[
        "q"
    ]
    assert not wrong[0]["match"]
    assert wrong[0]["features"] == [{"id": "name", "value": 1}, {"id": "properties", "value": 0}]
    right = asked(client, q={"query": "Issa Dorrane", "properties": [homeworld]})["q"]
    assert right[0]["features"] == [{"id": "name", "value": 1}, {"id": "properties", "value": 1}]


def test_a_name_that_repeats_what_is_asked_is_no_match(indexed_sample: Holocron, tmp_path: Path) -> None:
    lake = indexed_sample.copy_to(tmp_path).lake
    names = [dict(row) for row in read_partition(lake, ENTITY_ALIASES, "PersonCharacter")]
    for row in names:
        if row["alias"] == "Issa Dorrane":
            row["alias"] = "Bora Bora"
    write_partition(lake, ENTITY_ALIASES, "PersonCharacter", names)
    SearchIndex(lake).update()
    found = asked(client_of(lake), once={"query": "Bora"}, twice={"query": "Bora Bora"})
    assert {(one["score"], one["match"]) for one in found["once"]} == {(50, False)}
    assert {one["score"] for one in found["twice"]} == {100}


def test_an_entity_is_found_by_its_id_and_by_a_property_that_is_an_entity(client: TestClient) -> None:
    [human] = asked(client, q={"query": "Human", "type": "Species", "limit": 1})["q"]
    [by_id, *_] = asked(client, q={"query": human["id"]})["q"]
    assert (by_id["id"], by_id["match"]) == (human["id"], True)
    given = [{"pid": "of_species", "v": {"id": human["id"], "name": "Human"}}]
    [first, *_] = asked(client, q={"query": "Issa Dorrane", "properties": given})["q"]
    assert first["features"][1] == {"id": "properties", "value": 1}


def test_a_property_without_a_value_says_nothing_and_none_is_a_value_like_others(client: TestClient) -> None:
    def features(value: object) -> list[str]:
        given = [{"pid": "hair_color", "v": value}]
        [first, *_] = asked(client, q={"query": "Issa Dorrane", "properties": given})["q"]
        return [f"{one['id']} {one['value']:.0f}" for one in first["features"]]

    assert features("None") == ["name 1", "properties 0"]
    assert features(None) == features({"name": "Black"}) == features([]) == ["name 1"]


def test_a_name_that_nothing_has_gets_no_candidate(client: TestClient) -> None:
    assert asked(client, q={"query": "Nobody at all"}, empty={"query": ""}) == {"q": [], "empty": []}


def test_a_type_is_kept_to(client: TestClient) -> None:
    found = asked(
        client, one={"query": "Brass Tam", "type": "Droid"}, other={"query": "Brass Tam", "type": ["Species"]}
    )
    assert [one["name"] for one in found["one"]] == ["Brass Tam"]
    assert found["other"] == []


def test_values_of_properties_are_given(client: TestClient) -> None:
    [issa, *_] = asked(
        client, q={"query": "Issa Dorrane", "properties": [{"pid": "hair_color", "v": "Black"}]}
    )["q"]
    extend = {"ids": [issa["id"], "none"], "properties": [{"id": "hair_color"}, {"id": "of_species"}]}
    answer = client.post("/reconcile", data={"extend": json.dumps(extend)}).json()
    assert answer["meta"] == [
        {"id": "hair_color", "name": "hair color"},
        {"id": "of_species", "name": "of species"},
    ]
    row = answer["rows"][issa["id"]]
    assert {"str": "Black"} in row["hair_color"]
    assert [one["name"] for one in row["of_species"]] == ["Human"]
    assert answer["rows"]["none"] == {"hair_color": [], "of_species": []}


def test_the_id_of_a_merged_entity_stands_for_the_one_that_stays(
    indexed_sample: Holocron, tmp_path: Path
) -> None:
    lake = indexed_sample.copy_to(tmp_path).lake
    rows = [dict(row) for row in read_partition(lake, ENTITIES, "PersonCharacter")]
    by_title = {row["title"]: row for row in rows}
    stays, gone = by_title["Issa Dorrane"], by_title["Issa Dorrane/Legends"]
    gone |= {"state": "merged", "merged_into": stays["entity_id"]}
    write_partition(lake, ENTITIES, "PersonCharacter", rows)
    client = client_of(lake)
    [found, *_] = asked(client, q={"query": gone["entity_id"]})["q"]
    assert (found["id"], found["match"]) == (stays["entity_id"], True)
    extend = {"ids": [gone["entity_id"], stays["entity_id"]], "properties": [{"id": "of_species"}]}
    values = client.post("/reconcile", data={"extend": json.dumps(extend)}).json()["rows"]
    assert [one["name"] for one in values[gone["entity_id"]]["of_species"]] == ["Human"]
    assert values[gone["entity_id"]] == values[stays["entity_id"]]
    suggested = client.get("/reconcile/suggest/entity", params={"prefix": gone["entity_id"]}).json()["result"]
    assert suggested[0]["id"] == stays["entity_id"]


def test_properties_are_proposed_for_a_type(client: TestClient) -> None:
    answer = client.get("/reconcile/properties", params={"type": "WorkMedia", "limit": "500"}).json()
    found = {one["id"] for one in answer["properties"]}
    assert "written_by" in found
    assert "killed_by" not in found
    assert len(client.get("/reconcile/properties?limit=3").json()["properties"]) == 3


@pytest.mark.parametrize(
    ("kind", "prefix", "first"),
    [
        ("entity", "Brass T", "Brass Tam"),
        ("entity", "Bras Tam", "Brass Tam"),
        ("type", "dro", "Droid"),
        ("property", "hair", "hair color"),
    ],
)
def test_names_are_suggested(client: TestClient, kind: str, prefix: str, first: str) -> None:
    found = client.get(f"/reconcile/suggest/{kind}", params={"prefix": prefix}).json()["result"]
    assert found[0]["name"] == first
    more = client.get(f"/reconcile/suggest/{kind}", params={"prefix": prefix, "cursor": "1"}).json()["result"]
    assert more == found[1:]


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "x"])
def test_a_number_that_says_nothing_is_left_out(client: TestClient, number: str) -> None:
    first = client.get("/reconcile/suggest/type", params={"prefix": "dro"}).json()
    assert client.get("/reconcile/suggest/type", params={"prefix": "dro", "cursor": number}).json() == first
    everything = client.get("/reconcile/properties").json()
    assert client.get("/reconcile/properties", params={"limit": number}).json() == everything


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"queries": "{"}, "cannot be read"),
        ({"queries": '{"q": {"query": "x", "limit": 0}}'}, "at q.limit"),
        ({"queries": '{"q": {"query": "x", "limit": 1e999}}'}, "at q.limit"),
        ({"extend": "{}"}, "at ids"),
        ({"query": "x"}, "neither `queries` nor `extend`"),
        ({"queries": json.dumps({str(number): {"query": "x"} for number in range(51)})}, "more than the 50"),
    ],
)
def test_what_cannot_be_read_is_said(client: TestClient, form: dict[str, str], problem: str) -> None:
    response = client.post("/reconcile", data=form)
    assert response.status_code == 400
    assert problem in response.json()["message"]


def test_without_an_index_it_says_what_makes_one(finished_sample: Holocron) -> None:
    response = client_of(finished_sample.lake).post("/reconcile", data={"queries": '{"q": {"query": "x"}}'})
    assert response.status_code == 503
    assert "`holocron run`" in response.json()["message"]


def cross(origin: str, **more: str) -> dict[str, str]:
    return {"origin": origin, "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", **more}


def test_pages_of_other_origins_are_refused_unless_a_person_named_theirs(indexed_sample: Holocron) -> None:
    closed, opened = client_of(indexed_sample.lake), client_of(indexed_sample.lake, OPEN_REFINE)
    assert closed.get("/reconcile", headers=cross(OPEN_REFINE)).status_code == 403
    answer = opened.get("/reconcile", headers=cross(OPEN_REFINE))
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == OPEN_REFINE
    other = opened.get("/reconcile", headers=cross("http://elsewhere.example"))
    assert other.status_code == 403
    assert "access-control-allow-origin" not in other.headers


def test_a_named_origin_may_reach_nothing_else(indexed_sample: Holocron) -> None:
    opened = client_of(indexed_sample.lake, OPEN_REFINE)
    for path in ("/", "/search?q=tea", "/reconciled", "/item/none"):
        assert opened.get(path, headers=cross(OPEN_REFINE)).status_code == 403, path
    assert opened.post("/undo", headers=cross(OPEN_REFINE), data={"decision": "x"}).status_code == 403
    assert (
        opened.get("/reconcile", headers={**cross(OPEN_REFINE), "host": "elsewhere.example"}).status_code
        == 421
    )


def test_a_script_of_another_page_gets_nothing(indexed_sample: Holocron) -> None:
    included = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}
    opened = client_of(indexed_sample.lake, OPEN_REFINE)
    assert opened.get("/reconcile?callback=steal", headers=included).status_code == 403


def test_a_preview_is_framed_by_named_origins_only(indexed_sample: Holocron) -> None:
    framed = {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    opened, closed = client_of(indexed_sample.lake, OPEN_REFINE), client_of(indexed_sample.lake)
    [entity, *_] = asked(opened, q={"query": "Brass Tam"})["q"]
    address = f"/reconcile/preview?id={entity['id']}"
    answer = opened.get(address, headers=framed)
    assert answer.status_code == 200
    assert f"frame-ancestors {OPEN_REFINE}" in answer.headers["content-security-policy"]
    assert "x-frame-options" not in answer.headers
    assert closed.get(address, headers=framed).status_code == 403
    assert "frame-ancestors 'none'" in closed.get(address).headers["content-security-policy"]
    assert opened.get(f"/entity/{entity['id']}", headers=framed).status_code == 403


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "null",
        "127.0.0.1:3333",
        "http://elsewhere.example",
        "http://127.0.0.1:3333/path",
        "http://a@127.0.0.1",
    ],
)
def test_only_an_origin_of_this_machine_can_be_named(text: str) -> None:
    with pytest.raises(ValueError, match="no origin of this machine"):
        own_origin(text)


READING = """address => fetch(address).then(answer => answer.json(), error => error.name)"""


@pytest.mark.browser
def test_a_browser_lets_a_page_of_a_named_origin_read_and_no_other(indexed_sample: Holocron) -> None:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None and "CI" not in os.environ:
        pytest.skip("needs a browser on PATH")
    desk, routes = Desk(indexed_sample.lake, "Ada", ()), reconciliation_routes(indexed_sample.lake)
    client = Starlette(routes=[Route("/", lambda _: HTMLResponse("<!doctype html><p>A client"))])
    with (
        sync_playwright() as playwright,
        served(client) as named,
        served(client) as other,
        served(make_app(desk, routes, Shared(PATH, frozenset({named})))) as holocron,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(other)
        assert page.evaluate(READING, f"{holocron}/reconcile") == "TypeError"
        page.goto(named)
        assert page.evaluate(READING, f"{holocron}/reconcile")["versions"] == ["0.2"]
        assert page.evaluate(READING, f"{holocron}/search?q=tea") == "TypeError"
        queries = quote(json.dumps({"q": {"query": "Brass Tam"}}))
        found = page.evaluate(READING, f"{holocron}/reconcile?queries={queries}")
        frame = f"<iframe src='{holocron}/reconcile/preview?id={found['q']['result'][0]['id']}'></iframe>"
        page.set_content(frame)
        assert page.frame_locator("iframe").locator("h1").inner_text() == "Brass Tam"
        page.goto(other)
        page.set_content(frame)
        # The browser's own page says that it shows nothing.
        assert page.frame_locator("iframe").locator("h1").inner_text() != "Brass Tam"
        browser.close()


def test_nothing_of_the_wiki_becomes_markup_in_a_preview(finished_sample: Holocron, tmp_path: Path) -> None:
    lake = finished_sample.copy_to(tmp_path).lake
    rows = [dict(row) for row in read_partition(lake, ENTITIES, "Droid")]
    rows[0] |= {"name": "<script>alert(1)</script>", "title": "<img src=x onerror=alert(2)>"}
    write_partition(lake, ENTITIES, "Droid", rows)
    text = client_of(lake).get("/reconcile/preview", params={"id": rows[0]["entity_id"]}).text
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "<img" not in text
