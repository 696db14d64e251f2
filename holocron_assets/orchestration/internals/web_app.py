"""Dagster's web application, to be served behind a guard of our own.

Waits for: a public call of dagster-webserver that gives its application for a workspace file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from starlette.types import ASGIApp

_STATEMENT_MILLISECONDS, _RECYCLE_SECONDS, _MORE_CONNECTIONS = 15_000, 3600, 20
"""The limits that `dagster-webserver` sets on a database by default."""


@contextmanager
def dagster_web_app(instance: dg.DagsterInstance, workspace: Path) -> Iterator[ASGIApp]:
    """Dagster's web application, as `dagster-webserver` makes it.

    Dagster has no public call that gives the application without serving it.

    Args:
        instance: the instance that it shows.
        workspace: the file that names the code location.
    """
    instance.optimize_for_webserver(_STATEMENT_MILLISECONDS, _RECYCLE_SECONDS, _MORE_CONNECTIONS)
    with WorkspaceProcessContext(instance, WorkspaceFileTarget([str(workspace)])) as context:
        yield create_app_from_workspace_process_context(context)
