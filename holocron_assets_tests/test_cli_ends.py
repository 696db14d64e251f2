"""How real commands end: what they leave on the error stream is what a person can use."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sample_holocron import Holocron, sample_holocron

from holocron_assets.interrupts import ending_by_signal

HOLOCRON = str(Path(sys.executable).with_name("holocron"))
BROKEN = """\
name: broken
kind: mediawiki_dump
address: wiki.xml
include: ["a(?<b"]
"""


def ended(holocron: Holocron, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **holocron.environment, "HOLOCRON_LLM": "off"}
    return subprocess.run(  # noqa: S603 - our own command
        [HOLOCRON, *words], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("sources", "list"), 1),
        pytest.param(("status",), 0, marks=pytest.mark.full),
        pytest.param(("crawl", "--source", "broken"), 1, marks=pytest.mark.full),
        pytest.param(("sql", "from read_parquet('nowhere')"), 1, marks=pytest.mark.full),
    ],
)
def test_a_command_that_meets_a_broken_source_says_what_is_wrong_and_no_more(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    holocron = sample_holocron(tmp_path)
    (holocron.sources_folder / "broken.yaml").write_text(BROKEN, encoding="utf-8")
    done = ended(holocron, *words)
    assert done.returncode == code
    assert "broken.yaml, line 4, key 'include[0]'" in done.stderr
    assert "nanobind" not in done.stderr


def interrupted_query() -> None:
    """Be interrupted, and make of it what DuckDB does."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None


def test_ctrl_c_that_the_database_makes_another_error_of_ends_a_command_by_its_code() -> None:
    with pytest.raises(SystemExit) as ended_by, ending_by_signal():
        interrupted_query()
    assert ended_by.value.code == 128 + signal.SIGINT
    with pytest.raises(RuntimeError, match="another"), ending_by_signal():
        raise RuntimeError("another")
