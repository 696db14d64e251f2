"""Commands that do all the work in one process: run, import and crawl, from a file or a wiki to entities."""

import errno
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import dagster as dg
import pytest
from asked_lake import ask_lake
from click import ClickException
from click.testing import CliRunner, Result
from sample_dagster import definitions_of
from sample_holocron import SAMPLE_EXPORT, Holocron
from tiny_wiki import add_tiny_source, copy_of_export, tiny_wiki

from holocron_assets.cli.main import main
from holocron_assets.cli.shared import clear_errors
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.lake.tables import BATCH_PAGES, ENTITIES, PAGE_TYPES, PAGES
from holocron_assets.orchestration.local.run import LocalRun, RunReport
from holocron_assets.orchestration.runs.waiting import FinishedRun
from holocron_assets.planning.work import Work
from holocron_assets.telemetry.long_work import progress_lines

pytestmark = pytest.mark.system


@pytest.fixture
def new(tmp_path: Path) -> Holocron:
    """A Holocron without a source."""
    holocron = Holocron(tmp_path)
    holocron.sources_folder.mkdir()
    return holocron


def do(monkeypatch: pytest.MonkeyPatch, of: Holocron, *arguments: str) -> Result:
    """Run one command, with a history of runs that is kept in memory: SQLite takes a second a run."""
    monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
    return do_with_history(monkeypatch, of, *arguments)


def do_with_history(monkeypatch: pytest.MonkeyPatch, of: Holocron, *arguments: str) -> Result:
    """Run one command, as if this process had been started for it."""
    monkeypatch.setattr(local_commands, "definitions", lambda: definitions_of(of))
    return CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "80"})


def titles(holocron: Holocron) -> list[str]:
    return [row["title"] for row in ask_lake(holocron.lake, "from current_pages order by batch, position")]


def words(text: str) -> str:
    return " ".join(text.split())


def test_run_does_everything_and_a_second_run_nothing(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=3))
    first = do_with_history(monkeypatch, new, "run")
    assert first.exit_code == 0, first.output
    assert "ok 3" in words(first.stdout)
    assert "No dead letters." in first.stdout
    assert "Nothing to do" not in first.stdout
    assert len(titles(new)) == 3
    assert new.lake.partitions(ENTITIES) != []
    assert new.lake.database.is_file()

    files = {path: path.stat().st_mtime_ns for path in (new.lake.root / "lake").rglob("*.parquet")}
    second = do_with_history(monkeypatch, new, "run")
    assert second.exit_code == 0, second.output
    assert "Nothing to do: pages, types and entities are up to date." in second.stdout
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_a_file_that_only_the_summary_of_a_run_finds_damaged_is_set_aside_and_named(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=3))
    file, finish = new.lake.file(PAGE_TYPES, "small-000001"), LocalRun.finish

    def finish_and_damage(run: LocalRun) -> RunReport:
        report = finish(run)
        file.write_bytes(b"")
        return report

    monkeypatch.setattr(LocalRun, "finish", finish_and_damage)
    result = do(monkeypatch, new, "run")
    assert result.exit_code == 0, result.output
    assert f"set aside lake/{file.relative_to(new.lake.root / 'lake')} is damaged" in words(result.stdout)
    monkeypatch.undo()
    assert do(monkeypatch, new, "run").exit_code == 0
    assert file.exists()


@pytest.mark.system
def test_a_run_goes_back_to_what_the_answers_of_its_own_code_change(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=30))
    assert do_with_history(monkeypatch, new, "run").exit_code == 0
    stated = ask_lake(new.lake, "from entity_relations where method = 'sentence'")
    assert stated, "sentences are read by code, and relations are made from what it says"
    second = do_with_history(monkeypatch, new, "run")
    assert "Nothing to do: pages, types and entities are up to date." in second.stdout


def test_a_run_without_a_terminal_says_in_lines_how_far_it_is(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=1))
    monkeypatch.setattr(local_commands, "progress_lines", partial(progress_lines, every=0.05))
    result = do(monkeypatch, new, "run")
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if re.fullmatch(r".+: \d+ of \d+ done, \d+ s", line)]
    assert len(lines) > 3
    assert len({line.partition(":")[0] for line in lines}) > 1, "they say what is done"


def test_run_without_a_source_says_how_to_get_one(new: Holocron, monkeypatch: pytest.MonkeyPatch) -> None:
    result = do(monkeypatch, new, "run")
    assert result.exit_code == 0
    assert "No source is enabled." in result.stdout
    assert "sources enable" in words(result.stdout)


def test_run_leaves_a_disabled_source_alone_unless_it_is_named(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=2)
    new.add_source("small", export, enabled=False)
    assert "No source is enabled." in do(monkeypatch, new, "run").stdout
    assert do(monkeypatch, new, "run", "--source", "small").exit_code == 0
    assert len(titles(new)) == 2


