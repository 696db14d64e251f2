"""An address that is none is told of without being repeated: it may hold a password."""

import pytest
from click.testing import CliRunner

from holocron_assets.cli import main
from holocron_assets.lake.errors import PermanentError
from holocron_assets.lake.shared.sessions import Connection

UNREADABLE = "postgresql://holocron:stone%salt@127.0.0.1/holocron"


def test_an_address_that_cannot_be_read_is_named_by_its_variable_alone() -> None:
    with pytest.raises(PermanentError, match="HOLOCRON_POSTGRES_URL is no address") as raised:
        Connection(UNREADABLE).ask("select 1")
    assert "stone" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_database_that_is_gone_ends_a_command_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path_factory.mktemp("mirror")))
    monkeypatch.setenv("HOLOCRON_LAKE", "memory://bucket")
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", "postgresql://holocron:stonesalt@127.0.0.1:1/holocron")
    asked = CliRunner().invoke(main, ["controls"])
    assert asked.exit_code == 1
    assert asked.output.startswith("Error: PostgreSQL gives no answer")
    assert "stonesalt" not in asked.output
