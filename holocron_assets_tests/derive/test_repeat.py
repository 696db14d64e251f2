"""Asking the same several times: by the command, of a fake model, and what is left behind."""

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from asked import GOOD, interrogation
from click.testing import CliRunner, Result
from fake_ollama import LARGE, SMALL, Chat, FakeOllama, drops_the_connection, malformed
from interrogation_files import read_interrogations
from wiki_lake import BATCH, a_wiki, write_pair, write_wiki

from holocron_assets.cli.main import main
from holocron_assets.derive.repeat.sample import sample_items
from holocron_assets.lake.files.parquet import read_partition, rows_there, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS, LLM_ATTEMPTS, LLM_RUNS, PAGE_TYPES, REPEAT_ANSWERS

TITLES = [f"Tree {letter}" for letter in "ABCDEFGH"]
PLACE = {**GOOD, "kind": "place"}
TEXTS = {title: f"'''{title}''' is a tree of note." for title in TITLES}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    folder = tmp_path / "interrogations"
    folder.mkdir()
    for name, changes in (("kinds", {}), ("kinds_next", {"version": 2, "shadow": True})):
        written = interrogation(rows={}, **changes).model_dump(mode="json", exclude_defaults=True)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")
    return a_wiki(tmp_path / "data", TEXTS)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))


def holocron(lake: Lake, *arguments: str, fake: FakeOllama | None = None) -> Result:
    environment = {
        "HOLOCRON_DATA": str(lake.root),
        "HOLOCRON_INTERROGATIONS": str(lake.root.parent / "interrogations"),
        "HOLOCRON_DISPATCH": str(lake.root / "no-dispatch.yaml"),
        "HOLOCRON_LLM": "auto" if fake else "off",
        "OLLAMA_HOST": fake.url if fake else "",
        "HOLOCRON_MODEL": "",
        "COLUMNS": "120",
    }
    return CliRunner().invoke(main, ["repeat", *arguments], env=environment)


def done(lake: Lake, *arguments: str, fake: FakeOllama | None = None) -> str:
    result = holocron(lake, *arguments, fake=fake)
    assert result.exit_code == 0, result.output
    return result.output


def compared(lake: Lake, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done(lake, "compare", *arguments, "--json", "--least", "0"))
    return found


def test_a_sample_is_asked_several_times_and_agrees_with_itself(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD, slots=2) as fake:
        said = done(lake, "kinds", "--sample", "5", "--times", "3", "--tag", "T", fake=fake)
        assert "time 3: 5 of 5 items answered" in said
        assert len(fake.chats) == 15
        assert fake.loads == {SMALL: 1}
    rows = read_partition(lake, REPEAT_ANSWERS, "T")
    assert len({(row["item_id"], row["time"]) for row in rows}) == 15
    assert {row["subject"] for row in rows} < set(TITLES)
    assert "5 items compared, 5 alike in every field" in done(lake, "compare", "T")


