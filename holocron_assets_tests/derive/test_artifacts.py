"""What a model was asked and what it answered, as files."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asked import DIGEST, GOOD, interrogation
from click.testing import CliRunner
from fake_ollama import SMALL, Behaviour, FakeOllama, malformed, too_long
from wiki_lake import BATCH, a_wiki, write_wiki

from holocron_assets.cli.main import main
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.artifacts import NoArtifactsError, write_artifacts, write_run_folders
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packing import pack_journals
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_ATTEMPTS

KINDS = interrogation(rows={})
TEXTS = {"Ash": "An '''ash''' is a tree.", "Sub/Page: ..": "A '''subpage''' is a page."}
ALWAYS = {"request.json", "response.json", "call.json", "evidence.json", "prompt.txt"}
SENT: list[dict[str, Any]] = []
"""Bodies of the requests that the last fake server got, without the empty list of tools of the client."""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))


def work(lake: Lake, *script: Behaviour, batch: str = BATCH, asked: Interrogation = KINDS) -> PartitionWork:
    """Ask about a partition; nothing is written but its journals."""
    done = PartitionWork(lake, asked, batch, model=SMALL, digest=DIGEST)

    async def ask_all(fake: FakeOllama) -> None:
        async with open_client(fake.url) as client:
            engine = Engine(client, run_id="run-1")
            for item in done.ready(datetime.now(UTC)):
                attempt = done.start(item)
                done.record(item, await engine.answer(item, model=SMALL, digest=DIGEST, attempt=attempt))

    with FakeOllama(answer=lambda _: GOOD) as fake:
        fake.script.extend(script)
        asyncio.run(ask_all(fake))
    SENT[:] = [{name: value for name, value in chat.body.items() if value != []} for chat in fake.chats]
    return done


def written(lake: Lake, subject: str, folder: Path, name: str = "kinds") -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in write_artifacts(lake, name, subject, folder)}


@pytest.mark.parametrize("replies", [[too_long()], [too_long(), malformed(), malformed()]])
def test_after_a_prompt_was_too_long_the_evidence_is_what_was_shown_last(
    tmp_path: Path, replies: list[Behaviour]
) -> None:
    text = " ".join(f"An ash may have {number} leaves." for number in range(1, 100))
    lake = a_wiki(tmp_path, {"Ash": text})
    work(lake, *replies).publish("run-2")
    files = written(lake, "Ash", tmp_path / "out")
    (piece,) = json.loads(files["Ash/evidence.json"].read_text())["items"]
    assert "99 leaves" not in piece["text"]
    assert piece["text"] in files["Ash/prompt.txt"].read_text()


def test_an_answer_is_written_with_all_that_led_to_it(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake).publish("run-2")
    files = written(lake, "Ash", tmp_path / "out")
    assert files.keys() == {f"Ash/{name}" for name in ALWAYS | {"output.json"}}
    assert json.loads(files["Ash/output.json"].read_text()) == GOOD
    request = json.loads(files["Ash/request.json"].read_text())
    assert request in SENT, "the very request"
    assert (request["model"], request["stream"], request["keep_alive"]) == (SMALL, True, "15m")
    assert request["format"] == KINDS.answer_schema
    assert request["options"]["num_ctx"] == 4096
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    prompt = files["Ash/prompt.txt"].read_text()
    assert prompt == "\n\n".join(message["content"] for message in request["messages"])
    assert "ash is a tree" in prompt
    assert "ash is a tree" in files["Ash/evidence.json"].read_text()
    response = json.loads(files["Ash/response.json"].read_text())
    assert json.loads(response["message"]["content"]) == GOOD
    assert (response["done"], response["done_reason"], response["eval_count"]) == (True, "stop", 20)
    call = json.loads(files["Ash/call.json"].read_text())
    assert (call["outcome"], call["tokens_out"], call["run_id"]) == ("ok", 20, "run-1")


def test_everything_that_is_kept_is_written_by_day_and_run(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake).publish("run-1")
    work(lake, asked=interrogation(key="others", rows={}))
    paths = [path.relative_to(tmp_path / "out") for path in write_run_folders(lake, None, tmp_path / "out")]
    day = f"{utc_now():%Y/%m/%d}"
    assert {path.parents[1] for path in paths} == {
        Path("llm_runs", day, "run-1", name) for name in ("kinds", "others")
    }
    assert {path.parent.name.partition(" ")[0] for path in paths} == {"Ash", "Sub%2FPage%3A"}
    assert {path.name for path in paths} == ALWAYS | {"output.json"}
    of_one = list(write_run_folders(lake, "others", tmp_path / "one"))
    assert len(of_one) == len(paths) // 2


def test_a_journal_of_an_earlier_version_gives_what_it_holds(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake)
    with Journal(next(iter(lake.journals(LLM_ATTEMPTS)))) as journal:
        records = list(journal.records())
        for call in [call for record in records for call in record.get("calls", ())]:
            sent = call.pop("sent")
            call.pop("last_response")
            call |= {"messages": sent["messages"], "options": sent["options"]}
        journal.remove()
        journal.append(*records)
    files = written(lake, "Ash", tmp_path / "out")
    request = json.loads(files["Ash/request.json"].read_text())
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    response = json.loads(files["Ash/response.json"].read_text())
    assert json.loads(response["message"]["content"]) == GOOD


def test_every_step_is_written_with_its_condition_and_what_was_decided(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    steps = [{"when": "answer.kind == 'place'", "ask": "Where?", "otherwise": "Who is {{ title }}?"}]
    work(lake, asked=interrogation(rows={}, follow_up=steps)).publish("run-2")
    first, second = json.loads(written(lake, "Ash", tmp_path / "out")["Ash/steps.json"].read_text())
    assert json.loads(first["reply"]) == json.loads(second["reply"]) == GOOD
    assert first["decision"] == {
        "step": 1,
        "when": "answer.kind == 'place'",
        "holds": False,
        "chosen": "otherwise",
        "question": "Who is Ash?",
    }
    assert (second["turn"], second["asked"], second["decision"]) == ("follow_up", "Who is Ash?", None)
    rows = read_partition(lake, LLM_ATTEMPTS, f"kinds-{BATCH}")
    assert {row["turn"]: row["decision"] is None for row in rows} == {"question": False, "follow_up": True}


def test_a_failure_is_written_with_the_reply_and_every_call(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake, *[malformed()] * 3).publish("run-2")
    files = written(lake, "Ash", tmp_path / "out")
    assert files.keys() == {
        f"Ash/{name}" for name in ALWAYS | {"error_manifest.json", "invalid_json_response.txt"}
    }
    assert files["Ash/invalid_json_response.txt"].read_text() == "I am sorry, but I cannot read that."
    manifest = json.loads(files["Ash/error_manifest.json"].read_text())
    assert manifest["status"] == "failed"
    assert manifest["error"].startswith("Ash: the reply is no JSON object")
    assert [(call["try"], call["outcome"]) for call in manifest["calls"]] == [
        (number, "malformed") for number in (1, 2, 3)
    ]
    assert "cannot be used" in files["Ash/prompt.txt"].read_text()


def test_what_was_killed_before_it_was_published_is_found_in_the_journal(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake)
    assert "Ash/output.json" in written(lake, "Ash", tmp_path / "out")


def test_what_was_asked_long_ago_is_found_in_a_packed_journal(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, {**TEXTS, **{f"Elm {number}": "It is a tree." for number in range(20)}})
    work(lake)
    before = {name: path.read_text() for name, path in written(lake, "Ash", tmp_path / "out").items()}
    pack_journals(lake, now=utc_now() + timedelta(days=3))
    assert not any(path.exists() for path in lake.journals(LLM_ATTEMPTS))
    after = {name: path.read_text() for name, path in written(lake, "Ash", tmp_path / "again").items()}
    assert after == before
    work(lake).publish("run-2")
    assert read_partition(lake, LLM_ATTEMPTS, f"kinds-{BATCH}")


def test_an_answer_that_serves_another_batch_is_found_where_it_was_asked(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake).publish("run-2")
    write_wiki(lake, TEXTS, "wiki-000002")
    assert work(lake, batch="wiki-000002").publish("run-3") is not None
    lake.file(KINDS.table, BATCH).unlink()
    assert "Ash/output.json" in written(lake, "Ash", tmp_path / "out")


def test_pages_of_two_sources_with_one_title_are_kept_apart(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    write_wiki(lake, {"Ash": "An '''ash''' is what a fire leaves."}, "other-000001")
    work(lake).publish("run-2")
    work(lake, batch="other-000001").publish("run-2")
    folders = {Path(name).parent.name for name in written(lake, "Ash", tmp_path / "out")}
    assert len(folders) == 2
    assert all(folder.startswith("Ash ") for folder in folders)


def test_each_chunk_of_a_page_has_its_own_folder(tmp_path: Path) -> None:
    in_chunks = interrogation(rows={}, chunk_characters=200, evidence=[{"source": "chunk", "label": "Part"}])
    lake = a_wiki(tmp_path, {"Elm": "".join(f"It is {years} years old, and tall. " for years in range(20))})
    work(lake, asked=in_chunks)
    folders = {Path(name).parent.name for name in written(lake, "Elm", tmp_path / "out")}
    assert {"Elm#0", "Elm#1"} <= folders


def test_no_title_leads_out_of_the_folder(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, {"..": "'''Dots''' are dots.", **TEXTS})
    work(lake)
    for title in ("..", "Sub/Page: .."):
        for path in write_artifacts(lake, "kinds", title, tmp_path / "out"):
            assert path.parent.parent == tmp_path / "out"
            assert path.resolve().parent.parent == (tmp_path / "out").resolve()


def test_what_was_never_asked_is_said_so(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake)
    for name, subject in (("kinds", "As"), ("other", "Ash")):
        with pytest.raises(NoArtifactsError, match=f"{name!r} asking about {subject!r}"):
            write_artifacts(lake, name, subject, tmp_path / "out")


def test_the_command_names_the_files_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake)
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["artifacts", "kinds", "Ash", "--to", str(out)])
    assert result.exit_code == 0
    assert str(out / "kinds" / "Ash" / "output.json") in result.output.split()
    missing = CliRunner().invoke(main, ["artifacts", "kinds", "Nobody", "--to", str(out)])
    assert missing.exit_code == 1
    assert "nothing is kept" in missing.output


@pytest.mark.parametrize("title", [["Ash"], []], ids=["a title", "all"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nope", "no interrogation is called 'nope'; there are "),
        ("sentence_statements", "sentence_statements is answered by code, so no call was made"),
    ],
)
def test_the_command_says_why_there_are_no_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: list[str], name: str, says: str
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    work(a_wiki(tmp_path, TEXTS))
    missing = CliRunner().invoke(main, ["artifacts", name, *title, "--to", str(tmp_path / "out")])
    assert missing.exit_code
    assert says in " ".join(missing.output.split())


def test_the_request_of_a_shadow_is_written_for_the_live_one_that_it_serves(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    work(lake, asked=KINDS.model_copy(update={"shadow": True})).publish("run-1")
    work(lake).publish("run-2")
    other = interrogation(rows={}, prompt="Say something else.", shadow=True, version=2)
    work(lake, asked=other).publish("run-3")
    request = json.loads(written(lake, "Ash", tmp_path / "out")["Ash/request.json"].read_text())
    assert request["messages"][0]["content"].startswith("Say what the page is about.")


@pytest.mark.parametrize("title", ["\u6f22" * 85, "a" * 255])
def test_the_longest_titles_have_a_folder(tmp_path: Path, title: str) -> None:
    lake = a_wiki(tmp_path, {title: "A tree is a plant."})
    work(lake).publish("run-1")
    assert len(written(lake, title, tmp_path / "out")) == len(ALWAYS) + 1
