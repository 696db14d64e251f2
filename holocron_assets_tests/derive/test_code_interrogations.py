"""Interrogations that a query or a function answers: the same items, keys and journals, and no model."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from asked import interrogation
from fake_ollama import LARGE, SMALL, FakeOllama, refused_url
from interrogation_files import read_interrogations
from test_interrogation_files import KINDS, write
from wiki_lake import BATCH, a_wiki, write_pair, write_wiki

from holocron_assets.derive.code.functions import function_version
from holocron_assets.derive.dispatch import backlog
from holocron_assets.derive.dispatch.backlog import stale_partitions
from holocron_assets.derive.dispatch.pools import CODE_POOL
from holocron_assets.derive.dispatch.served import served_by_code, served_models
from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.turns import Given
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError
from holocron_assets.derive.items.items import Item, wanted_items
from holocron_assets.derive.items.recipe import derivation_of, recipe_of
from holocron_assets.derive.results import answers_elsewhere
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.declaration import versions
from holocron_assets.lake.declaration.versions import module_version
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.journals.syncing import SyncedFile
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS, LLM_RUNS, TRACEBACKS

OWN = "holocron_assets.entities.mentions.listed_names:names_of_list"
ONLY_A_MODELS: tuple[str, ...] = (
    "alternatives",
    "evidence",
    "model",
    "options",
    "prompt",
    "question",
    "timeout_seconds",
)
PILOTS = {"Varn": "'''Varn''' was a pilot.", "Moor": "The '''Moor''' is a place with [[Varn]]."}
LINKS = """
    select title as word, lead_length as size
    from page_signals
    where title_key = $title_key and batch = $batch"""
WORDS: dict[str, Any] = {
    "type": "object",
    "required": ["words"],
    "properties": {
        "words": {
            "type": "array",
            "maxItems": 2,
            "description": "Words",
            "items": {
                "type": "object",
                "required": ["word"],
                "properties": {
                    "word": {"type": "string", "maxLength": 40, "description": "A word"},
                    "size": {"type": "integer", "minimum": 0, "maximum": 999, "description": "Its size"},
                },
            },
        }
    },
}


def of_code(**changes: Any) -> Interrogation:
    """An interrogation that no model is asked."""
    kinds = interrogation().model_dump(exclude_defaults=True, exclude=set(ONLY_A_MODELS))
    return Interrogation.model_validate({**kinds, "rows": {}, **changes})


def by_sql(sql: str = LINKS, **changes: Any) -> Interrogation:
    return of_code(kind="sql", sql=sql, answer_schema=WORDS, **{"rows": {"each": "words"}, **changes})


def by_python(function: str = "code_functions:kind_of_page", **changes: Any) -> Interrogation:
    return of_code(kind="python", function=function, **changes)


def answered(lake: Lake, asked: Interrogation, partition: str = BATCH) -> Session:
    """Do all that there is to do, as a run of the dispatcher does."""
    [(model, digest)] = served_by_code([asked]).digests.items()
    run = ModelRun(lake, "", CODE_POOL, model, digest, 0, "run-1", "dispatch")
    session = Session()
    with closing(work_on(run, Given(asked, [partition]), session)) as working:
        list(working)
    return session


def rows(lake: Lake, asked: Interrogation, *names: str, partition: str = BATCH) -> list[tuple[Any, ...]]:
    found = read_partition(Lake(lake.root, (asked.table,)), asked.table, partition)
    return [tuple(row[name] for name in names) for row in found]


def runs(lake: Lake) -> dict[str, dict[str, Any]]:
    """The rows of `llm_runs`, by subject."""
    return {row["subject"]: row for row in read_partition(lake, LLM_RUNS, f"kinds-{BATCH}")}


def keys(lake: Lake, asked: Interrogation, partition: str = BATCH) -> dict[str, str]:
    items: list[Item] = list(wanted_items(lake, asked, partition))
    return {item.subject: item.result_key("d") for item in items}


def test_a_query_answers_every_page_of_a_batch(tmp_path: Path) -> None:
    lake, asked = a_wiki(tmp_path, PILOTS), by_sql()
    assert answered(lake, asked).outcome == "complete"
    assert rows(lake, asked, "title", "position", "word", "size", "model", "supported") == [
        ("Varn", 0, "Varn", 17, "sql", True),
        ("Moor", 0, "Moor", 30, "sql", True),
    ]
    run = runs(lake)["Varn"]
    assert (run["status"], run["calls"], run["run_id"]) == ("ok", 0, "run-1")
    assert json.loads(run["output"]) == {"words": [{"word": "Varn", "size": 17}]}
    assert lake.partitions(GPU_RUNS) == []  # it had no GPU


def test_a_query_answers_about_pairs_by_their_values(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, PILOTS)
    write_pair(lake, "Varn", "Moor", "PersonCharacter", (BATCH, BATCH))
    asked = by_sql("select $first_title || ' or ' || $second_title as word", over="pairs")
    answered(lake, asked, "PersonCharacter")
    assert rows(lake, asked, "first_id", "word", partition="PersonCharacter") == [
        ("id-of-Varn", "Varn or Moor")
    ]


def test_a_function_answers_from_the_parts_of_a_page_and_its_quotes_are_checked(tmp_path: Path) -> None:
    lake, asked = a_wiki(tmp_path, PILOTS), by_python(rows={"quotes": ["quote"]})
    assert answered(lake, asked).outcome == "complete"
    assert rows(lake, asked, "title", "kind", "quote", "supported", "model") == [
        ("Varn", "person", "Varn was a p", True, "python"),
        ("Moor", "place", "The Moor is ", True, "python"),
    ]


def test_what_a_function_does_wrong_is_its_items_error_and_no_others(tmp_path: Path) -> None:
    titles = ("Bad", "Exit", "Fine", "Later", "Never", "Text", "Two", "Wrong")
    lake = a_wiki(tmp_path, {title: f"'''{title}''' is here." for title in titles})
    session = answered(lake, by_python("code_functions:moody"))
    assert (session.items, session.remaining, session.dead) == (8, 3, 4)
    rows = runs(lake)
    assert {title: row["status"] for title, row in rows.items()} == {
        **dict.fromkeys(("Bad", "Exit", "Later"), "failed"),
        **dict.fromkeys(("Never", "Text", "Two", "Wrong"), "dead"),
        "Fine": "ok",
    }
    kept = {row["item"]: row["traceback"] for row in read_partition(lake, TRACEBACKS, f"kinds-{BATCH}")}
    assert kept.keys() == {row["item_id"] for row in rows.values() if row["error"]}
    bad = kept[rows["Bad"]["item_id"]]
    assert "code_functions.py" in bad
    assert bad.endswith("ZeroDivisionError: no pilots to divide by\n")
    assert rows["Bad"]["due_at"] is not None
    assert "ZeroDivisionError: no pilots to divide by (line" in rows["Bad"]["error"]
    assert rows["Never"]["error"] == "Never: it has no pilots at all"
    assert rows["Two"]["error"] == "Two: gave 2 rows; without `rows.each`, an answer is one row"
    assert rows["Wrong"]["error"].startswith("Wrong: answer.kind: 'robot' is not one of")
    assert "gave str instead of a row" in rows["Text"]["error"]


WORKS_LATER = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine
from test_code_interrogations import Lake, answered, by_python

with time_machine.travel(datetime.now(UTC) + timedelta(hours=int(sys.argv[2]))):
    answered(Lake(Path(sys.argv[1])), by_python("code_functions:deadly"))
"""
"""Answers in a process of its own, some hours later."""


