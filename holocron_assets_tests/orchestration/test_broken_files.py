"""One file that people write and that cannot be used keeps the code from nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from interrogation_files import read_interrogations
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.derive.interrogations import loading
from holocron_assets.derive.interrogations.files import read_each
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.derive.interrogations.unread import refuse_unread_answers
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

SHIPPED = PROJECT_FOLDER / "data" / "interrogations"
TORN = "key: [\n"
KINDS = {
    "SOURCES": "sources/torn.yaml",
    "INTERROGATIONS": "interrogations/page_events/interrogation.yaml",
    "INFOBOX_RULES": "infobox/torn.yaml",
    "DISPATCH": "dispatch.yaml",
    "ALERTS": "alerts.yaml",
    "SCHEDULES": "schedules.yaml",
    "WEBHOOKS": "webhooks.yaml",
    "TAGS": "tags.yaml",
}
"""A file of each kind, by the end of the variable that names it or its folder."""

_LOADED = """
import json
import dagster as dg
from holocron_assets.definitions import defs
from holocron_assets.orchestration.runtime.settings_files import broken_settings
dg.Definitions.validate_loadable(defs)
jobs = [job.name for job in defs.resolve_all_job_defs()]
print(json.dumps({"assets": [spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()],
                  "jobs": jobs, "broken": broken_settings()}))
"""


def environment_of(folder: Path, *kinds: str) -> dict[str, str]:
    """The settings of a copy of what is shipped, in which a file of each of some kinds is torn."""
    shutil.copytree(SHIPPED, folder / "interrogations")
    for name in ("sources", "infobox"):
        (folder / name).mkdir()
    for kind in kinds:
        (folder / KINDS[kind]).write_text(TORN, encoding="utf-8")
    places = {f"HOLOCRON_{kind}": str(folder / place.partition("/")[0]) for kind, place in KINDS.items()}
    return {**places, "HOLOCRON_DATA": str(folder), "DAGSTER_HOME": "", "HOLOCRON_LLM": "off"}


def python(folder: Path, *arguments: str, kinds: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    """A process of its own: modules read some files when they are imported."""
    environment = {**os.environ, **environment_of(folder, *kinds)}
    return subprocess.run(  # noqa: S603 - our own
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,  # without a home, Dagster makes one where it is
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def test_valid_code_is_loaded_with_a_broken_file_of_each_kind_and_names_them_all(
    tmp_path: Path,
) -> None:
    done = python(tmp_path, "-c", _LOADED, kinds=tuple(KINDS))
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "derived_page_events" not in loaded["assets"]
    assert {"pages", "page_types", "entities", "derived_page_classification"} <= set(loaded["assets"])
    assert {"crawl_batch", "settle_batch", "resolve_entities", "derive"} <= set(loaded["jobs"])
    names = ("sources", "interrogations", "infobox", "dispatch", "schedules", "alerts", "webhooks", "tags")
    assert set(loaded["broken"]) == set(names)
    for kind, name in (("INTERROGATIONS", "interrogations"), ("TAGS", "tags"), ("INFOBOX_RULES", "infobox")):
        assert str(tmp_path / KINDS[kind]) in loaded["broken"][name]


def test_what_reads_a_broken_interrogation_is_left_out_with_it(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED, tmp_path / "all")
    every = {one.name for one in read_interrogations(tmp_path / "all")}
    (tmp_path / "all" / "entity_timeline" / "interrogation.yaml").write_text(TORN, encoding="utf-8")
    reading = read_each(tmp_path / "all")
    assert reading.broken.keys() == {"entity_timeline", "entity_summary"}
    assert {one.name for one in reading.good} == every - reading.broken.keys()


def test_a_folder_that_cannot_be_read_is_reported_as_broken(tmp_path: Path) -> None:
    reading = read_each(tmp_path / "gone")
    assert reading.good == ()
    assert reading.broken.keys() == {str(tmp_path / "gone")}


@pytest.fixture
def broken_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of which the interrogation that types pages cannot be read."""
    own = environment_of(tmp_path)
    (tmp_path / "interrogations" / "page_classification" / "interrogation.yaml").write_text(TORN)
    for name, value in own.items():
        if value:
            monkeypatch.setenv(name, value)
    return tmp_path


def test_what_is_made_from_answers_that_cannot_be_read_stays_as_it_is(broken_types: Path) -> None:
    lake = Lake(broken_types)
    refuse_unread_answers(lake, ["page_types", "entities"])  # there are no answers to lose
    (typing,) = (one for one in read_interrogations(SHIPPED) if one.name == "page_classification")
    write_partition(lake, typing.table, "sample-000001", [])
    for table in ("page_types", "entities"):
        with pytest.raises(InterrogationError, match=f"{table} stays as it is, since answers of page_class"):
            refuse_unread_answers(lake, [table])
    refuse_unread_answers(lake, ["page_links", "page_facts"])


@pytest.mark.usefixtures("broken_types")
@pytest.mark.parametrize(
    "command",
    [
        ("ask", "page_classification", "Issa Dorrane"),
        ("pause", "--interrogation", "page_classification", "--reason", "x"),
    ],
)
def test_a_command_that_names_a_broken_interrogation_fails_with_its_error(command: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 1
    assert "page_classification/interrogation.yaml: is not valid YAML" in refused.output


def test_status_names_what_is_left_out(broken_types: Path, finished_sample: Holocron) -> None:
    own = {**finished_sample.environment, "HOLOCRON_INTERROGATIONS": str(broken_types / "interrogations")}
    shown = CliRunner().invoke(main, ["status"], env=own)
    assert shown.exit_code == 0, shown.output
    assert "An interrogation is left out: " in shown.stderr
    assert "page_classification/interrogation.yaml" in shown.stderr
    assert loading.broken_interrogations().keys() == {"page_classification"}