def test_a_run_without_an_enabled_source_makes_what_follows_from_decisions(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=6)
    new.add_source("small", export, enabled=False)
    assert do(monkeypatch, new, "run", "--source", "small").exit_code == 0
    [first, *_] = ask_lake(new.lake, "from entities where state = 'promoted' order by title")
    assert do(monkeypatch, new, "decide", "suppress", first["entity_id"], "--reason", "x").exit_code == 0
    done = do(monkeypatch, new, "run")
    assert done.exit_code == 0, done.output
    assert "No source is enabled." in done.stdout
    query = f"from entities where entity_id = '{first['entity_id']}'"
    assert [row["state"] for row in ask_lake(new.lake, query)] == ["suppressed"]


def test_run_reports_what_failed_and_still_does_the_other_sources(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=2))
    new.add_source("gone", tmp_path / "gone.xml")
    result = do(monkeypatch, new, "run")
    assert result.exit_code == 1
    assert "list_seeds of gone" in words(result.stdout)
    assert "gone.xml" in words(result.stdout)
    assert len(titles(new)) == 2


def test_run_with_a_broken_source_file_does_the_others_and_fails(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=2))
    (new.sources_folder / "broken.yaml").write_text("name: broken\nenabled: perhaps\n")
    result = do(monkeypatch, new, "run")
    assert result.exit_code == 1
    assert "broken.yaml" in result.stderr
    assert new.lake.partitions(PAGES) == ["small-000001"]


