"""An invalid address is reported without being repeated: it may hold a password."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holocron_assets.errors import PermanentError
from holocron_assets.lake.shared.sessions import Connection

UNREADABLE = "postgresql://holocron:stone%salt@127.0.0.1/holocron"


def test_an_address_that_cannot_be_read_is_named_by_its_variable_alone() -> None:
    with pytest.raises(PermanentError, match="HOLOCRON_POSTGRES_URL is no address") as raised:
        Connection(UNREADABLE).ask("select 1")
    assert "stone" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_database_that_is_gone_ends_a_command_with_a_sentence(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HOLOCRON_DATA": str(tmp_path),
        "HOLOCRON_LAKE": "memory://bucket",
        "HOLOCRON_POSTGRES_URL": "postgresql://holocron:stonesalt@127.0.0.1:1/holocron",
    }
    asked = subprocess.run(  # noqa: S603 - a process has one lake: what is asked in this one is known by now
        [Path(sys.executable).parent / "holocron", "controls"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 1
    assert asked.stderr.startswith("Error: PostgreSQL gives no answer")
    assert "stonesalt" not in asked.stderr
