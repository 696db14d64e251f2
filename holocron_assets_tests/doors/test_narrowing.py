"""A misspelt type, state, continuity or source is refused, with what there is: it would find nothing."""

import re

import pytest
from click.testing import CliRunner
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.doors.frames import Holocron as Frames
from holocron_assets.doors.narrowing import CONTINUITIES, SEARCHED_STATES, STATES
from holocron_assets.lake.tables import ENTITIES

pytestmark = pytest.mark.system


def refused(of: Holocron, *arguments: str) -> str:
    done = CliRunner().invoke(
        main, arguments, env={**of.environment, "COLUMNS": "200", "HOLOCRON_LLM": "off"}
    )
    assert done.exit_code in {1, 2}, done.output
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("search", "tea", "--type", "Drod"), "there is no type 'Drod'; did you mean 'Droid'?"),
        (("search", "tea", "--type", "Persn"), "there is no type 'Persn'; there is PersonCharacter, Droid, "),
        (("search", "tea", "--source", "sampel"), "there is no source 'sampel'; did you mean 'sample'?"),
        (("search", "tea", "--state", "promotd"), "there is no state 'promotd'; did you mean 'promoted'?"),
        (("search", "tea", "--state", "merged"), "there is no state 'merged'; there is staged, candidate, "),
        (("search", "tea", "--state", "suppressed"), "there is no state 'suppressed'"),
        (("search", "tea", "--continuity", "cannon"), "no continuity 'cannon'; did you mean 'canon'?"),
        (("files", "list", "--state", "ded"), "there is no state 'ded'; did you mean 'dead'?"),
        (("files", "list", "--source", "nope"), "there is no source 'nope'; there is sample"),
        (("search", " "), "TEXT is empty"),
        (("answer", ""), "QUESTION is empty"),
    ],
)
def test_a_command_refuses_what_would_find_nothing(
    indexed_sample: Holocron, arguments: tuple[str, ...], problem: str
) -> None:
    assert problem in refused(indexed_sample, *arguments)


def test_frames_refuse_it_too(indexed_sample: Holocron, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in indexed_sample.environment.items():
        monkeypatch.setenv(name, value)
    holocron = Frames()
    with pytest.raises(ValueError, match="there is no type 'Drod'; did you mean 'Droid'"):
        holocron.entities(type=["Species", "Drod"])
    with pytest.raises(ValueError, match="there is no source 'sampel'; did you mean 'sample'"):
        holocron.search("tea", source="sampel")
    with pytest.raises(ValueError, match="there is no type 'Drod'"):
        holocron.facts(type="Drod")
    assert holocron.entities(state=["merged", "suppressed"]).columns.size, "of entities these are states"


def test_the_words_are_those_that_the_tables_declare() -> None:
    said = {column.name: set(re.findall("'([a-z]+)'", column.description)) for column in ENTITIES.columns}
    assert set(STATES) == said["state"]
    assert set(SEARCHED_STATES) == said["state"] - {"merged", "suppressed"} | {"none"}
    assert set(CONTINUITIES) == said["continuity"]
