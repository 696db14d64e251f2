"""Every sensor ticks as the daemon has it tick: it gives context and resources by their names."""

from pathlib import Path

import dagster as dg
import pytest
from sample_dagster import lake_resource, sources_resource
from sample_holocron import Holocron

from holocron_assets.definitions import defs

SENSORS = {sensor.name: sensor for sensor in defs.sensors or () if isinstance(sensor, dg.SensorDefinition)}


@pytest.mark.parametrize("name", SENSORS)
def test_a_sensor_takes_what_the_daemon_gives_it(name: str, tmp_path: Path) -> None:
    holocron = Holocron(tmp_path)
    holocron.sources_folder.mkdir()
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources=resources, sensor_name=name) as context,
    ):
        answer = SENSORS[name].evaluate_tick(context)
    assert answer.skip_message, "there is nothing to do"
