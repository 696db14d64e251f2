"""`holocron try` over a real lake and a fake model: what it reports, and what it leaves alone."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from fake_ollama import FakeOllama, drops_the_connection, malformed
from listed_wiki import SOURCE
from review_lake import write
from wiki_lake import write_pair
from wiki_with_facts import WikiWithFacts, page

from holocron_assets.classify.decided_types import decide_type
from holocron_assets.cli.main import main
from holocron_assets.decisions.log import new_decision, record
from holocron_assets.derive.dispatch.backlog import stale_partitions
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.items import wanted_items
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.entities.facts.model_tables import FACTS, RELATIONS
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    GPU_RUNS,
    LLM_RUNS,
    PAGE_FACTS,
    REPEAT_ANSWERS,
    SITES,
    TRIALS,
)
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.trials.claims import Claim
from holocron_assets.trials.cost import items_a_row
from holocron_assets.trials.truth import Truth

SHIPPED = PROJECT_FOLDER / "data" / "interrogations"
MODEL, OTHER = "qwen2.5-coder:1.5b", "larger:7b"
IFA, BEL = "Ifa Roon", "Bel Arno"
LEAD = " She was a captain of the [[Grey Guard]]. Her eyes were green. She was born in 22 BBY."
CHARACTERS = {
    IFA: page("Character", IFA, "|eyes=Green\n|birth=22 BBY\n|affiliation=[[Grey Guard]]") + LEAD,
    BEL: page("Character", BEL, "|gender=Female") + " She led the [[Grey Guard]].",
}
KEPT_BY_TRIALS = ("repeat_answers", "trials", "gpu_runs", "llm_attempts")


def fact(key: str, value: str, evidence: str) -> dict[str, Any]:
    return {"evidence": evidence, "fact_key": key, "value": value, "unit": None, "confidence": 0.9}


EYES = fact("eye_color", "green", "Her eyes were green.")
BORN_LATE = fact("born", "9 ABY", "She was born in 22 BBY.")
UNREAD = fact("species", "Corl", "She was a Corl sailor.")
BORN = fact("birth_year", "22 BBY", "She was born in 22 BBY.")


@pytest.fixture
def wiki(tmp_path: Path) -> WikiWithFacts:
    wiki = WikiWithFacts(tmp_path / "data")
    for title, text in CHARACTERS.items():
        wiki.crawl({title: text})
    return wiki


def holocron(lake: Lake, *arguments: str, fake: FakeOllama | None = None, **environment: str) -> Result:
    settings = {
        "HOLOCRON_DATA": str(lake.root),
        "HOLOCRON_MARKED_STATEMENTS": str(lake.root.parent / "marked"),
        "HOLOCRON_DISPATCH": str(lake.root / "no-dispatch.yaml"),
        "HOLOCRON_LLM": "auto" if fake else "off",
        "OLLAMA_HOST": fake.url if fake else "",
        "HOLOCRON_MODEL": "",
        "COLUMNS": "120",
        **environment,
    }
    return CliRunner().invoke(main, ["try", *arguments], env=settings)


def tried(lake: Lake, *arguments: str, fake: FakeOllama | None = None) -> dict[str, Any]:
    result = holocron(lake, *arguments, "--json", fake=fake)
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def says(facts: Mapping[str, Sequence[Mapping[str, Any]]]) -> FakeOllama:
    """A model that reads these facts on the pages of these titles."""

    def answer(chat: Any) -> dict[str, Any]:
        asked = chat.messages[-1]["content"]
        return {"facts": next((list(told) for title, told in facts.items() if title in asked), [])}

    return FakeOllama(answer=answer, models={MODEL: "1" * 64, OTHER: "2" * 64})


def live_run(wiki: WikiWithFacts, name: str, title: str, result_key: str = "k") -> None:
    """Note that an interrogation that counts was asked about a page."""
    batch, key = wiki.batch_of(title), str(title_key(SOURCE, title))
    numbers = dict.fromkeys(("tokens_in", "tokens_out", "attempts", "calls", "unsupported"), 1)
    times = dict.fromkeys(("load_ms", "prompt_ms", "generation_ms", "total_ms"), 1.0)
    texts = dict.fromkeys(("prompt_version", "evidence_hash", "model", "model_digest", "run_id"), "x")
    row = {
        **numbers,
        **times,
        **texts,
        "result_key": result_key,
        "scope": f"{name}-{batch}",
        "interrogation": name,
        "partition": batch,
        "item_id": key,
        "subject": title,
        "status": "ok",
        "output": "{}",
        "finished_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    write_partition(wiki.lake, LLM_RUNS, f"{name}-{batch}", [row])


def changed(tmp_path: Path, shipped_key: str, **changes: Any) -> Path:
    """A shipped interrogation in one file, with changes."""
    [shipped] = [one for one in load_interrogations() if one.name == shipped_key]
    file = tmp_path / "new.yaml"
    written = {**shipped.model_dump(mode="json", exclude_defaults=True), **changes}
    file.write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")
    return file


def rows_of(report: dict[str, Any], subject: str) -> dict[str, dict[str, Any]]:
    [item] = [item for item in report["items"] if item["subject"] == subject]
    return {row["words"]: row for row in item["rows"]}


def hashes(folder: Path) -> dict[str, str]:
    """A hash of each file of the lake but those that trials keep."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not file.name.endswith(".lock")
        and "locks" not in file.parts
        and not any(name in file.parts for name in KEPT_BY_TRIALS)
    }


