"""Pages that end the process which reads them, each time, with real processes that really die."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_holocron import Holocron, fetch, list_seeds_and_cut

from holocron_assets.cli.main import main
from holocron_assets.crawl.frontier.requeue import requeue
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.freshness import stale_partitions
from holocron_assets.lake.tables import PAGE_FACTS, PAGE_LINKS, PAGE_SIGNALS, PAGE_TYPES, UNREAD_PAGES
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.why.page_report import page_report
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step

PROGRAM = Path(__file__).with_name("deadly_parser.py")
BATCH = "wiki-000001"
INNOCENT = [f"Pilot {number}" for number in range(20)]
MOST_DEATHS = 12
NESTED = "{{{{nobr|{{{{small|{}}}}}}}}}"  # only the parser reads templates in templates


def export(path: Path, word: str) -> Path:
    """An export whose page "Poison", in the middle, has a word in templates in its infobox."""
    titles = [*INNOCENT[:9], "Poison", *INNOCENT[9:]]
    pages = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        "<timestamp>2024-01-01T00:00:00Z</timestamp><model>wikitext</model><format>text/x-wiki</format>"
        f"<text xml:space='preserve'>{{{{Character|name={title}|homeworld=[[Dust]] "
        f"{NESTED.format(word) if title == 'Poison' else ''}}}}}"
        f"\n'''{title}''' was a pilot of [[Dust]].</text>"
        "</revision></page>"
        for number, title in enumerate(titles, 1)
    )
    path.write_text(
        "<mediawiki xmlns='http://www.mediawiki.org/xml/export-0.11/' version='0.11' xml:lang='en'><siteinfo>"
        "<sitename>Wiki</sitename><base>http://wiki/</base><case>first-letter</case><namespaces>"
        f"<namespace key='0' case='first-letter' /></namespaces></siteinfo>{pages}</mediawiki>",
        encoding="utf-8",
    )
    return path


def fetched(folder: Path, word: str) -> Holocron:
    """A Holocron that has fetched the pages, and derived nothing."""
    folder.mkdir()
    holocron = Holocron(folder)
    holocron.add_source("wiki", export(folder / "wiki.xml", word))
    fetch(holocron, list_seeds_and_cut(holocron, "wiki"), "wiki")
    return holocron


def derive_until_done(holocron: Holocron) -> list[int]:
    """Derive again and again, as automation would; give how the processes ended that died."""
    deaths: list[int] = []
    while len(deaths) < MOST_DEATHS:
        command = [sys.executable, str(PROGRAM), str(holocron.lake.root), BATCH]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)  # noqa: S603 - our own program
        if done.returncode == 0:
            return deaths
        deaths.append(done.returncode)
    pytest.fail(f"the batch is not done after {deaths}")


def derive_here(holocron: Holocron) -> None:
    for step in BATCH_STEPS:
        run_step(holocron.lake, step, BATCH, "no run")


def why(holocron: Holocron, title: str) -> str:
    """What `holocron why` prints about a page."""
    variables = {**holocron.environment, "COLUMNS": "200", "HOLOCRON_LLM": "off"}
    result = CliRunner().invoke(main, ["why", title], env=variables)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows_of_others(holocron: Holocron, table: Table) -> list[Row]:
    """What a table says of all pages but the poisonous, without what says when it was made."""
    columns = [column.name for column in table.columns if not column.provenance]
    key = "from_title" if "from_title" in columns else "title"
    rows = read_partition(holocron.lake, table, BATCH)
    return [{name: row[name] for name in columns} for row in rows if row[key] != "Poison"]


def dead_letters(holocron: Holocron) -> dict[str, tuple[int, str]]:
    letters = take_snapshot(holocron.lake, [holocron.source("wiki")], holocron.politeness_folder).dead_letters
    assert {letter.title for letter in letters} <= {"Poison"}
    return {letter.stage: (letter.attempts, letter.error or "") for letter in letters}


WAYS = {
    "DIES-OF-SEGFAULT": "in 4 attempts",
    "DIES-OF-MEMORY": "in 4 attempts",
    "NEVER-ENDS": "in 4 attempts; 4 of them after 1 s",
}


@pytest.mark.full
@pytest.mark.fault(10, "a page ends the process that reads it, each time")
@pytest.mark.parametrize("word", WAYS)
def test_a_page_that_ends_the_process_is_dead_after_four_and_the_others_are_read(
    tmp_path: Path, word: str
) -> None:
    holocron, clean = fetched(tmp_path / "poisoned", word), fetched(tmp_path / "clean", "")
    deaths = derive_until_done(holocron)
    assert len(deaths) == 4
    derive_here(clean)
    for step in BATCH_STEPS:
        assert rows_of_others(holocron, step.table) == rows_of_others(clean, step.table), step.table.name
    assert dead_letters(holocron) == {
        "page_signals": (4, f"Poison: the process ended while reading it, {WAYS[word]}")
    }
    assert ("Timeout" in why(holocron, "Poison")) == (word == "NEVER-ENDS")
    # nothing is left to do, and no note or journal of it
    derivations = [step.derivation for step in BATCH_STEPS]
    assert stale_partitions(holocron.lake, derivations, [BATCH]) == []
    left = [path.name for path in holocron.lake.partition_folder(PAGE_SIGNALS, BATCH).iterdir()]
    assert left == ["data.parquet"]


@pytest.mark.system
@pytest.mark.fault(10, "a page ends the process that reads it, and then the next one")
def test_before_a_page_that_ended_a_process_is_read_again_it_is_named(tmp_path: Path) -> None:
    holocron = fetched(tmp_path / "lake", "DIES-OF-MEMORY")
    command = [sys.executable, str(PROGRAM), str(holocron.lake.root), BATCH]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 - our own program
        for _ in range(2)
    )
    assert (first.returncode, second.returncode) == (-9, -9)
    said = second.stdout + second.stderr
    for part in ("a process ended while it read this page", "Poison", BATCH, "1 of 4", "start the command"):
        assert part in said
        assert part not in first.stdout + first.stderr


@pytest.mark.fault(10, "a parser raises on one page of a batch")
def test_a_page_that_a_parser_raises_on_is_dead_at_once_and_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = fetched(tmp_path / "lake", "")
    refuse(monkeypatch, "link_rows", "Poison")
    derive_here(holocron)
    assert dead_letters(holocron) == {"page_links": (1, "Poison: ValueError: a bracket too many")}
    assert len({row["from_title"] for row in read_partition(holocron.lake, PAGE_LINKS, BATCH)}) == 20
    report = page_report(holocron.lake, [holocron.source("wiki")], "wiki", "Poison")
    expected_status = (
        "Given up for page_links: Poison: ValueError: a bracket too many. `holocron requeue` brings it back."
    )
    assert report["stuck"].endswith(expected_status)


@pytest.mark.system
def test_why_prints_the_traceback_of_a_page_that_a_parser_raises_on_until_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = fetched(tmp_path / "lake", "")
    with monkeypatch.context() as patched:
        refuse(patched, "link_rows", "Poison")
        derive_here(holocron)
    said = why(holocron, "Poison")
    assert "page_links, after 1 attempts: Poison: ValueError: a bracket too many" in said
    assert said.index("Traceback (most recent call last):") < said.index("    holocron requeue ")
    assert "page_by_page.py" in said
    assert "Traceback" not in why(holocron, "Pilot 1")
    requeue(holocron.lake, source="wiki", titles=["Poison"], author="me", reason="it is mended")
    derive_here(holocron)
    assert "Traceback" not in why(holocron, "Poison")


@pytest.mark.system
@pytest.mark.fault(10, "no memory for a page, or a disk that fails while it is read")
@pytest.mark.parametrize(("error", "deaths"), [(MemoryError, 4), (OSError, None)])
def test_what_may_be_the_machines_fault_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception], deaths: int | None
) -> None:
    holocron = fetched(tmp_path / "lake", "")
    with monkeypatch.context() as patched:
        refuse(patched, "link_rows", "Poison", error(5, "Input/output error"))
        for _ in range(4):
            with pytest.raises(error):
                derive_here(holocron)
        if deaths:
            derive_here(holocron)
            assert dead_letters(holocron)["page_links"][0] == deaths
    derive_here(holocron)
    assert bool(dead_letters(holocron)) == bool(deaths)


@pytest.mark.fault(10, "a dead-lettered page is brought back after its parser was repaired")
def test_a_requeued_page_is_read_again_with_a_full_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = fetched(tmp_path / "lake", "")
    with monkeypatch.context() as patched:
        refuse(patched, "link_rows", "Poison")
        derive_here(holocron)
    derivations = [step.derivation for step in BATCH_STEPS]
    assert stale_partitions(holocron.lake, derivations, [BATCH]) == []
    requeue(holocron.lake, source="wiki", titles=["Poison"], author="a person", reason="mended")
    assert stale_partitions(holocron.lake, derivations, [BATCH]) == [BATCH]
    derive_here(holocron)
    assert stale_partitions(holocron.lake, derivations, [BATCH]) == []
    assert dead_letters(holocron) == {}
    assert len({row["from_title"] for row in read_partition(holocron.lake, PAGE_LINKS, BATCH)}) == 21
    assert read_partition(holocron.lake, UNREAD_PAGES, f"{BATCH}-page_links") == []


@pytest.mark.full
@pytest.mark.fault(10, "Ctrl+C while a page is read, more often than a page may end its process")
def test_a_person_who_ends_the_process_is_not_taken_for_the_page(tmp_path: Path) -> None:
    holocron = fetched(tmp_path / "lake", "PRESSED-CTRL-C")
    for _ in range(5):
        command = [sys.executable, str(PROGRAM), str(holocron.lake.root), BATCH]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)  # noqa: S603 - our own program
        assert done.returncode == -2
    derive_here(holocron)
    assert dead_letters(holocron) == {}
    assert len(read_partition(holocron.lake, PAGE_TYPES, BATCH)) == 21
    assert len({row["title"] for row in read_partition(holocron.lake, PAGE_FACTS, BATCH)}) == 21


def refuse(
    monkeypatch: pytest.MonkeyPatch,
    reader: str,
    refused: str,
    error: Exception | None = None,
) -> None:
    """Let a step's reader raise on one page."""
    real: Callable[..., list[Row]] = getattr(sys.modules[run_step.__module__], reader)

    def read(page: Row, *arguments: object) -> list[Row]:
        if page["title"] == refused:
            raise error or ValueError("a bracket too many")
        return real(page, *arguments)

    monkeypatch.setattr(sys.modules[run_step.__module__], reader, read)
