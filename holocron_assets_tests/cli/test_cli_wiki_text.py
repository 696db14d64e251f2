"""What a wiki wrote is printed as it wrote it: Rich makes no pictures of it, and adds no backslashes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_holocron import SAMPLE_BATCH, Holocron

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


def consoles() -> Iterator[tuple[Path, ast.Call]]:
    for file in (PROJECT_FOLDER / "holocron_assets" / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Console":
                yield file, node


def test_no_console_of_a_command_makes_pictures_of_words() -> None:
    found = list(consoles())
    assert found
    pictured = {
        f"{file.name}:{call.lineno}"
        for file, call in found
        if "emoji" not in {keyword.arg for keyword in call.keywords}
    }
    assert pictured == set()