def test_new_answers_stand_beside_those_that_count(wiki: WikiWithFacts, tmp_path: Path) -> None:
    wiki.model_says(FACTS, IFA, [EYES, UNREAD])
    live_run(wiki, "entity_facts", IFA)
    with says({IFA: [EYES, BORN]}) as fake:
        file = changed(tmp_path, "entity_facts", version=2, prompt="Read facts.")
        report = tried(wiki.lake, "entity_facts", "--file", str(file), "--tag", "T", fake=fake)
    assert (report["interrogation"], report["version"], report["compared_with"]) == (
        "entity_facts",
        2,
        "entity_facts 1",
    )
    rows = rows_of(report, IFA)
    assert {words: row["side"] for words, row in rows.items()} == {
        "eye_color = green": "same",
        "born = 22 BBY": "new",
        "species = Corl": "live",
    }
    assert report["totals"]["same"] == 1
    assert {item["subject"]: item["live"] for item in report["items"]} == {IFA: "answered", BEL: "not asked"}


def test_rows_are_judged_by_infoboxes_and_by_the_sheet(wiki: WikiWithFacts, tmp_path: Path) -> None:
    folder = tmp_path / "marked"
    folder.mkdir()
    (folder / "one.csv").write_text(
        "page,kind,subject,key,other,first_reader,second_reader,mark\n"
        f"{IFA},fact,{IFA},species,Corl,wrong,wrong,wrong\n"
    )
    with says({IFA: [EYES, BORN_LATE, UNREAD, fact("rank", "captain", "She was a captain of")]}) as fake:
        report = tried(wiki.lake, "entity_facts", fake=fake)
    rows = rows_of(report, IFA)
    assert rows["eye_color = green"]["verdicts"] == {"rules": "right"}
    assert rows["born = 9 ABY"]["verdicts"] == {"rules": "wrong"}, "one is born once"
    assert rows["species = Corl"]["verdicts"] == {"sheet": "wrong"}
    assert rows["rank = captain"]["verdict"] is None, "nothing says"
    new = report["totals"]["new"]
    assert (new["rows"], new["right"], new["wrong"], new["undecided"]) == (4, 1, 2, 1)
    assert any("shows the infobox" in note for note in report["notes"])