def test_answers_of_code_share_the_syncs_of_their_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = a_wiki(tmp_path, {f"Pilot {number}": "A pilot." for number in range(60)})
    synced: list[int] = []
    sync = SyncedFile.sync

    def counted(file: SyncedFile, written: int) -> None:
        synced.append(written)
        sync(file, written)

    monkeypatch.setattr(SyncedFile, "sync", counted)
    assert answered(lake, by_python()).items == 60
    assert len(synced) < 12


@pytest.mark.system
def test_a_page_that_kills_the_process_is_found_and_its_group_is_answered(tmp_path: Path) -> None:
    titles = [*(f"Page {number:02}" for number in range(20)), "Deadly", *"ABCDEFG"]
    lake = a_wiki(tmp_path, {title: f"'''{title}''' is here." for title in titles})
    ends = []
    for hours in range(8):  # so that what failed is due again
        command = [sys.executable, "-c", WORKS_LATER, str(lake.root), str(hours)]
        ends.append(subprocess.run(command, cwd=Path(__file__).parent, check=False).returncode)  # noqa: S603 - our own
        if ends[-1] == 0:
            break
    assert ends == [*([-signal.SIGKILL] * 5), 0], "it kills its group once, and then four times itself"
    found = {subject: (run["status"], run["attempts"]) for subject, run in runs(lake).items()}
    assert found == {**dict.fromkeys(titles, ("ok", 1)), "Deadly": ("dead", 4)}


def test_a_function_cannot_change_what_it_is_given(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, PILOTS)
    answered(lake, by_python("code_functions:changes_what_it_is_given"))
    assert "does not support item assignment" in runs(lake)["Varn"]["error"]
    [item] = [one for one in wanted_items(lake, by_python(), BATCH) if one.subject == "Varn"]
    assert isinstance(getattr(item.given, "variables"), MappingProxyType)  # noqa: B009 - given is of two types


