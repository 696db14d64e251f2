"""What was under way at a backup is not after its restore, however soon that is, and holds up nothing."""

from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from dagster import DagsterRunStatus
from disks import remount, small_disk
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.lake.place.marking import mark
from holocron_assets.orchestration.internals.instance import open_instance


@dg.op
def ask() -> None:
    """Never done here."""


@dg.job
def asking() -> None:
    ask()


def use(holocron: Holocron, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in holocron.environment.items():
        monkeypatch.setenv(name, value)


def done(*words: str) -> Result:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return result


def test_a_restore_ends_what_was_under_way_and_frees_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron, other = Holocron(tmp_path / "one"), Holocron(tmp_path / "other")
    use(holocron, monkeypatch)
    mark(holocron.lake.root / "lake")
    with open_instance() as instance:
        going_on = instance.create_run_for_job(asking, status=DagsterRunStatus.STARTED)
        ended = instance.create_run_for_job(asking, status=DagsterRunStatus.SUCCESS)
        storage = instance.event_log_storage
        storage.claim_concurrency_slot("gpu", going_on.run_id, "ask")
        # It had ended when the database of runs was copied, and not yet when that of places was.
        storage.claim_concurrency_slot("crawl", ended.run_id, "ask")
        storage.claim_concurrency_slot("gpu", ended.run_id, "ask")
    made = Path(done("backup", str(tmp_path / "backups")).output.partition(":")[0])
    use(other, monkeypatch)
    done("restore", str(made))
    with open_instance() as instance:
        statuses = {run.run_id: run.status for run in instance.get_runs()}
        places = [instance.event_log_storage.get_concurrency_info(pool) for pool in ("gpu", "crawl")]
    assert statuses == {going_on.run_id: DagsterRunStatus.FAILURE, ended.run_id: DagsterRunStatus.SUCCESS}
    assert [(one.claimed_slots, one.pending_steps) for one in places] == [([], []), ([], [])]


def test_settings_that_cannot_be_put_back_end_a_restore_with_1_and_all_else_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron, other = Holocron(tmp_path / "one"), Holocron(tmp_path / "other")
    use(holocron, monkeypatch)
    mark(holocron.lake.root / "lake")
    own = holocron.folder / "infobox" / "mine.yaml"
    own.parent.mkdir()
    own.write_text("rules: []\n", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_INFOBOX_RULES", str(own.parent))
    made = Path(done("backup", str(tmp_path / "backups")).output.partition(":")[0])
    use(other, monkeypatch)
    with small_disk(tmp_path / "etc", size="1m"):
        remount(tmp_path / "etc", "ro")
        monkeypatch.setenv("HOLOCRON_INFOBOX_RULES", str(tmp_path / "etc" / "infobox"))
        result = CliRunner().invoke(main, ["restore", str(made)])
    assert result.exit_code == 1
    kept = made / "settings" / "infobox" / "mine.yaml"
    assert f"not put back: {tmp_path}/etc/infobox/mine.yaml (Read-only file system)" in result.stderr
    assert f"copy {kept}\n" in result.stderr
    assert "Error: 1 file of settings not put back" in result.stderr
    assert (other.lake.root / "lake").is_dir()