def test_checks_that_a_statement_fails_are_named(wiki: WikiWithFacts) -> None:
    wiki.model_says(FACTS, BEL, [EYES])
    live_run(wiki, "entity_facts", BEL)
    with says({IFA: [EYES, UNREAD, fact("steal", "steal", "Her eyes were green.")]}) as fake:
        report = tried(wiki.lake, "entity_facts", fake=fake)
    rows = rows_of(report, IFA)
    assert rows["eye_color = green"]["failed"] == []
    assert rows["species = Corl"]["failed"] == ["quote"]
    assert rows["steal = steal"]["failed"] == ["unmapped"]
    assert report["totals"]["new"]["by_check"] == {"quote": 1, "unmapped": 1}
    assert rows_of(report, BEL)["eye_color = green"]["failed_live"] == ["quote"]
    assert report["totals"]["live"]["by_check"] == {"quote": 1}


def test_relations_are_judged_from_either_end(wiki: WikiWithFacts) -> None:
    def related(one: str, relation: str, other: str) -> dict[str, Any]:
        times = dict.fromkeys(("start_time", "end_time", "work_context"))
        ends = {"from_name": one, "relation": relation, "to_name": other}
        return {"evidence": "She led the Grey Guard.", **ends, **times, "confidence": 0.8}

    told = [related(IFA, "worked_for", "Grey Guard"), related("Grey Guard", "affiliated_with", IFA)]
    with FakeOllama(answer=lambda _: {"relations": told}, models={MODEL: "1" * 64}) as fake:
        report = tried(wiki.lake, "relationship_extraction", fake=fake)
    rows = rows_of(report, IFA)
    assert rows[f"{IFA} affiliated_with Grey Guard"]["verdicts"] == {"rules": "right"}
    assert rows[f"Grey Guard affiliated_with {IFA}"]["verdicts"] == {"rules": "right"}
    assert not any(row["verdicts"] for row in rows_of(report, BEL).values())


def types_tried(wiki: WikiWithFacts, tmp_path: Path) -> dict[str, Any]:
    """The report of a model that takes every page for a person."""
    answer: dict[str, Any] = {
        "rationale": "It says so",
        "primary_type": "PersonCharacter",
        "types": [],
        "work_medium": None,
        "canon_context": None,
        "description": "A person",
        "tags": [],
        "confidence": 0.9,
        "needs_review": False,
    }
    file = changed(tmp_path, "page_classification", wants={"of": "rule_classifications"})
    with FakeOllama(answer=lambda _: answer, models={MODEL: "1" * 64}) as fake:
        return tried(wiki.lake, "page_classification", "--file", str(file), fake=fake)


def test_page_types_are_judged_by_people_and_by_certain_rules(wiki: WikiWithFacts, tmp_path: Path) -> None:
    decide_type(
        wiki.lake, source=SOURCE, title=BEL, type_name="Droid", author="Ada", reason="It has a serial number"
    )
    report = types_tried(wiki, tmp_path)
    assert rows_of(report, BEL)["PersonCharacter"]["verdicts"] == {"people": "wrong", "rules": "right"}
    assert rows_of(report, BEL)["PersonCharacter"]["verdict"] == "wrong", "people have the last word"
    assert rows_of(report, IFA)["PersonCharacter"]["verdicts"] == {"rules": "right"}


def test_page_types_are_judged_by_decisions_about_templates_and_pages_go_first(
    wiki: WikiWithFacts, tmp_path: Path
) -> None:
    said: dict[str, Any] = {"source": SOURCE, "author": "Ada", "reason": "The infobox is for robots"}
    record(wiki.lake, [new_decision("template", title="Template:Character", value="Droid", **said)])
    decide_type(wiki.lake, title=IFA, type_name="PersonCharacter", **said)
    report = types_tried(wiki, tmp_path)
    assert rows_of(report, BEL)["PersonCharacter"]["verdicts"] == {"people": "wrong", "rules": "right"}
    assert rows_of(report, IFA)["PersonCharacter"]["verdicts"] == {"people": "right", "rules": "right"}


