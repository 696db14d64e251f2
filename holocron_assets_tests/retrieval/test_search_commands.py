"""`holocron search`, `answer` and others take several words as one text, without quotes."""

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from embedded import searched_sample

from holocron_assets.cli.main import main
from holocron_assets.lake.place.paths import Lake

if TYPE_CHECKING:
    from sample_holocron import Holocron


@pytest.fixture(scope="module")
def lake(finished_sample: "Holocron", tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return searched_sample(finished_sample, tmp_path_factory.mktemp("commanded"))


def holocron(lake: Lake, *arguments: str) -> Result:
    sources = str(lake.root.parent / "sources")
    environment = {"HOLOCRON_DATA": str(lake.root), "HOLOCRON_SOURCES": sources, "HOLOCRON_LLM": "off"}
    return CliRunner().invoke(main, arguments, env=environment)


@pytest.mark.parametrize(
    ("command", "words", "found"),
    [
        ("search", ("Issa", "Dorrane"), "Issa Dorrane"),
        ("answer", ("Who", "owned", "the", "Patient", "Heron?"), "Issa Dorrane"),
        ("page", ("Issa", "Dorrane"), "PersonCharacter"),
        ("why", ("Issa", "Dorrane"), "PersonCharacter"),
    ],
)
def test_words_without_quotes_are_one_text(
    lake: Lake, command: str, words: tuple[str, ...], found: str
) -> None:
    bare, quoted = (
        holocron(lake, command, *words, "--json"),
        holocron(lake, command, " ".join(words), "--json"),
    )
    assert (bare.exit_code, quoted.exit_code) == (0, 0), bare.output
    assert bare.stdout == quoted.stdout
    assert found in bare.stdout


@pytest.mark.parametrize("command", ["search", "answer"])
@pytest.mark.parametrize("words", [(), ("",), (" ", "")])
def test_a_text_without_words_is_refused(lake: Lake, command: str, words: tuple[str, ...]) -> None:
    refused = holocron(lake, command, *words)
    assert refused.exit_code == 2, refused.output


@pytest.mark.parametrize(
    "words",
    [
        ("search", "caf\udce9"),
        ("answer", "What is a caf\udce9?"),
        ("sql", "select 'caf\udce9'"),
        ("export", "--format", "jsonld", "--base", "http://caf\udce9/"),
    ],
)
def test_a_text_that_is_not_utf8_is_named(lake: Lake, words: tuple[str, ...]) -> None:
    refused = holocron(lake, *words)
    assert refused.exit_code == 1
    assert "caf\\udce9" in refused.stderr
    assert "has bytes that are not UTF-8: write it in UTF-8" in refused.stderr