def test_import_makes_the_source_and_goes_to_entities(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = copy_of_export(SAMPLE_EXPORT, tmp_path / "my wiki.xml", pages=8)
    result = do(monkeypatch, new, "import", str(export), "--source", "mine")
    assert result.exit_code == 0, result.output
    assert f"made {new.sources_folder / 'mine.yaml'}" in words(result.stdout)
    assert new.source("mine").origin == str(export)
    assert len(titles(new)) == 8
    assert new.lake.partitions(ENTITIES) != []


def test_import_of_a_truncated_export_keeps_the_pages_before_the_break(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = copy_of_export(SAMPLE_EXPORT, tmp_path / "cut.xml", pages=5, cut=True)
    result = do(monkeypatch, new, "import", str(export), "--source", "cut")
    assert result.exit_code == 1
    assert len(titles(new)) == 5
    said = words(result.stdout)
    assert "cut.xml" in said
    assert titles(new)[-1] in said.partition("cut.xml")[2]


def test_import_of_a_file_that_is_no_export_makes_no_source(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("", "plain words", "<html></html>"):
        (tmp_path / "no.xml").write_text(text)
        result = do(monkeypatch, new, "import", str(tmp_path / "no.xml"), "--source", "no")
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        assert str(tmp_path / "no.xml") in words(result.stderr)
        assert list(new.sources_folder.iterdir()) == []


def test_import_under_the_name_of_another_source_is_refused(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new.add_source("small", tmp_path / "small.xml")
    result = do(monkeypatch, new, "import", str(SAMPLE_EXPORT), "--source", "small")
    assert result.exit_code == 1
    assert "Give this file a source of its own" in words(result.stderr)


def test_import_reports_a_missing_file(new: Holocron, monkeypatch: pytest.MonkeyPatch) -> None:
    result = do(monkeypatch, new, "import", "nowhere.xml", "--source", "small")
    assert result.exit_code == 2
    assert "nowhere.xml" in words(result.stderr)


@pytest.mark.parametrize("name", ["../up", "Large", "a b", "", "x" * 41])
def test_import_under_a_name_that_no_source_can_have_is_refused(
    new: Holocron, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    result = do(monkeypatch, new, "import", str(SAMPLE_EXPORT), "--source", name)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert list(new.folder.rglob("*.yaml")) == []


def test_crawl_fetches_given_pages_of_a_wiki_and_all_that_follows(
    new: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
        result = do(monkeypatch, new, "crawl", "--source", "tiny", "--title", "shade")
    assert result.exit_code == 0, result.output
    assert "cut tiny-000001" in words(result.stdout)
    assert list(titles(new)) == ["Shade"], "nothing was asked for but the page that was named"
    assert "LocationPlace" in new.lake.partitions(ENTITIES)


def test_crawl_of_a_title_that_no_page_can_have_cuts_nothing(
    new: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
        result = do(monkeypatch, new, "crawl", "--source", "tiny", "--title", "a|b")
    assert result.exit_code == 1
    assert "a|b" in result.stderr
    assert new.lake.partitions(BATCH_PAGES) == []


def test_crawl_of_a_wiki_that_is_not_there_says_so_and_loses_nothing(
    new: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
    result = do(monkeypatch, new, "crawl", "--source", "tiny", "--title", "Shade")
    assert result.exit_code == 1
    assert "127.0.0.1" in words(result.stdout)
    assert new.lake.partitions(PAGES) == []


def listed(folder: Path, *lines: str) -> str:
    path = folder / "list.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_crawl_from_a_list_fetches_each_page_once_also_if_the_list_is_given_again(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
        address = f"{wiki.api_url.rpartition('/')[0]}/index.php?title=Lamp&action=view"
        path = listed(tmp_path, '"shade"', f'{{"url": "{address}"}}', '{"title": "Shade"}')
        first = do(monkeypatch, new, "crawl", "--source", "tiny", "--from", path)
        asked = len(wiki.requests)
        second = do(monkeypatch, new, "crawl", "--source", "tiny", "--from", path)
        assert len(wiki.requests) == asked, "the wiki is not asked again"
    assert first.exit_code == 0, first.output
    assert "added 2 pages to source tiny; 0 known before" in words(first.stdout)
    assert list(titles(new)) == ["Shade", "Lamp"]
    assert second.exit_code == 0, second.output
    assert "added 0 pages to source tiny; 2 known before" in words(second.stdout)


def test_import_of_a_list_adds_its_pages_and_run_fetches_them(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
        added = do(monkeypatch, new, "import", listed(tmp_path, '"Shade"'), "--source", "tiny")
        assert added.exit_code == 0, added.output
        assert "added 1 page to source tiny" in words(added.stdout)
        assert new.lake.partitions(PAGES) == []
        assert do(monkeypatch, new, "run", "--source", "tiny", "--llm", "off").exit_code == 0
    assert "Shade" in titles(new)


def test_a_list_with_lines_that_name_no_page_adds_nothing_and_names_them(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ['"Shade"', "not json", '"a|b"', '"http://other.example/wiki/Lamp"', '{"page": "Lamp"}']
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
        result = do(monkeypatch, new, "crawl", "--source", "tiny", "--from", listed(tmp_path, *lines))
    assert result.exit_code == 1
    said = words(result.stderr)
    assert all(f"line {number}: " in said for number in (2, 3, 4, 5))
    assert "http://other.example/wiki/Lamp' is no page of source 'tiny'" in said
    assert "Nothing was added" in said
    assert new.lake.partitions(BATCH_PAGES) == []


def test_a_broken_interrogation_keeps_no_given_page_and_no_list_from_being_added(
    new: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrogations = tmp_path / "interrogations"
    interrogations.mkdir()
    (interrogations / "odd.yaml").write_text("name: odd\nprompt: [\n", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(interrogations))
    with tiny_wiki() as wiki:
        add_tiny_source(new, wiki)
        crawled = do(monkeypatch, new, "crawl", "--source", "tiny", "--title", "Lamp")
        added = do(monkeypatch, new, "import", listed(tmp_path, '"Shade"'), "--source", "tiny")
    assert titles(new) == ["Lamp"]
    assert crawled.exit_code == 1, "what is not asked is said"
    assert re.search("failed not asked: .*odd.yaml", words(crawled.stdout))
    assert added.exit_code == 0, added.output
    assert "added 1 page to source tiny" in words(added.stdout)


def errors(*runs: tuple[str | None, str]) -> list[str]:
    """The errors that are left of runs of one job, each with its error and its share of the partitions."""
    finished = [
        FinishedRun(Work("code", None, f"mark {place}", partitions=tuple(share)), f"{place}", error, None, {})
        for place, (error, share) in enumerate(runs)
    ]
    return RunReport(finished).errors


def test_a_failure_that_a_later_run_of_the_same_job_made_good_is_no_error() -> None:
    """The version of such a job's work is the state of the lake: a later run always has another."""

    assert errors(("disk full", ""), (None, "")) == []
    assert errors((None, ""), ("disk full", "")) == ["code: disk full"]
    assert errors(("disk full", "ab"), (None, "cd")) == ["code: disk full"], "the other share went well"
    assert errors(("disk full", "ab"), (None, "cd"), (None, "ab")) == []
    assert errors(("disk full", "ab"), (None, "")) == [], "a run without shares did all"


@pytest.mark.parametrize("question", [["status"], ["sql", "from pages", "--json"]])
def test_a_reader_of_only_the_first_lines_causes_no_error(
    finished_sample: Holocron, question: list[str]
) -> None:
    command = [str(Path(sys.executable).with_name("holocron")), *question]
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=finished_sample.environment, stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_pipe_that_breaks_elsewhere_is_an_error(
    capfd: pytest.CaptureFixture[str],
) -> None:
    @clear_errors
    def write_to_a_broken_pipe() -> None:
        raise BrokenPipeError(errno.EPIPE, "of a model server")

    with pytest.raises(ClickException, match="of a model server"), capfd.disabled():
        write_to_a_broken_pipe()


def test_the_installed_command_runs_in_a_process_of_its_own(new: Holocron) -> None:
    command = [str(Path(sys.executable).with_name("holocron")), "run"]
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=new.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "No source is enabled." in done.stdout