def test_a_query_that_fails_with_one_pages_values_fails_that_page_alone(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, {"12": "'''12''' is a number.", "Moor": "The '''Moor''' is a place."})
    answered(lake, by_sql("select cast(cast($title as int) as varchar) as word"))
    rows = runs(lake)
    assert (rows["12"]["status"], rows["Moor"]["status"]) == ("ok", "dead")
    assert "Could not convert string 'Moor'" in rows["Moor"]["error"]


def test_the_traceback_of_an_item_that_cannot_be_asked_about_is_kept(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, {"12": "'''12''' is a number.", "Moor": "The '''Moor''' is a place."})
    answered(lake, by_sql("select cast(cast($title as int) as varchar) as word"))
    [row] = read_partition(lake, TRACEBACKS, f"kinds-{BATCH}")
    assert row["stage"] == "kinds"
    assert "in _item_without_prompt" in row["traceback"]
    assert "Could not convert string 'Moor'" in row["traceback"]


def test_of_the_same_page_in_another_batch_code_answers_the_same_and_looks_for_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_elsewhere, "answered_scopes", None)
    for asked in (by_sql(), by_python()):
        lake = a_wiki(tmp_path / asked.kind, PILOTS)
        answered(lake, asked)
        write_wiki(lake, PILOTS, "wiki-000002")
        assert keys(lake, asked) == keys(lake, asked, "wiki-000002")
        assert answered(lake, asked, "wiki-000002").tally.calls_saved == 0
        names = {column.name for column in asked.table.columns} - {"batch", "run_id"}
        assert rows(lake, asked, *sorted(names)) == rows(lake, asked, *sorted(names), partition="wiki-000002")


def test_a_key_covers_the_code_and_what_it_read_and_nothing_else(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, PILOTS)
    for make in (by_sql, by_python):
        before = keys(lake, make())
        assert keys(lake, make(version=2)).items().isdisjoint(before.items())
        assert keys(lake, make(priority=3, title="Other")) == before
    by_query = keys(lake, by_sql())
    assert keys(lake, by_sql(f"{LINKS} and true")).items().isdisjoint(by_query.items())
    assert keys(lake, by_python("code_functions:moody")) != keys(lake, by_python())
    by_function = keys(lake, by_python())
    write_wiki(lake, {**PILOTS, "Moor": "The '''Moor''' is a wide place."})
    for changed, before in ((keys(lake, by_sql()), by_query), (keys(lake, by_python()), by_function)):
        assert (changed["Varn"], changed["Moor"] == before["Moor"]) == (before["Varn"], False)


def test_queries_are_not_asked_to_tell_a_tick_how_much_is_left(tmp_path: Path) -> None:
    asked = by_sql()
    digests = served_by_code([asked]).digests
    lake = a_wiki(tmp_path, PILOTS)
    work = PartitionWork(lake, asked, BATCH, model="sql", digest=digests["sql"])
    work.start(work.items[0])
    [part] = stale_partitions(lake, [asked], digests=digests)
    assert part.counts is None
    [part] = stale_partitions(lake, [asked], digests=digests, most_opened=None)
    assert part.counts
    assert part.counts.left == len(work.items)


def test_what_may_wait_for_its_inputs_is_counted_whatever_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, lake = by_sql(), a_wiki(tmp_path, PILOTS)
    monkeypatch.setattr(backlog, "_may_wait", lambda *_: True)
    [part] = stale_partitions(lake, [asked], digests=served_by_code([asked]).digests)
    assert part.counts


