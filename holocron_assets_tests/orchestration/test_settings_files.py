"""A settings file that cannot be used is reported by its name, and alerts are raised all the same."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from sample_dagster import lake_resource, sources_resource
from sample_holocron import Holocron, sample_holocron

from holocron_assets.operations.notifications.alerts import firing
from holocron_assets.orchestration.runtime.settings_files import broken_settings
from holocron_assets.orchestration.sensors.alerts import raise_alerts
from holocron_assets.settings import PROJECT_FOLDER

BROKEN = {
    "sources": ("sources/tiny.yaml", "name: tiny\nkind: mediawiki_api\napi_uri: x\n", "api_uri"),
    "interrogations": ("interrogations/torn.yaml", "key: [", "torn.yaml"),
    "dispatch": ("dispatch.yaml", "mode: wild\n", "mode"),
    "schedules": ("schedules.yaml", "groups: [{group: nite, cron: '0 2 * * *'}]\n", "'nite'"),
    "alerts": ("alerts.yaml", "failure: {percent: 1}\n", "failure"),
    "webhooks": ("webhooks.yaml", "webhooks: {ops: {privat: true}}\n", "privat"),
}


@pytest.fixture
def holocron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    own = sample_holocron(tmp_path)
    files = {name: str(tmp_path / place.partition("/")[0]) for name, (place, _, _) in BROKEN.items()}
    (tmp_path / "interrogations").mkdir(exist_ok=True)
    changed = {f"HOLOCRON_{name.upper()}": path for name, path in files.items()}
    for name, value in {**own.environment, **changed}.items():
        monkeypatch.setenv(name, value)
    return own


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def break_one(holocron: Holocron, name: str) -> None:
    place, text, _ = BROKEN[name]
    (holocron.folder / place).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_used_is_named_with_the_reason_until_it_is_repaired(
    holocron: Holocron, name: str
) -> None:
    assert broken_settings() == {}
    break_one(holocron, name)
    problems = broken_settings()
    assert problems.keys() == {name}
    assert BROKEN[name][2] in problems[name]
    assert str(holocron.folder / BROKEN[name][0]) in problems[name]
    (holocron.folder / BROKEN[name][0]).unlink()
    assert broken_settings() == {}


@pytest.mark.usefixtures("holocron")
@pytest.mark.parametrize("name", ["HOLOCRON_RUN_DAYS", "HOLOCRON_CRAWLERS", "HOLOCRON_PROCESSES"])
def test_a_number_of_the_environment_that_is_none_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "abc")
    assert name in broken_settings()["environment"]


@pytest.mark.parametrize("name", ["webhooks", "alerts", "sources", "dispatch", "interrogations"])
def test_alerts_are_raised_whatever_cannot_be_used(
    holocron: Holocron, instance: dg.DagsterInstance, name: str
) -> None:
    break_one(holocron, name)
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    with dg.build_sensor_context(instance=instance, resources=resources) as context:
        answer = raise_alerts(context)
    assert isinstance(answer, dg.SkipReason)
    assert f"the settings of {name} cannot be used" in str(answer.skip_message)
    assert [(row["rule"], row["subject"]) for row in firing(holocron.lake)] == [("settings", name)]


def test_what_is_shipped_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BROKEN:
        monkeypatch.delenv(f"HOLOCRON_{name.upper()}", raising=False)
    assert (PROJECT_FOLDER / "data" / "alerts.yaml").is_file()
    assert broken_settings() == {}
