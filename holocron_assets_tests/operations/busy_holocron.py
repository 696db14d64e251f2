"""A Holocron in which something of everything goes on: failures, calls, requests, holds, decisions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from knowledge_rows import row_of
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.decisions.controls import ALL, DRAIN, control
from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import (
    CHANGE_LOOKS,
    FILES,
    GPU_RUNS,
    HTTP_ATTEMPTS,
    LLM_ATTEMPTS,
    LLM_RUNS,
    PAGES,
    SITES,
)

SMALL, LARGE = "small:1b", "large:3b"
ASKED = "entity_facts"
SCOPE = f"{ASKED}-{SAMPLE_BATCH}"
OLD = timedelta(hours=2)

_WIKI = """\
name: wiki
enabled: true
kind: mediawiki_api
address: http://127.0.0.1:9/api.php
seeds: {all_pages: true}
politeness: {contact: tests@example.org}
"""


def make_busy(holocron: Holocron) -> None:
    """Write what a Holocron that works leaves behind. Its pages were read two hours ago."""
    now = utc_now()
    (holocron.sources_folder / "wiki.yaml").write_text(_WIKI, encoding="utf-8")
    _grow_old(holocron, now)
    _crawl(holocron, now)
    _ask(holocron, now)
    control(holocron.lake, DRAIN, ALL, author="Ada", reason="the machine moves")
    decided = new_decision(
        "classify", author="Ada", reason="she knows", source="sample", title="Button", value="Droid"
    )
    record(holocron.lake, [decided])


def go_on(holocron: Holocron, number: int) -> None:
    """Add requests to a wiki and for files, calls that are repeated, and a session: the counters grow."""
    now, scope = utc_now(), f"later-{number:06}"
    asked = {"scope": scope, "source": "sample", "started_at": now, "host": "wiki.example", "verb": "POST"}
    requests = [
        row_of(HTTP_ATTEMPTS, attempt_id=f"w{n}", **asked, latency_ms=90.0, outcome=what, retry_wait_s=wait)
        for n, (what, wait) in enumerate([("throttled", 1.0), ("ok", None)])
    ]
    asked |= {"source": "files", "host": "files.example", "resolver": "address"}
    for n, (verb, reason) in enumerate(
        [
            ("GET", "http-200"),
            ("GET", "retry-http-200"),
            ("GET", "cache-hit"),
            ("GET", "http-304"),
            ("HEAD", "http-200"),
        ]
    ):
        of_file = {
            **asked,
            "verb": verb,
            "reason": reason,
            "attempt": 1 + reason.startswith("retry"),
            "status": 200,
            "latency_ms": 0.0 if reason == "cache-hit" else 90.0,
        }
        requests.append(row_of(HTTP_ATTEMPTS, attempt_id=f"f{n}", **of_file, outcome="ok"))
    _write(holocron, HTTP_ATTEMPTS, scope, requests)
    _write(
        holocron, FILES, scope, [row_of(FILES, batch=scope, source="files", status="ok", reason="http-200")]
    )
    of = {"scope": scope, "interrogation": ASKED, "partition": scope, "model": SMALL, "started_at": now}
    calls = [
        row_of(LLM_ATTEMPTS, call_id=f"{scope}-{n}", outcome=what, total_ms=900.0, **{**of, "try": n})
        for n, what in enumerate(["malformed", "ok"], 1)
    ]
    _write(holocron, LLM_ATTEMPTS, scope, calls)
    for minutes, model in ((2, LARGE), (1, SMALL)):
        add_session(
            holocron, model, now - timedelta(minutes=minutes), items=2, calls=2, calls_saved=1, loads=1
        )


def add_session(holocron: Holocron, model: str, begun: datetime, **values: Any) -> None:
    """Add a session of calls of a model, of a minute."""
    row = row_of(GPU_RUNS, gpu_run_id=f"{begun:%H%M%S%f}-{model[:5]}", model=model, started_at=begun)
    ended = {"ended_at": begun + timedelta(minutes=1), "interrogations": "{}"}
    write_partition(holocron.lake, GPU_RUNS, row["gpu_run_id"], [{**row, **ended, **values}])


def _grow_old(holocron: Holocron, now: datetime) -> None:
    """Let the sample be listed and read two hours ago, a page with an error, and one in vain for good."""
    pages = [{**row, "fetched_at": now - OLD} for row in read_partition(holocron.lake, PAGES, SAMPLE_BATCH)]
    pages[0] |= {"status": "failed", "error": "connection reset", "due_at": now + timedelta(hours=1)}
    pages[1] |= {"status": "dead", "error": "gone for good"}
    _write(holocron, PAGES, SAMPLE_BATCH, pages)
    sites = [{**row, "fetched_at": now - OLD} for row in read_partition(holocron.lake, SITES, "sample")]
    _write(holocron, SITES, "sample", sites)


def _crawl(holocron: Holocron, now: datetime) -> None:
    attempts = [
        row_of(HTTP_ATTEMPTS, attempt_id=f"a{n}", source="sample", scope=SAMPLE_BATCH, outcome=outcome)
        for n, outcome in enumerate(["ok", "ok", "ok", "throttled"])
    ]
    sent = {"started_at": now, "bytes": 1000, "host": "wiki.example", "verb": "POST", "latency_ms": 200.0}
    lately = [{**row, **sent} for row in attempts]
    lately[-1]["retry_wait_s"] = 5.0
    _write(holocron, HTTP_ATTEMPTS, SAMPLE_BATCH, lately)
    latest = {"source": "sample", "told": [], "looked_at": now, "due_at": now + OLD}
    _write(holocron, CHANGE_LOOKS, "sample", [row_of(CHANGE_LOOKS, **latest)])


def _ask(holocron: Holocron, now: datetime) -> None:
    of = {"scope": SCOPE, "interrogation": ASKED, "partition": SAMPLE_BATCH, "model": SMALL}
    answers = [
        row_of(LLM_RUNS, item_id=str(n), status="ok", source="sample", finished_at=now, **of)
        for n in range(9)
    ]
    _write(holocron, LLM_RUNS, SCOPE, answers)
    calls = [
        row_of(LLM_ATTEMPTS, call_id=f"c{n}", started_at=now, outcome=outcome, total_ms=1500.0, **of)
        for n, outcome in enumerate(["timeout"] + ["ok"] * 9)
    ]
    calls[1]["attempt"] = 2
    _write(holocron, LLM_ATTEMPTS, SCOPE, calls)
    for minutes, model in ((30, SMALL), (20, LARGE), (10, SMALL)):
        counts = {"items": 3, "calls": 4, "calls_saved": 1, "loads": 1, "tokens_in": 900, "tokens_out": 60}
        add_session(holocron, model, now - timedelta(minutes=minutes), busy_seconds=45.0, **counts)


def _write(holocron: Holocron, table: Table, partition: str, rows: Sequence[dict[str, Any]]) -> None:
    write_partition(holocron.lake, table, partition, rows)