def test_pairs_are_judged_by_peoples_decisions(wiki: WikiWithFacts) -> None:
    write_pair(wiki.lake, BEL, IFA, "PersonCharacter", (wiki.batch_of(BEL), wiki.batch_of(IFA)))
    decision = new_decision(
        "split", author="Ada", reason="They met", entity_id=f"id-of-{IFA}", other_id=f"id-of-{BEL}"
    )
    record(wiki.lake, [decision])
    answer = {"agreements": [], "contradictions": [], "same_entity": True, "confidence": 0.9}
    with FakeOllama(answer=lambda _: answer, models={MODEL: "1" * 64}) as fake:
        report = tried(wiki.lake, "identity_check", fake=fake)
    [item] = report["items"]
    assert item["rows"][0]["words"] == "same"
    assert item["rows"][0]["verdicts"] == {"people": "wrong"}
    assert item["entity_ids"] == [f"id-of-{BEL}", f"id-of-{IFA}"]


def test_statements_are_judged_by_peoples_decisions(wiki: WikiWithFacts) -> None:
    about = {"title": IFA, "title_key": title_key(SOURCE, IFA), "batch": wiki.batch_of(IFA)}
    rows = [
        {
            **about,
            "fact_id": "1",
            "entity_id": "e",
            "fact_key": "rank",
            "value": "Captain",
            "status": "accepted",
        },
        {
            **about,
            "fact_id": "2",
            "entity_id": "e",
            "fact_key": "species",
            "value": "Corl",
            "status": "rejected",
        },
        {
            **about,
            "fact_id": "3",
            "entity_id": "e",
            "fact_key": "height",
            "value": "1.83",
            "unit": "meters",
            "method": "model",
            "status": "accepted",
        },
    ]
    write(wiki.lake, ENTITY_FACTS, "PersonCharacter", rows)
    record(wiki.lake, [new_decision("accept", author="Ada", reason="It says so", statement_id="1")])
    tall = {**fact("height", "1.83", "She was a captain of"), "unit": "meters"}
    with says({IFA: [UNREAD, fact("rank", "captain", "She was a captain of"), tall]}) as fake:
        report = tried(wiki.lake, "entity_facts", fake=fake)
    judged = {words: row["verdicts"] for words, row in rows_of(report, IFA).items()}
    assert judged == {
        "species = Corl": {"people": "wrong"},
        "rank = captain": {"people": "right"},
        "height = 1.83 meters": {"people": "right"},
    }


def test_a_decision_counts_for_the_entity_that_the_statement_is_about(wiki: WikiWithFacts) -> None:
    keys = {title: title_key(SOURCE, title) for title in (IFA, BEL)}
    about = {"title": IFA, "title_key": keys[IFA], "batch": wiki.batch_of(IFA)}
    entities = [
        {"entity_id": title, "name": title, "title": title, "title_key": key, "source": SOURCE}
        for title, key in keys.items()
    ]
    write(wiki.lake, ENTITIES, "PersonCharacter", entities)
    said = {**about, "relation": "member_of", "to_name": "Grey Guard", "status": "rejected"}
    write(wiki.lake, ENTITY_RELATIONS, "PersonCharacter", [{**said, "relation_id": "1", "from_id": BEL}])
    record(wiki.lake, [new_decision("reject", author="Ada", reason="It is not so", statement_id="1")])
    item = next(
        each
        for one in load_interrogations()
        if one.name == "relationship_extraction"
        for each in wanted_items(wiki.lake, one, wiki.batch_of(IFA))
    )
    truth = Truth(wiki.lake, [item], [])
    judged = {
        subject: truth.verdicts(item, Claim("relation", subject, "member_of", "Grey Guard")).get("people")
        for subject in ("", BEL)
    }
    assert judged == {"": None, BEL: "wrong"}


