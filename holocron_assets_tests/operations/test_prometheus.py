"""A real Prometheus asks a real `holocron web`, and every query of the dashboard has an answer in it."""

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time
from typing import Any

import dagster as dg
import httpx
import pytest
from busy_holocron import SMALL, go_on
from dashboard import PROMETHEUS, dashboard, metrics_in, queries, rules
from fake_ollama import FakeOllama
from sample_holocron import Holocron
from watched_sample import daemon_at_work
from whole_holocron import until

from holocron_assets.lake.files.people_yaml import load_yaml

pytestmark = pytest.mark.full

_SCRAPE_SECONDS = 5


def program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name} of Prometheus, which is not on this machine")
    return path


@contextmanager
def running(command: list[str], **more: Any) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(command, text=True, **more) as process:  # noqa: S603 - our own commands
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Web:
    """The endpoints of a Holocron, served by a process that can be restarted."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.port = free_port()
        self._environment = environment
        self.start()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [str(Path(sys.executable).with_name("holocron")), "web", "--port", str(self.port)]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command, env=self._environment, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        assert self.place in self._process.stdout.readline()

    def end(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)


@dg.job
def some_job() -> None:
    """A job that has nothing to do."""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, busy: Holocron) -> Holocron:
    """One in which work goes on."""
    return busy.copy_to(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("dagster")
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    return home


def work(own: Holocron, home: Path, number: int) -> None:
    """Do more of everything that counters count."""
    go_on(own, number)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        some_job.execute_in_process(instance=instance)


@pytest.fixture(scope="module")
def web(own: Holocron, home: Path) -> Iterator[Web]:
    """With a daemon that was just heard of and a model that is loaded."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        daemon_at_work(instance, ticked_at=time() + 600)  # none ticks while the tests last
    work(own, home, 1)
    with FakeOllama(models={SMALL: "5" * 64}, loaded={SMALL: 4096}) as ollama:
        asking = {"HOLOCRON_LLM": "auto", "OLLAMA_HOST": ollama.url, "HOLOCRON_MODEL": SMALL}
        web = Web({**os.environ, **own.environment, "DAGSTER_HOME": str(home), **asking})
        yield web
        web.end()


@pytest.fixture(scope="module")
def prometheus(
    tmp_path_factory: pytest.TempPathFactory, web: Web, own: Holocron, home: Path
) -> Iterator[httpx.Client]:
    """A Prometheus with our own configuration, which asks more often and elsewhere."""
    folder = tmp_path_factory.mktemp("prometheus")
    config = load_yaml((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))
    often = f"{_SCRAPE_SECONDS}s"
    config["global"] = {"scrape_interval": often, "scrape_timeout": often, "evaluation_interval": often}
    config["rule_files"] = [str(PROMETHEUS / name) for name in config["rule_files"]]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [web.place]}]
    # JSON is YAML too.
    (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
    port = free_port()
    command = [program("prometheus"), f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
    with (
        running(command, stderr=subprocess.DEVNULL),
        httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", trust_env=False, timeout=30) as client,
    ):
        until(lambda: is_ready(client), "Prometheus has asked three times", seconds=300, every=1)
        work(own, home, 2)
        until(lambda: has_grown(client), "it has asked after more work", seconds=120, every=1)
        yield client


def is_ready(client: httpx.Client) -> bool:
    try:
        found = asked(client, 'count_over_time(holocron_up{job="holocron"}[10m]) >= 3')
    except (httpx.TransportError, httpx.HTTPStatusError):
        return False
    return bool(found)


def has_grown(client: httpx.Client) -> bool:
    counters = ("holocron_model_retries_total", 'holocron_dagster_run_seconds_bucket{le="+Inf"}')
    return all(asked(client, f"increase({counter}[10m]) > 0") for counter in counters)


def asked(client: httpx.Client, expr: str, *, is_instant: bool = True) -> list[dict[str, Any]]:
    """What a query gives, as Grafana would ask it."""
    now = time()
    span = {"time": now} if is_instant else {"start": now - 60, "end": now, "step": 5}
    path = "/query" if is_instant else "/query_range"
    answer = client.get(path, params={"query": expr, **span})
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()["data"]["result"]
    return found


@pytest.mark.parametrize("query", list(queries()), ids=lambda query: f"{query.panel}: {query.expr[:60]}")
def test_every_query_of_the_dashboard_gives_data(prometheus: httpx.Client, query: Any) -> None:
    series = asked(prometheus, query.expr, is_instant=query.is_instant)
    points = [point for one in series for point in ([one["value"]] if query.is_instant else one["values"])]
    assert points
    assert all(math.isfinite(float(number)) for _, number in points)


def test_every_variable_of_the_dashboard_offers_a_choice(prometheus: httpx.Client, web: Web) -> None:
    offered = {}
    for one in dashboard()["templating"]["list"]:
        if one["type"] == "query":
            metric, label = one["query"]["query"].removeprefix("label_values(").rstrip(")").split(", ")
            answer = prometheus.get(f"/label/{label}/values", params={"match[]": metric})
            offered[one["name"]] = answer.json()["data"]
    assert offered["instance"] == [web.place]
    assert "sample" in offered["source"]


def test_prometheus_takes_our_rules_and_finds_what_is_wrong(prometheus: httpx.Client) -> None:
    (group,) = prometheus.get("/rules").json()["data"]["groups"]
    assert [rule["name"] for rule in group["rules"]] == [rule["alert"] for rule in rules()]
    assert [rule.get("lastError") for rule in group["rules"] if rule["health"] == "err"] == []
    for rule in rules():
        for metric in metrics_in(rule["expr"]):
            series = f'{{__name__=~"{metric}(_bucket)?"}}'
            assert asked(prometheus, series), f"{rule['alert']} asks for {metric}"


def test_counters_go_on_when_the_endpoint_is_restarted(prometheus: httpx.Client, web: Web) -> None:
    web.end()
    web.start()
    restarted = "resets(process_cpu_seconds_total[10m]) >= 1"
    until(lambda: bool(asked(prometheus, restarted)), "it was asked once more", seconds=120, every=1)
    counters = {name for query in queries() for name in metrics_in(query.expr) if name.endswith("_total")}
    ours = {name for name in counters if name.startswith("holocron_") and "snapshot_failures" not in name}
    assert len(ours) > 8
    for name in ours:
        assert {one["value"][1] for one in asked(prometheus, f"resets({name}[10m])")} == {"0"}, name


@pytest.mark.parametrize("what", [("check", "config", "prometheus.yml"), ("test", "rules", "rules_test.yml")])
def test_promtool_finds_nothing_wrong(what: tuple[str, str, str]) -> None:
    *verb, name = what
    done = subprocess.run(  # noqa: S603 - promtool
        [program("promtool"), *verb, str(PROMETHEUS / name)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test_of_its_own() -> None:
    cases = load_yaml((PROMETHEUS / "rules_test.yml").read_text(encoding="utf-8"))["tests"]
    fires = {one["alertname"] for case in cases for one in case["alert_rule_test"] if one.get("exp_alerts")}
    assert fires == {rule["alert"] for rule in rules()}
