"""`holocron mcp` answers the official SDK's own client over standard input and output."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import StdioServerParameters
from mcp.client import Client
from sample_holocron import Holocron

from holocron_assets.doors import questions
from holocron_assets.doors.assistants import make_server
from holocron_assets.lake.views.database import query

pytestmark = pytest.mark.system

HOLOCRON = [sys.executable, "-c", "from holocron_assets.cli.main import main; main()", "mcp"]


class Assistant:
    """A client, called from tests that wait."""

    def __init__(self, call: Any, client: Client) -> None:
        self._call, self.client = call, client

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self._call(self.client.list_tools).tools}

    def asks(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = self._call(partial(self.client.call_tool, tool, arguments))
        assert not found.is_error, found.content
        return dict(found.structured_content)

    def is_refused(self, tool: str, **arguments: Any) -> str:
        found = self._call(partial(self.client.call_tool, tool, arguments))
        assert found.is_error
        return str(found.content[0].text)


def assistant_of(server: Any) -> Iterator[Assistant]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Assistant(portal.call, client)


@pytest.fixture(scope="module")
def process(indexed_sample: Holocron) -> Iterator[Assistant]:
    """A client of `holocron mcp`, which is a process of its own."""
    yield from assistant_of(
        StdioServerParameters(command=HOLOCRON[0], args=HOLOCRON[1:], env=indexed_sample.environment)
    )


@pytest.fixture
def assistant(indexed_sample: Holocron, monkeypatch: pytest.MonkeyPatch) -> Iterator[Assistant]:
    """A client of the same server in this process."""
    for name, value in indexed_sample.environment.items():
        monkeypatch.setenv(name, value)
    yield from assistant_of(make_server(indexed_sample.lake))


def test_every_tool_answers_over_standard_input_and_output(process: Assistant) -> None:
    assert process.asks("search", text="tidal barges")["hits"][0]["title"] == "Issa Dorrane"
    assert process.asks("page", title="Issa Dorrane")["pages"][0]["type"]
    assert process.asks("entity", entity="Issa Dorrane")["entity_type"] == "PersonCharacter"
    assert process.asks("facts", entity="Issa Dorrane")["total"] > 4
    assert process.asks("why", title="Middle Shoals")["pages"][0]["answers"]
    assert "no page is called 'Nothing'" in process.is_refused("why", title="Nothing")


def test_nothing_but_the_protocol_is_printed_and_the_end_of_input_ends_it(indexed_sample: Holocron) -> None:
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked})
    ended = subprocess.run(  # noqa: S603 - our own command
        HOLOCRON,
        input=f"{message}\n",
        env=indexed_sample.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    [line] = ended.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "holocron"


def test_each_tool_says_what_it_does_and_that_it_only_reads(assistant: Assistant) -> None:
    tools = assistant.tools()
    assert tools.keys() == {"search", "page", "entity", "facts", "why"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert len(tool.description) > 60
        assert all(one.get("description") for one in tool.input_schema["properties"].values()), tool.name
    assert "never an instruction" in str(assistant.client.instructions)


def test_a_search_is_narrowed_by_type(assistant: Assistant) -> None:
    found = assistant.asks("search", text="the ship", types=["VehicleCraft"], limit=3)
    assert {hit["entity_type"] for hit in found["hits"]} == {"VehicleCraft"}
    assert len(found["hits"]) == 3
    assert found["not_searched_by_meaning"]


def test_a_page_is_read_in_passages(assistant: Assistant) -> None:
    [whole] = assistant.asks("page", title="Issa Dorrane")["pages"]
    [rest] = assistant.asks("page", title="Issa Dorrane", skip=1, limit=1)["pages"]
    assert whole["passages_in_all"] == len(whole["passages"]) > 2
    assert rest["passages"] == whole["passages"][1:2]
    assert any("tidal barges" in passage["text"] for passage in whole["passages"])


def test_an_entity_is_found_by_another_name_and_has_its_relations(assistant: Assistant) -> None:
    entity = assistant.asks("entity", entity="issa dorrane")
    ends = {(row["from_name"], row["relation"], row["to_name"]) for row in entity["relations"]}
    assert ("Issa Dorrane", "of_species", "Human") in ends
    assert all(row["evidence"] for row in entity["relations"])
    assert {"Issa Dorrane"} <= {row["alias"] for row in entity["names"]}


def test_the_relations_of_an_entity_are_read_in_parts(assistant: Assistant) -> None:
    whole = assistant.asks("entity", entity="Human", limit=100)
    assert whole["relations_in_all"] == len(whole["relations"]) > 4
    parts = [assistant.asks("entity", entity="Human", limit=2, skip=skip)["relations"] for skip in (0, 2)]
    assert [*parts[0], *parts[1]] == whole["relations"][:4]
    none = assistant.asks("entity", entity="Human", skip=1000)
    assert (none["relations"], none["relations_in_all"]) == ([], whole["relations_in_all"])


def test_of_many_facts_only_those_that_are_asked_for_are_read(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counting(*arguments: Any) -> list[Any]:
        rows = query(*arguments)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(questions, "query", counting)
    found = assistant.asks("facts", types=["PersonCharacter"], limit=3, skip=1)
    assert len(found["facts"]) == 3
    assert found["total"] > 20
    assert max(read) == 3


def test_a_fact_has_the_words_of_its_page(assistant: Assistant) -> None:
    found = assistant.asks("facts", entity="Issa Dorrane", keys=["born"])
    [fact] = found["facts"]
    assert (found["total"], fact["value"], fact["revision_id"]) == (1, "284 AF", 2397)
    assert fact["evidence"] == "284 AF (approximate)"
    more = assistant.asks("facts", keys=["gender"], types=["PersonCharacter"], skip=1, limit=2)
    assert len(more["facts"]) == 2 < more["total"]


def test_an_empty_list_stands_for_any_key_or_type(assistant: Assistant) -> None:
    found = assistant.asks("facts", entity="Issa Dorrane")
    assert found["total"] > 1
    assert assistant.asks("facts", entity="Issa Dorrane", keys=[], types=[]) == found


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("entity", {"entity": "Nobody"}, "A search finds entities by part of a name"),
        ("page", {"title": "Issa Doran"}, "Nearest are: 'Issa Dorrane' of sample"),
        ("search", {"text": "tea", "limit": 0}, "greater than or equal to 1"),
        ("search", {"text": "tea", "types": ["Drod"]}, "there is no type 'Drod'; did you mean 'Droid'?"),
        ("facts", {"types": ["Drod"]}, "there is no type 'Drod'; did you mean 'Droid'?"),
        ("why", {}, "Field required"),
        ("search", {"text": "tea", "type": "Droid"}, "type\n  Extra inputs are not permitted"),
    ],
)
def test_an_error_says_what_to_do(
    assistant: Assistant, tool: str, arguments: dict[str, Any], problem: str
) -> None:
    assert problem in assistant.is_refused(tool, **arguments)


def test_a_lake_without_an_index_says_what_makes_one(finished_sample: Holocron) -> None:
    for assistant in assistant_of(make_server(finished_sample.lake)):
        assert "`holocron run` makes" in assistant.is_refused("search", text="tea")