@pytest.mark.parametrize(("language", "is_right"), [("de", True), ("en", False)])
def test_a_figure_is_read_as_the_language_of_the_wiki_writes_it(
    wiki: WikiWithFacts,
    language: str,
    is_right: bool,  # noqa: FBT001 - as the list says
) -> None:
    batch = wiki.batch_of(IFA)
    sites = [{**row, "language": language} for row in read_partition(wiki.lake, SITES, SOURCE)]
    write_partition(wiki.lake, SITES, SOURCE, sites)
    eyes = next(row for row in read_partition(wiki.lake, PAGE_FACTS, batch) if row["key"] == "eye_color")
    height = {**eyes, "key": "height", "value": "1,750 m", "number": 1.75, "unit": "m"}
    write_partition(wiki.lake, PAGE_FACTS, batch, [height])
    [asked] = (one for one in load_interrogations() if one.name == "entity_facts")
    [item] = wanted_items(wiki.lake, asked, batch)
    judged = Truth(wiki.lake, [item], []).verdicts(item, Claim("fact", "", "height", "1,750", "Meter"))
    assert judged == ({"rules": "right"} if is_right else {})


def test_pages_are_tried_in_chunks(wiki: WikiWithFacts, tmp_path: Path) -> None:
    shown: dict[str, Any] = {"evidence": [{"source": "chunk"}], "chunk_characters": 200, "examples": []}
    wiki.crawl({"Long One": page("Character", "Long One") + " It is long." * 60})
    wiki.model_says(FACTS, IFA, [EYES])
    live_run(wiki, "entity_facts", IFA)
    with says({"Long One": [EYES]}) as fake:
        file = changed(tmp_path, "entity_facts", **shown)
        report = tried(wiki.lake, "entity_facts", "--file", str(file), fake=fake)
    chunks = [item["subject"] for item in report["items"] if item["subject"].startswith("Long One#")]
    assert len(chunks) > 2
    assert report["cost"]["wanted"] == len(report["items"])
    assert any(note.startswith("entity_facts reads pages in other chunks") for note in report["notes"])
    assert report["compared_with"] is None, "no answer is shown beside: none of them was not asked"
    assert report["totals"]["live"]["rows"] == 0
    assert rows_of(report, chunks[0])["eye_color = green"]["failed"] == ["quote"]


def test_a_page_of_many_chunks_does_not_count_as_often_as_it_is_drawn() -> None:
    """Of 19 pages of one chunk and a page of 81, four chunks in five are of the last: five chunks a page."""
    assert items_a_row([1] * 4 + [81] * 16) == pytest.approx(5, abs=0.3)
    assert items_a_row([1, 3, 3, 3]) == 2
    assert items_a_row([]) == 1


def test_rows_of_another_kind_are_shown_by_their_values(wiki: WikiWithFacts) -> None:
    def event(year: int, words: str) -> dict[str, Any]:
        return {"event": words, "date": f"{year} BBY", "year": -year, "evidence": "born in 22 BBY"}

    asked = next(one for one in load_interrogations() if one.name == "page_events")
    told = [{name: event(22, "born").get(name) for name in asked.answer_columns}]
    with FakeOllama(answer=lambda _: {"events": told}, models={MODEL: "1" * 64}) as fake:
        report = tried(wiki.lake, "page_events", "--tag", "T", fake=fake)
    [item] = report["items"]
    assert "event: born" in item["rows"][0]["words"]
    assert item["rows"][0]["failed"] == []
    assert item["rows"][0]["verdicts"] == {}


def test_nothing_that_stands_is_touched(wiki: WikiWithFacts, tmp_path: Path) -> None:
    wiki.model_says(FACTS, IFA, [EYES])
    live_run(wiki, "entity_facts", IFA)
    lake = wiki.lake
    file = changed(tmp_path, "entity_facts", version=2, prompt="Read facts.")

    def stale() -> list[tuple[str, str, tuple[str, ...]]]:
        found = stale_partitions(lake, load_interrogations(), digests={MODEL: "1" * 64})
        return [(one.interrogation.name, one.partition, one.differences) for one in found]

    before, waiting, shipped = hashes(lake.root), stale(), hashes(SHIPPED)
    with says({IFA: [BORN]}) as fake:
        tried(lake, "entity_facts", "--file", str(file), "--tag", "T", fake=fake)
    assert hashes(lake.root) == before
    assert hashes(SHIPPED) == shipped
    assert stale() == waiting
    assert {
        row["status"] for row in read_partition(lake, LLM_RUNS, f"entity_facts-{wiki.batch_of(IFA)}")
    } == {"ok"}
    assert len(read_partition(lake, REPEAT_ANSWERS, "T")) == 2
    assert lake.partitions(TRIALS) == ["T"]


