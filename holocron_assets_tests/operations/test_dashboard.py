"""The dashboard and the alerts use only metrics that we export, and have the shape that is wanted."""

import re

import pytest
from dashboard import GRAFANA, PROMETHEUS, dashboard, metrics_in, panels, queries, rules
from prometheus_client.parser import text_string_to_metric_families
from sample_holocron import Holocron
from watched_sample import watch_over

from holocron_assets.derive.gpu.turns import LONGEST_SECONDS
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.operations.state.status import Status

ROOM = 24
"""Columns of a dashboard."""

NOT_SHOWN = {
    "holocron_damaged_files",
    "holocron_http_received_bytes_total",
    "holocron_last_done_timestamp_seconds",
    "holocron_model_at_work",
    "holocron_models_asked",
    "holocron_source_enabled",
}
"""For people who query them by hand, and for rules."""

SECONDS = {"m": 60, "h": 3600, "d": 86_400}

_WINDOW = re.compile(r"(\w+)\{[^}]*\}\[(\w+)\]")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


@pytest.fixture(scope="module")
def exported(busy: Holocron, busy_status: Status) -> set[str]:
    """The names of all metrics that we export, also of those that have no series now."""
    text, _ = watch_over(busy, status=lambda: busy_status).exposition("")
    families = list(text_string_to_metric_families(text.decode()))
    return {f"{one.name}_total" if one.type == "counter" else one.name for one in families}


def test_every_metric_of_the_dashboard_is_exported(exported: set[str]) -> None:
    named = {name for query in queries() for name in metrics_in(query.expr)}
    assert len(named) > 30
    assert named - exported == set()


def test_the_dashboard_shows_every_metric_of_ours(exported: set[str]) -> None:
    named = {name for query in queries() for name in metrics_in(query.expr)}
    assert {name for name in exported if name.startswith("holocron_")} - named == NOT_SHOWN


def test_every_metric_of_the_alerts_is_exported(exported: set[str]) -> None:
    named = {name for rule in rules() for name in metrics_in(rule["expr"])}
    assert len(named) > 3
    assert named - exported == set()


def test_what_a_session_adds_at_its_end_is_shown_over_at_least_two_of_the_longest() -> None:
    at_end = "model_busy_seconds", "model_read_tokens", "model_written_tokens"
    windows = [
        window
        for query in queries()
        for name, window in _WINDOW.findall(query.expr)
        if name.removeprefix("holocron_").removesuffix("_total") in at_end
    ]
    assert len(windows) == 3
    assert all(int(window[:-1]) * SECONDS[window[-1]] >= 2 * LONGEST_SECONDS for window in windows)


def test_every_panel_has_a_place_of_its_own_and_a_title() -> None:
    taken: dict[tuple[int, int], str] = {}
    everything = dashboard()["panels"]
    for panel in everything:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= ROOM, panel["title"]
        for cell in (
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ):
            assert cell not in taken, f"{panel['title']} lies over {taken[cell]}"
            taken[cell] = panel["title"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    assert all(panel["title"] for panel in everything)


def test_the_dashboard_asks_the_prometheus_that_is_chosen_and_no_other() -> None:
    sources = [target["datasource"] for panel in panels() for target in panel["targets"]]
    variables = dashboard()["templating"]["list"]
    sources += [one["datasource"] for one in variables if one["type"] == "query"]
    assert {source["uid"] for source in sources} == {"${datasource}"}
    assert variables[0] | {"name": "datasource", "type": "datasource", "query": "prometheus"} == variables[0]


def test_every_variable_that_is_asked_for_is_declared() -> None:
    declared = {one["name"] for one in dashboard()["templating"]["list"]}
    used = {
        name
        for panel in panels()
        for target in panel["targets"]
        for name in _VARIABLE.findall(f"{target['expr']} {target['datasource']['uid']}")
    }
    assert used == declared


def test_each_target_of_a_panel_has_a_letter_of_its_own() -> None:
    for panel in panels():
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters), panel["title"]


def test_the_table_names_a_column_for_each_of_its_queries() -> None:
    (table,) = (panel for panel in panels() if panel["type"] == "table")
    renamed = table["transformations"][1]["options"]["renameByName"]
    assert {f"Value #{target['refId']}" for target in table["targets"]} == set(renamed)


def test_grafanas_files_lead_to_the_dashboard_and_to_prometheus() -> None:
    files = GRAFANA / "provisioning"
    sources = load_yaml((files / "datasources" / "holocron.yaml").read_text(encoding="utf-8"))
    assert [source["type"] for source in sources["datasources"]] == ["prometheus"]
    (provider,) = load_yaml((files / "dashboards" / "holocron.yaml").read_text(encoding="utf-8"))["providers"]
    assert provider["options"]["path"] == "$HOLOCRON_GRAFANA"
    assert [file.name for file in GRAFANA.glob("*.json")] == ["holocron.json"]


def test_prometheus_asks_where_holocron_ui_is() -> None:
    config = load_yaml((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = config["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:3000"]}]
    assert config["rule_files"] == ["rules.yml"]
