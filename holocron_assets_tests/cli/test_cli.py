"""Commands that read and decide, over a finished sample: what a person sees, and what a script gets."""

import json
import socket
import unicodedata
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from sample_holocron import SAMPLE_BATCH, SAMPLE_EXPORT, Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.decisions.log import all_decisions
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.tables import PAGES
from holocron_assets.operations.state.status import Status

pytestmark = pytest.mark.system


def holocron(of: Holocron, *arguments: str) -> Result:
    """Run one command on a Holocron, in a terminal of 80 columns."""
    return CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "80"})


def printed(result: Result) -> str:
    """What a command that went well printed, with its line breaks undone."""
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def answered(result: Result) -> Any:
    """The JSON that a command printed."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def complaint(result: Result) -> str:
    """What a command said that failed as it should: no traceback, one line of error."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    return " ".join(result.stderr.split())


@pytest.fixture
def with_dead_letter(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    """The sample, with one page that was given up."""
    copy = finished_sample.copy_to(tmp_path)
    pages = read_partition(copy.lake, PAGES, SAMPLE_BATCH)
    for page in pages:
        if page["title"] == "Button":
            page.update(status="dead", attempts=4, error="'Button': the server said 500", revision_id=None)
    write_partition(copy.lake, PAGES, SAMPLE_BATCH, pages)
    return copy


def commands(group: click.Group = main, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*prefix, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*prefix, name))


@pytest.mark.parametrize("words", [(), *commands()], ids=" ".join)
def test_every_command_says_what_it_does(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*words, "--help"])
    assert shown.exit_code == 0
    assert shown.stdout == CliRunner().invoke(main, [*words, "-h"]).stdout
    about = shown.stdout.split("\n\n")[1].strip()
    assert about[0].isupper()
    assert about.endswith(".")
    command: click.Command | None = main
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert silent == []


def test_a_page_is_shown_with_its_entity_type_evidence_and_names(finished_sample: Holocron) -> None:
    said = printed(holocron(finished_sample, "page", "Issa Dorrane"))
    assert said.startswith("Issa Dorrane of sample It is a promoted entity of type PersonCharacter: ")
    assert "infobox_template Character" in said
    assert "PersonCharacter by infobox: " in said
    assert "revision_id 2397" in said
    assert "Issa Dorrane/Canon" in said


def test_a_page_fits_a_terminal_of_80_columns(finished_sample: Holocron) -> None:
    lines = holocron(finished_sample, "page", "Issa Dorrane").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("\u2503" in line or "\u2502" in line for line in lines)


@pytest.mark.parametrize("title", ["issa dorrane", "Issa_Dorrane", "  Issa Dorrane "])
def test_a_page_is_found_however_it_is_written(finished_sample: Holocron, title: str) -> None:
    (report,) = answered(holocron(finished_sample, "page", title, "--json"))
    assert (report["source"], report["title"]) == ("sample", "Issa Dorrane")


def test_a_page_in_json_holds_every_topic(finished_sample: Holocron) -> None:
    (report,) = answered(holocron(finished_sample, "page", "DUO-14", "--json"))
    assert set(report) == {
        *("source", "title", "stuck", "revisions", "signals", "classifications", "type", "entities"),
        *("predictions", "models_answers", "decisions", "aliases", "frontier", "batches", "linked_from"),
        *("dead_letters", "tracebacks", "proposals"),
    }
    assert report["type"][0]["primary_type"] == "Droid"
    assert report["revisions"][0]["fetched_at"].endswith("+00:00")


def test_a_page_that_the_dump_lacks_is_shown_as_skipped_with_the_reason(finished_sample: Holocron) -> None:
    missing = answered(
        holocron(
            finished_sample, "sql", "--json", "select title from frontier where status = 'skipped' limit 1"
        )
    )
    said = printed(holocron(finished_sample, "page", missing[0]["title"]))
    assert "It is skipped: the dump does not hold it." in said


def test_a_page_that_was_given_up_says_why_and_how_it_comes_back(with_dead_letter: Holocron) -> None:
    said = printed(holocron(with_dead_letter, "page", "Button"))
    assert "It is dead-lettered: 'Button': the server said 500. `holocron requeue` brings it back." in said


