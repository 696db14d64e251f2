"""Three interrogations of two models over five batches: the order, the loads, and how busy the server is.

First the dispatcher does it, in a real daemon: sensor, run queue, runs. Then the same work is done as a
person starts it in the UI: one backfill over all assets and batches. Figures are from `gpu_runs`. The
embedded server answers, unless OLLAMA_HOST names another.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from holocron_assets.derive.dispatch.tallies import wanted_counts
from holocron_assets.derive.gpu.gpu_log import merged, seconds_of
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.model_files.fetching import own_model_files
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_footer, read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS, LLM_RUNS
from holocron_assets.settings import PROJECT_FOLDER

SMALL, LARGE = "smollm2:135m", "qwen2.5-coder:0.5b"
SOURCES = ("one", "two", "three", "four", "five")
BIN = Path(sys.executable).parent
LONGEST_SECONDS = 1500
TARGET_BUSY_SHARE = 0.97
BACKFILL = """
import sys
import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from holocron_assets.definitions import defs
from holocron_assets.orchestration.internals.instance import open_instance
with open_instance() as instance:
    batches = instance.get_dynamic_partitions("batches")
    result = defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(name) for name in sys.argv[1:]],
        tags={ASSET_PARTITION_RANGE_START_TAG: batches[0], ASSET_PARTITION_RANGE_END_TAG: batches[-1]},
    )
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=9, help="one page in so many is asked about")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        interrogations = declared(arguments.every)
        for model in (SMALL, LARGE):
            own_model_files().fetch(shipped_catalog().find(model))
        environment = prepare(folder, interrogations)
        os.environ.update(environment)
        lake = open_lake(folder / "data")
        asked = load_interrogations()
        with model_server(environment):
            with daemon(environment, folder / "daemon.log"):
                wait_for(lake, asked)
            print_cycle("By the dispatcher", logged(lake), target=TARGET_BUSY_SHARE)
            shutil.rmtree(lake.root / "lake" / "derive")
            run(
                [sys.executable, "-W", "ignore", "-c", BACKFILL, *(one.table.name for one in asked)],
                environment,
            )
            print_cycle("As one backfill", logged(lake))


def declared(every: int) -> dict[str, dict[str, Any]]:
    """Two interrogations of the small model, and one of the large; each answer is a short one."""
    kinds = ["person", "place", "thing", "event", "other"]
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "enum": kinds, "description": "What it is"}},
    }
    return {
        key: {
            "key": key,
            "version": 1,
            "title": f"What a page is about, asked of {model}",
            "model": model,
            "priority": priority,
            "wants": {"sql": f"title_key % {every} = 0"},
            "evidence": [{"source": "page", "label": "Page", "part": "lead"}],
            "prompt": "Say what the page is about.",
            "question": f"What is {{{{ title }}}}? ({key})",
            "answer_schema": schema,
            "options": {"num_ctx": 4096, "num_predict": 60},
            "timeout_seconds": 120,
        }
        for key, model, priority in (("kinds", SMALL, 600), ("facts", LARGE, 300), ("more", SMALL, 500))
    }


def prepare(folder: Path, interrogations: dict[str, dict[str, Any]]) -> dict[str, str]:
    """A Holocron of five batches, up to the types of their pages; its environment."""
    (folder / "sources").mkdir()
    export = PROJECT_FOLDER / "data" / "sample" / "wiki.xml"
    for name in SOURCES:
        text = f"name: {name}\nenabled: true\nkind: mediawiki_dump\naddress: '{export}'\n"
        (folder / "sources" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "interrogations").mkdir()
    for key, settings in interrogations.items():
        (folder / "interrogations" / f"{key}.yaml").write_text(json.dumps(settings), encoding="utf-8")
    environment = {
        **os.environ,
        "HOLOCRON_DATA": str(folder / "data"),
        "HOLOCRON_SOURCES": str(folder / "sources"),
        "HOLOCRON_STATE": str(folder / "state"),
        "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
        "HOLOCRON_DISPATCH": str(folder / "dispatch.yaml"),
        "DAGSTER_HOME": str(folder / "dagster"),
    }
    run([str(BIN / "holocron"), "run", "--llm", "off"], environment)
    return environment


def run(command: Sequence[str], environment: dict[str, str]) -> None:
    """Run a command; show what it said only if it fails."""
    done = subprocess.run(  # noqa: S603 - our own
        command, env=environment, cwd=PROJECT_FOLDER, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


@contextmanager
def daemon(environment: dict[str, str], log: Path) -> Iterator[None]:
    """Dagster's daemon, with the sensors on, in a process group of its own."""
    command = [str(BIN / "dagster-daemon"), "run", "-w", "workspace.yaml"]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own
            command,
            env=environment,
            cwd=PROJECT_FOLDER,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def wait_for(lake: Lake, interrogations: Sequence[Interrogation]) -> None:
    """Wait until something came of every item, and the last run has ended."""
    wanted = sum(wanted_counts(lake, interrogations).values())
    deadline = monotonic() + LONGEST_SECONDS
    while sum(rows_of(lake, LLM_RUNS)) < wanted:
        if monotonic() > deadline:
            sys.exit(f"not done after {LONGEST_SECONDS} s")
        sleep(1)
    sleep(5)


def rows_of(lake: Lake, table: Table) -> Iterator[int]:
    """How many rows each partition of a table has."""
    for name in lake.partitions(table):
        if footer := read_footer(lake, table, name):
            yield footer.rows


def logged(lake: Lake) -> list[dict[str, Any]]:
    """Rows of `gpu_runs`, in order."""
    return [row for name in lake.partitions(GPU_RUNS) for row in read_partition(lake, GPU_RUNS, name)]


def print_cycle(title: str, rows: Sequence[dict[str, Any]], *, target: float | None = None) -> None:
    print(f"\n{title}")
    print(f"{'model':<22}{'items of':<34}{'loads':>6}{'calls':>7}{'seconds':>9}{'busy':>7}")
    for row in rows:
        seconds = (row["ended_at"] - row["started_at"]).total_seconds()
        items = ", ".join(f"{name} {count}" for name, count in json.loads(row["interrogations"]).items())
        print(
            f"{row['model']:<22}{items:<34}{row['loads']:>6}{row['calls']:>7}{seconds:>9.1f}"
            f"{row['busy_share']:>7.1%}"
        )
    spans = merged((row["started_at"], row["ended_at"]) for row in rows)
    whole = (spans[-1][1] - spans[0][0]).total_seconds()
    busy = sum(row["busy_seconds"] for row in rows)
    wanted = f"; the target is {target:.0%}" if target else ""
    loads, calls = (sum(row[name] for row in rows) for name in ("loads", "calls"))
    print(
        f"{loads} loads, {calls} calls in {whole:.1f} s, "
        f"gaps between runs {whole - seconds_of(spans):.1f} s, busy {busy / whole:.1%}{wanted}"
    )


if __name__ == "__main__":
    main()
