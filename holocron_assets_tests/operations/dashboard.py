"""The dashboard of deploy/grafana and the rules of deploy/prometheus, as far as tests read them."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.settings import PROJECT_FOLDER

GRAFANA = PROJECT_FOLDER / "deploy" / "grafana"
PROMETHEUS = PROJECT_FOLDER / "deploy" / "prometheus"
_METRIC = re.compile(r"\b(?:holocron|process)_[a-z_]+\b")


class Query(NamedTuple):
    """What one panel asks, with a value for each of the dashboard's variables."""

    panel: str
    expr: str
    is_instant: bool


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GRAFANA / "holocron.json").read_text(encoding="utf-8"))
    return found


def panels() -> list[dict[str, Any]]:
    """All panels but the titles of rows."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def queries() -> Iterator[Query]:
    for panel in panels():
        for target in panel["targets"]:
            expr = target["expr"].replace("$instance", ".*").replace("$source", ".*")
            yield Query(panel["title"], expr, target["instant"])


def rules() -> list[dict[str, Any]]:
    (group,) = load_yaml((PROMETHEUS / "rules.yml").read_text(encoding="utf-8"))["groups"]
    return list(group["rules"])


def metrics_in(expr: str) -> set[str]:
    """The metrics that an expression names; of a histogram's buckets, the histogram."""
    return {name.removesuffix("_bucket") for name in _METRIC.findall(expr)}