@pytest.mark.fault(6, "terminal escapes in what a wiki wrote")
def test_wiki_text_is_never_taken_for_markup(with_dead_letter: Holocron) -> None:
    pages = read_partition(with_dead_letter.lake, PAGES, SAMPLE_BATCH)
    for page in pages:
        if page["title"] == "Button":
            page["error"] = "[red]boom[/red] \x1b[31m \x07"
    write_partition(with_dead_letter.lake, PAGES, SAMPLE_BATCH, pages)
    said = holocron(with_dead_letter, "page", "Button").stdout
    assert "[red]boom[/red]" in said
    assert "\x1b" not in said
    assert "\x07" not in said


def test_a_data_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("", encoding="utf-8")
    for command in ("status", "alerts"):
        done = CliRunner().invoke(main, [command], env={"HOLOCRON_DATA": str(tmp_path / "data")})
        assert (done.exit_code, "data, which is a file: name a folder" in done.stderr) == (1, True)


def test_an_unknown_page_says_how_it_would_be_fetched(finished_sample: Holocron) -> None:
    said = complaint(holocron(finished_sample, "page", "Nobody's Page"))
    assert 'no page is called "Nobody\'s Page"' in said
    assert "holocron crawl --source NAME --title" in said


def test_an_unknown_page_of_one_source_names_the_source(finished_sample: Holocron) -> None:
    said = complaint(holocron(finished_sample, "page", "Nobody Ever", "--source", "sample"))
    assert "no page of source 'sample' is called 'Nobody Ever'" in said


@pytest.mark.parametrize(
    "command",
    [
        ("page", "Isa Dorane"),
        ("artifacts", "page_classification", "Isa Dorane"),
        ("decide", "classify", "Isa Dorane", "--type", "Droid", "--reason", "I know"),
        ("ask", "page_classification", "Isa Dorane"),
    ],
)
def test_of_a_misspelt_title_every_command_names_the_nearest(
    finished_sample: Holocron, command: tuple[str, ...]
) -> None:
    said = complaint(holocron(finished_sample, *command))
    assert "Nearest are: 'Issa Dorrane' of sample" in said


@pytest.mark.parametrize("title", ["", "../../etc/passwd", "'; drop table pages; --", "%", "x" * 5000])
def test_any_text_may_be_asked_for_as_a_page(finished_sample: Holocron, title: str) -> None:
    assert "no page is called" in complaint(holocron(finished_sample, "page", title))


def test_status_counts_pages_types_and_entities(finished_sample: Holocron) -> None:
    said = printed(holocron(finished_sample, "status"))
    assert "pages sample" in said
    assert "sample Droid 4" in said
    assert "source type promoted candidate" in said


def test_status_names_dead_letters_with_their_error(with_dead_letter: Holocron) -> None:
    said = printed(holocron(with_dead_letter, "status"))
    assert "title Button" in said
    assert "the server said 500" in said


def test_status_in_json_holds_the_rows_of_the_views(finished_sample: Holocron) -> None:
    report = answered(holocron(finished_sample, "status", "--json"))
    assert set(report) == {field.name for field in fields(Status)}
    (typed,) = [row for row in report["stages"] if row["stage"] == "page_types"]
    assert typed["done"] + typed["review"] == 180
    assert sum(row["items"] for row in report["reasons"] if row["stage"] == "page_types") == 180


def test_status_of_an_empty_lake_says_what_fills_it(tmp_path: Path) -> None:
    said = printed(holocron(sample_holocron(tmp_path), "status"))
    assert said.endswith("The lake is empty. `holocron run` fills it.")


def test_status_of_an_empty_lake_without_an_enabled_source_says_how_to_enable_one(tmp_path: Path) -> None:
    of = sample_holocron(tmp_path)
    assert holocron(of, "sources", "disable", "sample").exit_code == 0
    assert "No source is enabled: `holocron sources enable NAME`" in printed(holocron(of, "status"))


