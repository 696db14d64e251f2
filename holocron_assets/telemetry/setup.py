"""Logs and traces of a process, set up at its start."""

from holocron_assets.telemetry.logs import configure_logs
from holocron_assets.telemetry.spans import configure_traces


def observe_process() -> None:
    """Write this process's log lines, and send its spans, as the environment says.

    Raises:
        ObserveError: the environment has a wrong setting; the message names the variable.
    """
    configure_logs()
    configure_traces()