@pytest.mark.parametrize("name", ["page_text.py", "clean.py", "language.py"])
@pytest.mark.parametrize("function", ["code_functions:moody", OWN], ids=["people's", "own"])
def test_a_functions_version_covers_the_code_that_makes_its_text(
    function: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changes_with(name, monkeypatch, lambda: function_version(function))


@pytest.mark.parametrize("name", ["page_text.py", "clean.py", "language.py"])
def test_what_a_model_is_shown_is_looked_at_again_when_the_code_that_makes_its_text_changes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changes_with(name, monkeypatch, lambda: derivation_of(interrogation()).code_version)


def changes_with(name: str, monkeypatch: pytest.MonkeyPatch, version: Callable[[], str]) -> bool:
    """Whether a version changes with the code of a module."""

    def changed(module: Path) -> str:
        return f"{module.read_text(encoding='utf-8')}{'changed' * (module.name == name)}"

    monkeypatch.setattr(versions, "_remembered", lambda _what, made: made())
    monkeypatch.setattr(versions, "_code_and_data", lambda module: module.read_text(encoding="utf-8"))
    versions.code_version.cache_clear()
    try:
        before = version()
        monkeypatch.setattr(versions, "_code_and_data", changed)
        versions.code_version.cache_clear()
        return version() != before
    finally:
        versions.code_version.cache_clear()


def test_comments_and_docstrings_make_no_other_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    texts = {
        "plain_code": "def f(x):\n    return x + 1\n",
        "commented_code": '"""A module."""\n\n# why\ndef f( x ):\n    """Add."""\n    return x+1  # one\n',
        "other_code": "def f(x):\n    return x + 2\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    plain, commented, other = map(module_version, texts)
    assert plain == commented != other


def test_a_changed_query_makes_its_table_stale_and_no_other(tmp_path: Path) -> None:
    lake, asked = a_wiki(tmp_path, PILOTS), by_sql()
    answered(lake, asked)
    assert recipe_of(asked, "duckdb").differences(lake, BATCH) == ("model",)
    [digest] = served_by_code([asked]).digests.values()
    assert recipe_of(asked, digest).differences(lake, BATCH) == ()
    assert recipe_of(by_sql(f"{LINKS} and true"), digest).differences(lake, BATCH) == ("prompt",)
    assert PartitionWork(lake, asked, BATCH, model="sql", digest=digest).answered == 2


def test_code_is_there_whatever_model_server_is() -> None:
    away = {"OLLAMA_HOST": refused_url()}
    served = served_models([by_sql(), by_python()], away)
    assert served.digests.keys() == {"sql", "python"}
    assert not served.lacking
    with pytest.raises(ModelServerUnavailable):
        served_models([by_sql(), interrogation()], away)
    with FakeOllama() as ollama:
        served = served_models([by_sql(), interrogation()], {"OLLAMA_HOST": ollama.url})
    assert served.digests.keys() == {"sql", SMALL, LARGE}


CODE: dict[str, Any] = {**dict.fromkeys(ONLY_A_MODELS), "answer_schema": WORDS, "rows": {"each": "words"}}
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"kind": "sql"}, "sql: is missing"),
    ({"kind": "python"}, "function: is missing"),
    ({"kind": "prolog"}, "kind: Input should be 'model', 'embedding', 'sql', 'python' or 'search'"),
    ({"kind": "sql", "sql": LINKS, "model": "small:1b"}, "model: is of kind model; an interrogation of kind"),
    ({"kind": "sql", "sql": LINKS, "follow_up": "Sure?"}, "follow_up: is of kind model"),
    ({"kind": "sql", "sql": LINKS, "evidence": []}, "evidence: is of kind model"),
    ({"kind": "sql", "sql": LINKS, "function": "a:b"}, "function: is of kind python"),
    ({"kind": "sql", "sql": "drop table pages"}, "sql: query 'drop table pages'"),
    ({"kind": "sql", "sql": "select * from no_view"}, "sql: query 'select \\* from no_view'"),
    ({"kind": "sql", "sql": "select $titel as word"}, "sql: query .*no value is called"),
    ({"kind": "sql", "sql": "select 1 as size"}, "sql: it gives no word, which the answer's rows must have"),
    ({"kind": "sql", "sql": "select 'a' as word, 1 as extra"}, "sql: it gives extra, which the answer's"),
    ({"kind": "python", "function": "no_such_module:f"}, "function: 'no_such_module:f' cannot be loaded"),
    ({"kind": "python", "function": "code_functions:none"}, "function: .* has no attribute 'none'"),
    ({"kind": "python", "function": "code_functions:NO_FUNCTION"}, "function: .* is no function, but a int"),
    (
        {
            "kind": "python",
            "function": "code_functions:moody",
            "answer_schema": {
                **WORDS,
                "properties": {**WORDS["properties"], "why": {"type": "boolean", "description": "Why"}},
            },
        },
        "answer_schema: why: only a model fills them in addition to words",
    ),
]


@pytest.mark.parametrize(("change", "problem"), BROKEN, ids=[problem for _, problem in BROKEN])
def test_a_broken_one_fails_with_its_file_key_and_reason(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    path = write(tmp_path, **{**CODE, **change})
    with pytest.raises(InterrogationError, match=f"{path}: {problem}"):
        read_interrogations(tmp_path)


def test_a_model_cannot_be_called_as_a_kind_of_code_is(tmp_path: Path) -> None:
    write(tmp_path, model="sql")
    with pytest.raises(InterrogationError, match="model: no model is called sql; say `kind: sql`"):
        read_interrogations(tmp_path)


def test_code_needs_no_key_of_a_model(tmp_path: Path) -> None:
    write(tmp_path, **CODE, kind="sql", sql=LINKS)
    write(tmp_path, "others", **{**KINDS, "key": "others"})
    code, model = read_interrogations(tmp_path)
    assert (code.models, code.is_of_code) == (("sql",), True)
    assert (model.models, model.is_of_code) == (("qwen2.5-coder:1.5b",), False)