def test_status_names_a_broken_source_file(finished_sample: Holocron, tmp_path: Path) -> None:
    copy = finished_sample.copy_to(tmp_path)
    (copy.sources_folder / "broken.yaml").write_text("name: broken\nkind: gopher\n")
    result = holocron(copy, "status")
    assert "page_types sample" in printed(result)
    assert "broken.yaml, line 2, key 'kind'" in result.stderr


def test_sql_shows_a_table_and_counts_its_rows(finished_sample: Holocron) -> None:
    query = "select title, confidence from page_types where primary_type = 'Droid' order by title limit 1"
    said = holocron(finished_sample, "sql", query).stdout
    assert said.split()[:2] == ["title", "confidence"]
    assert said.rstrip().endswith("1 row")


def test_sql_shows_the_names_of_columns_as_they_are(finished_sample: Holocron) -> None:
    query = "select regexp_replace(title, '[/_]', ' '), regexp_extract(title, '[a-z]+') from pages limit 1"
    said = holocron(finished_sample, "sql", query).stdout
    assert "'[/_]'" in said
    assert "'[a-z]+'" in said


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--source", ""),
        ("review", "--source", ""),
        ("export", "--tables", ""),
        ("export", "--to", ""),
        ("artifacts", "--to", ""),
        ("artifacts", ""),
        ("artifacts", "entity_facts", ""),
        ("backup", ""),
    ],
)
def test_an_empty_shell_variable_is_not_taken_for_all_or_for_here(
    finished_sample: Holocron, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, words, env=finished_sample.environment)
    assert (result.exit_code, "is empty" in result.output) == (2, True)


def test_sql_shows_wide_rows_one_below_the_other(finished_sample: Holocron) -> None:
    said = holocron(finished_sample, "sql", "from entities order by name limit 2").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert said.count("entity_id ") == 2
    assert said.rstrip().endswith("2 rows")


def test_sql_in_json_is_a_list_of_rows(finished_sample: Holocron) -> None:
    rows = answered(holocron(finished_sample, "sql", "--json", "select count(*) as pages from current_pages"))
    assert rows == [{"pages": 180}]


def test_sql_names_the_views(finished_sample: Holocron) -> None:
    names = {row["name"] for row in answered(holocron(finished_sample, "sql", "--json", "show tables"))}
    assert {"pages", "current_pages", "entities", "dead_letters", "processing_status", "frontier"} <= names


def rows_of(of: Holocron, query: str) -> Any:
    return answered(holocron(of, "sql", "--json", query))


def test_sql_that_names_its_relations_gives_what_all_views_give(finished_sample: Holocron) -> None:
    # A call of a table function hides what a query reads, and so has every view made.
    for query in (
        "select count(*) as number from entities",
        "select count(*) as number from lake.pages join page_types using (batch, title_key)",
        "with own as (from pages) select count(*) as number from own, Needs_Review",
        "select count(*) as number from frontier where status = 'skipped'",
        "select count(*) as number from wanted_pages",
        "select (select count(*) from main.tags) as number",
    ):
        assert rows_of(finished_sample, query) == rows_of(
            finished_sample, f"from ({query}), range(1) t(n) select number"
        )


def test_sql_knows_views_of_how_things_stand(finished_sample: Holocron) -> None:
    rows = rows_of(finished_sample, "select stage, done from processing_status where stage = 'entities'")
    assert rows[0]["done"] > 0


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) as number from duckdb_views() where view_name = 'processing_status'",
        "select count(*) as number from query('from processing_status')",
        "select count(*) as number from pages, (describe processing_status)",
        "select count(*) as number from information_schema.tables where table_name = 'aged_work'",
        "create table kept as from pages; select count(*) as number from kept",
        "select count(fits_include(source, title)) + 1 as number from pages",
    ],
)
def test_sql_that_hides_what_it_reads_finds_every_view(finished_sample: Holocron, query: str) -> None:
    assert rows_of(finished_sample, query)[0]["number"] > 0


@pytest.mark.parametrize(
    ("query", "problem"),
    [("selec 1", "syntax error"), ("from nowhere", "nowhere"), ("select no_such from pages", "no_such")],
)
def test_bad_sql_is_reported_in_a_message(finished_sample: Holocron, query: str, problem: str) -> None:
    assert problem in complaint(holocron(finished_sample, "sql", query))