def test_an_experiment_is_no_work_and_its_calls_carry_its_tag(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        done(lake, "kinds", "--sample", "2", "--times", "2", "--tag", "T", fake=fake)
    assert lake.partitions(LLM_RUNS) == []
    [scope] = lake.partitions(LLM_ATTEMPTS)
    calls = read_partition(lake, LLM_ATTEMPTS, scope)
    assert {(call["tag"], call["scope"], call["interrogation"], call["outcome"]) for call in calls} == {
        ("T", "REPEAT-T", "kinds", "ok")
    }
    [gpu_run] = [read_partition(lake, GPU_RUNS, name)[0] for name in lake.partitions(GPU_RUNS)]
    assert (gpu_run["started_by"], gpu_run["items"], gpu_run["calls"]) == ("repeat", 4, 4)
    assert gpu_run["outcome"] == "complete"


def test_answers_that_deviate_are_shown_and_fail_the_command(lake: Lake) -> None:
    kinds = itertools.cycle(["person", "place"])
    with FakeOllama(answer=lambda _: {**GOOD, "kind": next(kinds)}) as fake:
        done(lake, "kinds", "--sample", "1", "--times", "2", "--tag", "T", fake=fake)
    result = holocron(lake, "compare", "T")
    assert result.exit_code == 1
    assert "they agree by 0.500, which is less than 0.95" in result.output
    assert '"person"' in result.output
    assert '"place"' in result.output
    done(lake, "compare", "T", "--least", "0.5")
    done(lake, "compare", "T", "--field", "words")
    report = compared(lake, "T")
    assert report["fields"] == {"kind": 0.0, "words": 1.0}
    assert report["deviations"][0]["field"] == "kind"


def test_an_answer_that_fails_counts_against_agreement(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        fake.script.extend([malformed()] * 3)
        done(lake, "kinds", "--sample", "1", "--times", "2", "--tag", "T", fake=fake)
    report = compared(lake, "T")
    assert (report["unanswered"], report["overall"]) == (1, 0.0)
    [failed, _] = read_partition(lake, REPEAT_ANSWERS, "T")
    assert failed["output"] is None
    assert failed["subject"] in failed["error"]


def test_two_models_are_asked_about_the_same_items_and_compared(lake: Lake) -> None:
    with FakeOllama(answer=lambda chat: GOOD if chat.model == SMALL else PLACE) as fake:
        done(lake, "kinds", "--sample", "4", "--times", "1", "--tag", "small", fake=fake)
        done(lake, "kinds", "--sample", "4", "--times", "2", "--tag", "L", "--model", LARGE, fake=fake)
    report = compared(lake, "small", "--with", "L")
    assert report["items"] == 4
    assert report["fields"] == {"kind": 0.0, "words": 1.0}
    assert holocron(lake, "compare", "small").exit_code == 1
    assert "nothing was asked twice" in holocron(lake, "compare", "small").output


def test_a_shadow_is_asked_what_it_asks(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        done(lake, "kinds", "--sample", "1", "--tag", "T", "--version", "shadow", fake=fake)
    assert {row["interrogation"] for row in read_partition(lake, REPEAT_ANSWERS, "T")} == {"kinds_shadow_2"}


VERSIONS = {
    "kinds": interrogation(rows={}).prompt_version,
    "kinds_shadow_2": interrogation(rows={}, version=2, shadow=True).prompt_version,
}


def llm_run(name: str, title: str, answer: Any) -> dict[str, Any]:
    numbers = dict.fromkeys(("tokens_in", "tokens_out", "attempts", "calls", "unsupported"), 1)
    times = dict.fromkeys(("load_ms", "prompt_ms", "generation_ms", "total_ms"), 1.0)
    texts = dict.fromkeys(("result_key", "evidence_hash", "model", "model_digest"), "x")
    return {
        **numbers,
        **times,
        **texts,
        "scope": f"{name}-{BATCH}",
        "interrogation": name,
        "prompt_version": VERSIONS[name],
        "partition": BATCH,
        "item_id": title,
        "subject": title,
        "status": "ok",
        "output": json.dumps(answer),
        "finished_at": datetime(2026, 1, 1, tzinfo=UTC),
        "run_id": "no run",
    }


def test_a_shadow_is_compared_with_the_live_version_over_the_same_items(lake: Lake) -> None:
    for name, answers in (
        ("kinds", {"Tree A": GOOD, "Tree B": GOOD, "Tree C": GOOD}),
        ("kinds_shadow_2", {"Tree A": GOOD, "Tree B": PLACE}),
    ):
        rows = [llm_run(name, title, answer) for title, answer in answers.items()]
        rows.append(llm_run(name, "Tree D", GOOD) | {"prompt_version": "a former one"})
        write_partition(lake, LLM_RUNS, f"{name}-{BATCH}", rows)
    report = compared(lake, "kinds")
    assert (report["items"], report["alike"]) == (2, 1)
    assert report["fields"] == {"kind": 0.5, "words": 1.0}
    assert report["deviations"][0]["subject"] == "Tree B"


def test_an_answer_to_what_is_asked_in_another_way_by_now_is_asked_again(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        done(lake, "kinds", "--sample", "8", "--times", "2", "--tag", "T", fake=fake)
        fake.chats.clear()
        fake.answer = lambda _: PLACE
        write_wiki(lake, {**TEXTS, "Tree B": "'''Tree B''' is a rock."})
        done(lake, "kinds", "--sample", "8", "--times", "2", "--tag", "T", fake=fake)
        assert len(fake.chats) == 2
    answers = {
        (row["subject"], row["time"]): row["output"] for row in read_partition(lake, REPEAT_ANSWERS, "T")
    }
    assert len(answers) == 2 * len(TITLES)
    assert {place for place, output in answers.items() if json.loads(output) == PLACE} == {
        ("Tree B", 1),
        ("Tree B", 2),
    }


def test_an_interrupted_experiment_goes_on_where_it_was(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        fake.on["Tree"] = drops_the_connection
        result = holocron(lake, "kinds", "--sample", "3", "--times", "2", "--tag", "T", fake=fake)
        assert result.exit_code == 1
        fake.on.clear()
        fake.chats.clear()
        done(lake, "kinds", "--sample", "3", "--times", "1", "--tag", "T", fake=fake)
        fake.chats.clear()
        done(lake, "kinds", "--sample", "3", "--times", "2", "--tag", "T", fake=fake)
        assert len(fake.chats) == 3
    assert compared(lake, "T")["items"] == 3


def test_answers_are_kept_while_others_are_asked_for_so_that_a_kill_loses_few(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.derive.repeat.experiments.WRITE_SECONDS", 0.0)
    kept = []

    def answer(_: Chat) -> dict[str, Any]:
        kept.append(len(rows_there(lake, REPEAT_ANSWERS, "T")))
        return GOOD

    with FakeOllama(answer=answer, slots=1) as fake:
        done(lake, "kinds", "--sample", "8", "--times", "1", "--tag", "T", fake=fake)
    assert kept[-1] >= 4, "as a process finds it that starts after a kill"
    assert len(read_partition(lake, LLM_ATTEMPTS, "REPEAT-T")) == 8


def test_a_second_process_with_the_tag_of_a_first_is_refused(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        with lake.lock("repeat-T"):
            result = holocron(lake, "kinds", "--sample", "1", "--tag", "T", fake=fake)
        assert result.exit_code == 1
        assert "another process asks for tag 'T'" in result.output
        assert fake.chats == []
        done(lake, "kinds", "--sample", "1", "--tag", "T", fake=fake)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["kinds", "--tag", "a/b"], "must be 1 to 80 letters"),
        (["kinds", "--tag", "kinds"], "is an interrogation's name"),
        (["moods", "--tag", "T"], "no interrogation is called 'moods'; there are kinds"),
        (["kinds", "--tag", "T", "--version", "7"], "there are 1, 2 (shadow)"),
        (["kinds", "--tag", "T", "--model", "other:1b"], "other:1b"),
        (["compare", "T"], "no experiment has the tag 'T'"),
        (["compare", "kinds"], "no item in common"),
        (["kinds"], "--tag"),
    ],
)
def test_what_cannot_be_done_is_said(lake: Lake, arguments: list[str], problem: str) -> None:
    with FakeOllama() as fake:
        result = holocron(lake, *arguments, fake=fake)
    assert result.exit_code != 0
    assert problem in result.output


def test_a_tag_takes_no_answers_of_another_model(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        done(lake, "kinds", "--sample", "1", "--tag", "T", fake=fake)
        result = holocron(lake, "kinds", "--sample", "1", "--tag", "T", "--model", LARGE, fake=fake)
    assert "holds answers of another prompt or model" in result.output


def test_without_models_nothing_is_asked(lake: Lake) -> None:
    assert "HOLOCRON_LLM is off" in holocron(lake, "kinds", "--tag", "T").output


def test_a_field_that_is_not_there_is_named(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        done(lake, "kinds", "--sample", "1", "--tag", "T", fake=fake)
    assert (
        "no field mood was compared; there are kind, words"
        in holocron(lake, "compare", "T", "--field", "mood").output
    )


def test_a_sample_is_the_same_each_time_and_a_smaller_one_is_part_of_it(lake: Lake) -> None:
    asked = interrogation(rows={})
    larger = [item.item_id for item in sample_items(lake, asked, 6)]
    assert [item.item_id for item in sample_items(lake, asked, 6)] == larger
    assert [item.item_id for item in sample_items(lake, asked, 3)] == larger[:3]
    assert len(sample_items(lake, asked, 100)) == len(TITLES)


def test_a_sample_is_of_several_batches_and_of_what_is_wanted(lake: Lake) -> None:
    more = {f"Rock {letter}": "A rock." for letter in "ABCDEFGH"}
    write_wiki(lake, more, "other-000001")
    asked = interrogation(rows={}, wants={"sql": "title <> 'Tree A' or title = 'Rock A'"})
    subjects = {item.subject for item in sample_items(lake, asked, 100)}
    assert subjects == {*TITLES, *more} - {"Tree A"}
    assert {item.partition for item in sample_items(lake, asked, 8)} == {BATCH, "other-000001"}


def test_what_few_batches_have_is_found_among_many(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    rocks = [f"Rock {number}" for number in range(1, 5)]
    for number, rock in enumerate(rocks, start=1):
        write_wiki(lake, {rock: "A rock."}, f"other{number}-000001")
    monkeypatch.setattr("holocron_assets.derive.repeat.sample._ENOUGH_PARTITIONS", 1)
    for title in ("Tree A", *rocks):
        asked = interrogation(rows={}, wants={"sql": f"title = '{title}'"})
        assert [item.subject for item in sample_items(lake, asked, 5)] == [title]


def test_a_batch_that_is_under_way_is_not_sampled(lake: Lake) -> None:
    write_wiki(lake, {"Rock A": "A rock."}, "other-000001")
    lake.file(PAGE_TYPES, "other-000001").unlink()
    items = sample_items(lake, interrogation(rows={}), 100)
    assert {item.partition for item in items} == {BATCH}


def test_a_sample_of_chunks_has_as_many_items_as_asked_for(lake: Lake) -> None:
    write_wiki(lake, {title: f"{title} is a tree. " * 60 for title in TITLES})
    asked = interrogation(rows={}, chunk_characters=300, evidence=[{"source": "chunk"}])
    items = sample_items(lake, asked, 5)
    assert len({item.item_id for item in items}) == 5


def test_pairs_can_be_sampled(lake: Lake) -> None:
    pair = write_pair(lake, "Tree A", "Tree B", "Plant", (BATCH, BATCH))
    evidence = [{"source": "page", "part": "lead", "of": of} for of in ("first", "second")]
    question = "Is {{ first_title }} {{ second_title }}?"
    asked = interrogation(rows={}, over="pairs", evidence=evidence, question=question)
    assert [item.item_id for item in sample_items(lake, asked, 5)] == [pair]


def test_files_of_this_test_are_read(lake: Lake) -> None:
    names = [one.name for one in read_interrogations(lake.root.parent / "interrogations")]
    assert names == ["kinds", "kinds_shadow_2"]
