"""What a wiki wrote is printed as it wrote it: Rich makes no pictures of it, and adds no backslashes."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.cli.console import terminal
from holocron_assets.cli.main import main
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.tables import PAGE_CHUNKS
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

WORDS = "tidal [sic] :x: barges"


@pytest.fixture
def marked(indexed_sample: Holocron, tmp_path: Path) -> Holocron:
    """The indexed sample, with a passage that Rich could take for markup."""
    copy = indexed_sample.copy_to(tmp_path)
    chunks = read_partition(copy.lake, PAGE_CHUNKS, SAMPLE_BATCH)
    for chunk in chunks:
        chunk["text"] = chunk["text"].replace("tidal barges", WORDS)
    write_partition(copy.lake, PAGE_CHUNKS, SAMPLE_BATCH, chunks)
    SearchIndex(copy.lake).update()
    return copy


def printed(of: Holocron, *arguments: str) -> str:
    result = CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "200"})
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return result.stdout


def test_a_passage_that_is_found_is_printed_as_the_page_has_it(marked: Holocron) -> None:
    assert WORDS in printed(marked, "search", "tidal barges")


def test_the_nearest_passages_are_printed_as_the_page_has_them(marked: Holocron) -> None:
    said = printed(marked, "answer", "Who steered the tidal barges [sic]?", "--no-model")
    assert "nearest: " in said
    assert "\\" not in said


def test_a_word_between_colons_is_no_picture(finished_sample: Holocron) -> None:
    assert "Foo :x: bar" in printed(finished_sample, "sql", "select 'Foo :x: bar' as title")


def test_every_command_prints_through_the_one_terminal_that_makes_no_pictures_of_words() -> None:
    folder = PROJECT_FOLDER / "holocron_assets" / "cli"
    made = {file.name for file in folder.rglob("*.py") if "Console(" in file.read_text(encoding="utf-8")}
    assert made == {"console.py"}
    assert terminal().render_str(":x:").plain == ":x:"