@pytest.mark.parametrize("query", ["", " ;", "/* nothing */", "-- nothing"])
def test_a_query_without_a_statement_is_said_to_be_empty(finished_sample: Holocron, query: str) -> None:
    result = CliRunner().invoke(main, ["sql", "--", query], env=finished_sample.environment)
    assert (result.exit_code, "the query is empty" in result.output) == (2, True), result.output


def test_sql_of_an_empty_lake_has_no_rows(tmp_path: Path) -> None:
    assert printed(holocron(sample_holocron(tmp_path), "sql", "from entities")) == "0 rows"


def test_sources_are_listed_with_what_they_read(finished_sample: Holocron) -> None:
    assert f"sample yes mediawiki_dump {SAMPLE_EXPORT}" in printed(
        holocron(finished_sample, "sources", "list")
    )
    assert answered(holocron(finished_sample, "sources", "list", "--json")) == [
        {"source": "sample", "enabled": True, "kind": "mediawiki_dump", "origin": str(SAMPLE_EXPORT)}
    ]


def test_sources_are_switched_off_and_on(tmp_path: Path) -> None:
    new = sample_holocron(tmp_path)
    assert printed(holocron(new, "sources", "disable", "sample")) == "disabled sample"
    assert new.source().enabled is False
    assert printed(holocron(new, "sources", "enable", "sample")).startswith("enabled sample: ")
    assert new.source().enabled is True