def test_its_cost_says_what_would_go_stale(wiki: WikiWithFacts, tmp_path: Path) -> None:
    with says({}) as fake:
        report = tried(wiki.lake, "entity_facts", "--tag", "first", fake=fake)
        assert (report["cost"]["wanted"], report["cost"]["to_ask"]) == (2, 2)
        for row in read_partition(wiki.lake, REPEAT_ANSWERS, "first"):
            live_run(wiki, "entity_facts", row["subject"], row["result_key"])
        known = tried(wiki.lake, "entity_facts", fake=fake)["cost"]
        file = changed(tmp_path, "entity_facts", prompt="Read facts.")
        other = tried(wiki.lake, "entity_facts", "--file", str(file), fake=fake)["cost"]
        file = changed(tmp_path, "entity_facts", wants={"sql": f"title = '{IFA}'"})
        narrowed = tried(wiki.lake, "entity_facts", "--file", str(file), fake=fake)["cost"]
    assert (known["answered"], known["asks_otherwise"], known["to_ask"], known["hours"]) == (2, False, 0, 0)
    assert (narrowed["wanted"], narrowed["answered"], narrowed["to_ask"]) == (1, 1, 0)
    assert (other["answered"], other["asks_otherwise"], other["to_ask"]) == (2, True, 2)
    assert other["hours"] == pytest.approx(2 * other["seconds_an_item"] / 3600)


def test_tokens_seconds_and_loading_are_told(wiki: WikiWithFacts) -> None:
    with says({}) as fake:
        fake.delay_seconds, fake.load_seconds = 0.1, 0.4
        report = tried(wiki.lake, "entity_facts", "--tag", "T", fake=fake)
        assert len(fake.chats) == 2
    totals, items = report["totals"], report["items"]
    assert totals["tokens_out"] == sum(item["tokens_out"] for item in items) == 40
    assert totals["tokens_in"] > 1000
    assert all(item["seconds"] >= 0.1 for item in items)
    assert 0.2 <= totals["seconds"] < 0.6, "loading is told apart"
    assert report["cost"]["load_seconds"] >= 0.4
    [run] = [read_partition(wiki.lake, GPU_RUNS, name)[0] for name in wiki.lake.partitions(GPU_RUNS)]
    assert (run["started_by"], run["items"]) == ("try", 2)


