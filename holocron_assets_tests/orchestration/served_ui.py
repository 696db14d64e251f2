"""Dagster's web UI as we serve it, in a process of its own over an instance of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from dagster_at import dagster_at

from holocron_assets.settings import PROJECT_FOLDER

POOL = "tried"
LIMIT_A_POOL = f'mutation {{ setConcurrencyLimit(concurrencyKey: "{POOL}", limit: 1) }}'
"""A change that needs no code location; whether it was done stands in the instance."""


@contextmanager
def dagster_ui(folder: Path, *, workspace: Path | None = None) -> Iterator[str]:
    """Serve; give the address. Without a workspace there are no definitions to show, which is quicker."""
    home = folder / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    if workspace is None:
        workspace = folder / "workspace.yaml"
        workspace.write_text("load_from: []\n")
    command = [
        sys.executable,
        "-m",
        "holocron_assets.orchestration.runtime.web_ui",
        "-p",
        "0",
        "-w",
        str(workspace),
    ]
    environment = {**os.environ, "DAGSTER_HOME": str(home), "HOLOCRON_DATA": str(folder / "data")}
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        env=environment,
        cwd=PROJECT_FOLDER,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout
        try:
            announcement = next(
                (line for line in process.stdout if line.startswith("Dagster's web UI: ")), ""
            )
            yield announcement.rpartition(" ")[2].strip().rstrip("/")
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def is_limited(folder: Path) -> bool:
    """Whether the change was done, as the instance says; it is taken back."""
    with dagster_at(folder / "dagster") as instance:
        storage = instance.event_log_storage
        done = POOL in storage.get_concurrency_keys()
        if done:
            storage.delete_concurrency_limit(POOL)
        return done


def post(address: str, query: str, **headers: str) -> httpx.Response:
    """Send GraphQL as the UI's own page does, but for the headers given."""
    return httpx.post(f"{address}/graphql", json={"query": query}, headers=headers, trust_env=False)