@pytest.mark.parametrize(
    "command",
    [["sources", "enable"], ["sources", "disable"], ["run", "--source"], ["crawl", "--source"]],
    ids=" ".join,
)
def test_an_unknown_source_is_named_with_its_file(tmp_path: Path, command: list[str]) -> None:
    new = sample_holocron(tmp_path)
    assert str(new.sources_folder / "nowhere.yaml") in complaint(holocron(new, *command, "nowhere"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: [1\n", "line 2"),
        ("name: bad\nenabled: true\nkind: gopher\naddress: x\n", "line 3, key 'kind'"),
        ("name: bad\nenabled: true\nkind: mediawiki_dump\naddress: x\ndepht: 2\n", "line 5, key 'depht'"),
    ],
    ids=["no YAML", "wrong value", "unknown key"],
)
def test_a_malformed_source_file_is_reported_with_line_and_key(tmp_path: Path, text: str, place: str) -> None:
    new = sample_holocron(tmp_path)
    (new.sources_folder / "bad.yaml").write_text(text)
    assert f"{new.sources_folder / 'bad.yaml'}, {place}" in complaint(holocron(new, "sources", "list"))


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ("select 1 as a, 2 as a, 3 as a_1, 4 as a", {"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}),
        ("select 1.5 as x, 0.1 + 0.2 as y, 3.0 as z", {"x": 1.5, "y": 0.3, "z": 3}),
        (
            "select map {date '2020-01-01': 1, '2021-02-03': 2} as m",
            {"m": {"2020-01-01": 1, "2021-02-03": 2}},
        ),
        ("select map {1: 'one'} as m", {"m": {"1": "one"}}),
    ],
)
def test_a_query_as_json_has_every_column_and_its_numbers(
    finished_sample: Holocron, query: str, row: dict[str, Any]
) -> None:
    assert answered(holocron(finished_sample, "sql", "--json", query)) == [row]


def test_a_dead_letter_is_requeued_with_author_and_reason(with_dead_letter: Holocron) -> None:
    done = holocron(
        with_dead_letter, "requeue", "--title", "Button", "--reason", "fixed there", "--author", "Ada"
    )
    assert printed(done) == "requeued 1 page"
    (row,) = all_decisions(with_dead_letter.lake)
    assert (row["title"], row["author"], row["reason"]) == ("Button", "Ada", "fixed there")
    assert "It is pending: requeue." in printed(holocron(with_dead_letter, "page", "Button"))


@pytest.mark.parametrize("title", ["button", "BUTTON"])
def test_a_dead_letter_is_requeued_however_its_title_is_written(
    with_dead_letter: Holocron, title: str
) -> None:
    done = holocron(with_dead_letter, "requeue", "--title", title, "--reason", "fixed there")
    assert printed(done) == "requeued 1 page"


def test_all_dead_letters_are_requeued_at_once(with_dead_letter: Holocron) -> None:
    assert printed(holocron(with_dead_letter, "requeue", "--all", "--reason", "fixed")) == "requeued 1 page"
    assert printed(holocron(with_dead_letter, "requeue", "--all", "--reason", "again")) == "requeued 0 pages"


def test_what_is_not_given_up_is_tried_again_at_once_where_it_failed(with_dead_letter: Holocron) -> None:
    said = printed(holocron(with_dead_letter, "requeue", "--title", "DUO-14", "--reason", "hm"))
    assert said == "DUO-14 of sample is not given up: if anything about it failed, it is tried again now"
    assert [row["title"] for row in all_decisions(with_dead_letter.lake)] == ["DUO-14"]


def test_a_title_that_nobody_knows_is_not_requeued(with_dead_letter: Holocron) -> None:
    said = complaint(holocron(with_dead_letter, "requeue", "--title", "Nobody", "--reason", "hm"))
    assert "no page has the title Nobody" in said
    assert all_decisions(with_dead_letter.lake) == []


@pytest.mark.parametrize("arguments", [[], ["--all", "--title", "Button"]], ids=["neither", "both"])
def test_requeue_wants_titles_or_all(with_dead_letter: Holocron, arguments: list[str]) -> None:
    result = holocron(with_dead_letter, "requeue", "--reason", "x", *arguments)
    assert result.exit_code == 2
    assert "name pages with --title, or take all with --all" in result.stderr


def test_requeue_wants_a_reason(with_dead_letter: Holocron) -> None:
    result = holocron(with_dead_letter, "requeue", "--all")
    assert result.exit_code == 2
    assert "--reason" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["no_such_job"], "there is no job 'no_such_job'; there are "),
        (["crawl_batch"], "job crawl_batch needs --partition"),
        (["refresh", "--partition", "sample-000001"], "job refresh takes no --partition"),
        (["check_quality", "--source", "sample"], "job check_quality takes no --source"),
        (["refresh", "--title", "Button"], "job refresh takes no --title"),
        (["add_pages", "--source", "sample"], "job add_pages needs --title"),
    ],
)
def test_launch_says_what_a_job_takes(tmp_path: Path, arguments: list[str], problem: str) -> None:
    result = holocron(sample_holocron(tmp_path), "launch", *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_launch_takes_no_wrong_setting_for_wrong_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_PROCESSES", "x")
    problem = complaint(holocron(sample_holocron(tmp_path), "launch", "report_status"))
    assert "HOLOCRON_PROCESSES" in problem
    assert "Usage" not in problem


def test_launch_names_no_job_of_dagsters_own(tmp_path: Path) -> None:
    result = holocron(sample_holocron(tmp_path), "launch", "nothing")
    assert "resolve_entities" in result.stderr
    assert "__" not in result.stderr


def test_ui_refuses_a_port_that_another_program_uses(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        problem = complaint(holocron(sample_holocron(tmp_path), "ui", "--port", str(port)))
    assert f"port {port} of 127.0.0.1 cannot be used" in problem
    assert "--port" in problem


def test_a_page_is_found_by_a_decomposed_title(finished_sample: Holocron) -> None:
    composed = "Café Orrin"
    decomposed = unicodedata.normalize("NFD", composed)
    result = holocron(finished_sample, "page", decomposed)
    assert f"is called {composed!r}" in complaint(result)


def test_a_page_of_an_unknown_source_names_the_source(finished_sample: Holocron) -> None:
    result = holocron(finished_sample, "page", "Button", "--source", "nosuch")
    assert "nosuch.yaml" in complaint(result)


def test_numbers_that_json_lacks_are_null(finished_sample: Holocron) -> None:
    query = "select 'nan'::double as one, 1.5::double as two"
    rows = answered(holocron(finished_sample, "sql", query, "--json"))
    assert rows == [{"one": None, "two": 1.5}]