def test_an_answer_that_fails_is_told_with_its_calls(
    wiki: WikiWithFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    with says({}) as fake:
        fake.script.extend([malformed()] * 3)
        report = tried(wiki.lake, "entity_facts", "--pages", "1", fake=fake)
    [item] = report["items"]
    assert "no answer" not in item["problem"]
    assert item["subject"] in item["problem"]
    assert [call.split(":")[0] for call in item["failed_calls"]] == ["malformed"] * 3
    assert (report["totals"]["answered"], report["totals"]["failed_calls"]) == (0, 3)


def test_a_trial_goes_on_where_it_was(wiki: WikiWithFacts) -> None:
    with says({}) as fake:
        tried(wiki.lake, "entity_facts", "--tag", "T", "--pages", "1", fake=fake)
        report = tried(wiki.lake, "entity_facts", "--tag", "T", fake=fake)
        assert len(fake.chats) == 2
    assert report["totals"]["answered"] == 2


def test_a_trial_whose_server_is_gone_is_not_kept(
    wiki: WikiWithFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    with says({}) as fake:
        fake.on["e"] = drops_the_connection
        assert holocron(wiki.lake, "entity_facts", "--tag", "T", fake=fake).exit_code == 1
    assert wiki.lake.partitions(TRIALS) == []


def test_a_function_is_tried_without_a_model(wiki: WikiWithFacts) -> None:
    before = hashes(wiki.lake.root)
    report = tried(wiki.lake, "sentence_statements", "--tag", "T")
    rows = rows_of(report, IFA)
    assert rows["eye_color = green"]["verdicts"] == {"rules": "right"}
    assert (report["kind"], report["model"], report["totals"]["calls"]) == ("python", "python", 0)
    assert all(item["seconds"] > 0 for item in report["items"])
    assert report["cost"]["hours"] > 0
    assert hashes(wiki.lake.root) == before


def test_a_query_is_tried_without_a_model(wiki: WikiWithFacts, tmp_path: Path) -> None:
    file = tmp_path / "lengths.yaml"
    file.write_text(
        "key: lengths\nversion: 1\ntitle: How long a lead is\nkind: sql\npriority: 1\nover: pages\n"
        "sql: select lead_length as length from page_signals where title_key = $title_key\n"
        "answer_schema:\n  type: object\n  required: [length]\n  properties:\n"
        "    length: {type: integer, minimum: 0, maximum: 9999, description: Characters}\n"
    )
    report = tried(wiki.lake, "lengths", "--file", str(file))
    assert len(report["items"]) == 2
    assert all(row.startswith("length: ") for item in report["items"] for row in [item["rows"][0]["words"]])
    assert (report["compared_with"], report["cost"]["hours"]) == (None, None)
    assert any("nothing to compare with" in note for note in report["notes"])


def test_a_folder_is_tried_as_it_lies_among_the_shipped(wiki: WikiWithFacts) -> None:
    with says({}) as fake:
        report = tried(wiki.lake, "entity_facts", "--file", str(SHIPPED / "entity_facts"), fake=fake)
    assert report["compared_with"] == "entity_facts 1"


def test_a_new_design_is_compared_with_what_it_would_replace(wiki: WikiWithFacts, tmp_path: Path) -> None:
    wiki.model_says(RELATIONS, IFA, [])
    wiki.model_says(FACTS, IFA, [EYES])
    live_run(wiki, "entity_facts", IFA)
    file = changed(tmp_path, "entity_facts", key="careful_facts")
    with says({IFA: [EYES]}) as fake:
        report = tried(wiki.lake, "entity_facts", "--file", str(file), fake=fake)
    assert (report["interrogation"], report["compared_with"]) == ("careful_facts", "entity_facts 1")
    assert rows_of(report, IFA)["eye_color = green"]["side"] == "same"
    assert (report["cost"]["answered"], report["cost"]["to_ask"]) == (0, 2), "nothing is replaced"


def test_the_terminal_shows_items_differences_and_totals(wiki: WikiWithFacts) -> None:
    wiki.model_says(FACTS, IFA, [EYES, UNREAD])
    live_run(wiki, "entity_facts", IFA)
    with says({IFA: [EYES, BORN_LATE]}) as fake:
        result = holocron(wiki.lake, "entity_facts", "--tag", "T", fake=fake)
    said = result.stdout
    assert result.exit_code == 0, result.output
    assert "T: entity_facts 1 beside entity_facts 1" in said
    assert f"+ {IFA}: born = 9 ABY (wrong by rules; fails other)" in said
    assert f"- {IFA}: species = Corl (fails quote)" in said
    assert f"{IFA}: eye_color = green" not in said, "what both say rightly is of no interest"
    assert "2 items wanted; 1 with an answer today, which would go stale; 2 to ask." in said
    assert "`holocron web` shows it at /trials/T." in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["moods"], "no interrogation is called 'moods'; there are"),
        (["entity_facts", "--tag", "a/b"], "must be 1 to 80 letters"),
        (["entity_facts", "--tag", "entity_facts"], "is an interrogation's name"),
        (["entity_facts", "--model", "unknown:1b"], "unknown:1b"),
        (["entity_facts", "--file", "none.yaml"], "does not exist"),
        (["identity_check"], "wants nothing that is in the lake"),
        (["entity_facts", "--pages", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_tried_is_said(wiki: WikiWithFacts, arguments: list[str], problem: str) -> None:
    with says({}) as fake:
        result = holocron(wiki.lake, *arguments, fake=fake)
        assert fake.chats == []
    assert result.exit_code != 0
    assert problem in " ".join(result.output.split())


def answer_all(lake: Lake, name: str, batch: str) -> None:
    """Answer an interrogation about every page of a batch: no page says anything."""
    [asked] = [one for one in load_interrogations() if one.name == name]
    work = PartitionWork(lake, asked, batch, model=asked.kind, digest="3" * 64)
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        work.record(item, Outcome("ok", {asked.rows.each or "": []}))
    work.publish("run")


def test_pages_that_wait_for_an_input_are_left_out_and_counted(wiki: WikiWithFacts, tmp_path: Path) -> None:
    answer_all(wiki.lake, "sentence_statements", wiki.batch_of(IFA))
    file = changed(tmp_path, "entity_facts", inputs=["sentence_statements"])
    with says({}) as fake:
        result = holocron(wiki.lake, "entity_facts", "--file", str(file), "--json", fake=fake)
        assert len(fake.chats) == 1
    assert [item["subject"] for item in json.loads(result.stdout)["items"]] == [IFA]
    assert "1 of 2 items wait: 1 for the answer of sentence_statements. They are left out" in result.stderr


@pytest.mark.parametrize(
    ("changes", "input_name"),
    [
        ({"inputs": ["sentence_statements"]}, "sentence_statements"),
        ({"evidence": [{"source": "search", "query": "{{ name | quoted }}"}]}, "careful_facts_passages"),
    ],
)
def test_a_trial_whose_pages_all_wait_for_an_input_or_a_search_asks_nothing_and_says_so(
    wiki: WikiWithFacts, tmp_path: Path, changes: dict[str, Any], input_name: str
) -> None:
    file = changed(tmp_path, "entity_facts", key="careful_facts", **changes)
    with says({}) as fake:
        result = holocron(wiki.lake, "entity_facts", "--file", str(file), fake=fake)
        assert fake.chats == []
    assert result.exit_code == 1
    assert f"2 of 2 items wait: 2 for the answer of {input_name}; ask again when it is there" in " ".join(
        result.output.split()
    )
    assert wiki.lake.partitions(TRIALS) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"prompt": "Say {{ nonsense }}."}, "prompt: 'nonsense' is undefined"),
        ({"colour": "red"}, "colour: is no known key"),
        ({"wants": {"sql": "no_such_column > 1"}}, "no_such_column"),
        ({"inputs": ["moods"]}, "'moods' is no interrogation that counts"),
    ],
)
def test_a_broken_file_is_named_with_key_and_reason(
    wiki: WikiWithFacts, tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    file = changed(tmp_path, "entity_facts", **changes)
    with says({}) as fake:
        result = holocron(wiki.lake, "entity_facts", "--file", str(file), fake=fake)
    assert result.exit_code == 1
    assert str(file) in result.output.replace("\n", "")
    assert problem in result.output


def test_a_file_of_another_name_needs_what_it_is_compared_with(wiki: WikiWithFacts, tmp_path: Path) -> None:
    file = changed(tmp_path, "entity_facts", key="careful_facts")
    result = holocron(wiki.lake, "harbours", "--file", str(file))
    assert "no interrogation is called 'harbours'" in result.output
    assert "'careful_facts'" in result.output


def test_answers_about_other_things_are_not_compared(wiki: WikiWithFacts, tmp_path: Path) -> None:
    evidence = [{"source": "inline", "text": "Nothing."}]
    file = changed(
        tmp_path,
        "entity_facts",
        over="pairs",
        evidence=evidence,
        wants={},
        examples=[],
        question="Well?",
        rows={"each": "facts"},
    )
    result = holocron(wiki.lake, "entity_facts", "--file", str(file))
    assert "asks about pairs, and entity_facts about pages" in result.output


def test_without_models_no_model_is_asked(wiki: WikiWithFacts) -> None:
    result = holocron(wiki.lake, "entity_facts")
    assert result.exit_code == 1
    assert "HOLOCRON_LLM is off" in result.output
