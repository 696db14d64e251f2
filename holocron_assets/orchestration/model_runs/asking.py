"""Shared parts of runs that ask a model: the model, the run, the written partitions and their events."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from holocron_assets.derive.dispatch.backlog import model_to_ask
from holocron_assets.derive.dispatch.pools import DispatchSettings, read_dispatch_settings
from holocron_assets.derive.dispatch.served import ServedModels, served_by_code, served_models
from holocron_assets.derive.gpu.gpu_log import seconds_of
from holocron_assets.derive.gpu.model_run import ModelRun, Session
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.footers import Footer
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.orchestration.assets.events import Stored, materialization
from holocron_assets.orchestration.assets.metadata import sample_list
from holocron_assets.orchestration.resources.resources import ModelsResource
from holocron_assets.orchestration.runs.failures import DUE_AT
from holocron_assets.planning.job_names import WORK_TAG
from holocron_assets.settings import dispatch_file

_SENSOR_TAG = "dagster/sensor_name"
_SAMPLES = 5
_SHOWN = ("subject", "status", "calls", "tokens_in", "tokens_out", "unsupported", "output", "error")


@dataclass(frozen=True)
class Asking:
    """A run that is about to ask models.

    Attributes:
        lake: the lake to read pages from and to write answers to.
        server: address of the model server; empty where code answers.
        served: the models of the server, or the kinds of code.
        settings: how work is dispatched.
        run: the run.
    """

    lake: Lake
    server: str
    served: ServedModels
    settings: DispatchSettings
    run: dg.DagsterRun

    @property
    def is_dispatched(self) -> bool:
        """Whether the dispatcher requested the run, and not a person."""
        return _SENSOR_TAG in self.run.tags

    def by_model(self, interrogations: Sequence[Interrogation]) -> dict[str, list[Interrogation]]:
        """Interrogations by the model that each is to ask."""
        found: dict[str, list[Interrogation]] = {}
        for interrogation in interrogations:
            if chosen := model_to_ask(interrogation, self.served.digests):
                found.setdefault(chosen[0], []).append(interrogation)
        return found

    def model_run(self, model: str, interrogations: Sequence[Interrogation]) -> ModelRun:
        """The run's session with one model."""
        return ModelRun(
            lake=self.lake,
            server=self.server,
            pool=self.settings.pool_of(model),
            model=model,
            digest=self.served.digests[model],
            num_ctx=max(one.options.num_ctx for one in interrogations),
            run_id=self.run.run_id,
            started_by=self._started_by(),
            is_of_space=any(one.is_space for one in interrogations),
        )

    def _started_by(self) -> str:
        if self.is_dispatched:
            return "dispatch"
        return "local" if WORK_TAG in self.run.tags else "person"


def asking(
    lake: Lake, models: ModelsResource, run: dg.DagsterRun, interrogations: Sequence[Interrogation]
) -> Asking:
    """Find the model server and its models; code needs no server.

    Raises:
        PermanentError: models are switched off, or the server has none of them; says what to do.
        ModelServerUnavailable: the server gives no answer.
    """
    settings = read_dispatch_settings(dispatch_file())
    if all(one.is_of_code for one in interrogations):
        return Asking(lake, "", served_by_code(interrogations), settings, run)
    server = models.url()
    if server is None:
        raise PermanentError(
            "HOLOCRON_LLM is off, so no model can be asked; set it to auto or embedded, and start again"
        )
    served = served_models(interrogations)
    if not served.digests:
        lacking = ", ".join(sorted(served.lacking))
        raise PermanentError(
            f"the model server at {server} has none of {lacking}; get one with `holocron models fetch NAME` "
            f"for the embedded server, with `ollama pull NAME` for an Ollama"
        )
    return Asking(lake, server, served, settings, run)


def raise_unfinished(session: Session, *, more: Sequence[str] = ()) -> None:
    """Fail the run if work is left, with counts and when the rest is due.

    Args:
        session: its results.
        more: further reasons why it is not complete.

    Raises:
        dagster.Failure: work is left, and a retry would not help now.
        Exception: the problem that ended the session, or a damaged partition.
    """
    if session.problem:
        raise session.problem
    for error in session.problems.values():
        if isinstance(error, DamagedPartitionError):  # the file is set aside, and the rest is done without it
            raise error
    reasons = [f"{name} of {partition}: {error}" for (name, partition), error in session.problems.items()]
    reasons += more
    if session.remaining:
        reasons.insert(0, session.left_in_words())
    if reasons:
        due = {DUE_AT: dg.MetadataValue.timestamp(session.due_at)} if session.due_at else {}
        raise dg.Failure("; ".join(reasons), metadata=due, allow_retries=False)


def written_event(
    lake: Lake, interrogation: Interrogation, partition: str, footer: Footer
) -> dg.AssetMaterialization:
    """The event of a partition whose file was replaced."""
    metadata = answers_metadata(lake, interrogation, partition, footer)
    return materialization(dg.AssetKey(interrogation.table.name), partition, Stored(footer, metadata))


def answers_metadata(
    lake: Lake, interrogation: Interrogation, partition: str, footer: Footer
) -> dict[str, Any]:
    """Items, calls and tokens of a partition, and some answers."""
    scope = scope_of(interrogation.name, partition)
    asked = lake.has(LLM_RUNS, scope)  # a table without wanted items may be missing
    runs = read_partition(lake, LLM_RUNS, scope, columns=_SHOWN) if asked else []
    states = Counter(run["status"] for run in runs)
    answered = [run for run in runs if run["status"] == "ok"]
    step = max(len(answered) // _SAMPLES, 1)
    return {
        "dagster/row_count": footer.rows,
        "content_id": footer.content_id,
        "items": len(runs),
        "answered": states["ok"],
        "given_up": states["dead"],
        "calls": sum(run["calls"] for run in runs),
        "calls_saved": sum(run["calls"] == 0 for run in answered),
        "tokens_in": sum(run["tokens_in"] for run in runs),
        "tokens_out": sum(run["tokens_out"] for run in runs),
        "unsupported_rows": sum(run["unsupported"] for run in runs),
        "sample_answers": sample_list(
            f"{run['subject']}: {run['output']}" for run in answered[::step][:_SAMPLES]
        ),
    }


def session_metadata(session: Session) -> Mapping[str, Any]:
    """The results of a run that asked a model, for its log and its materializations."""
    tally = session.tally
    return {
        "items_asked": tally.items.total(),
        "calls": tally.calls,
        "calls_saved": tally.calls_saved,
        "loads": tally.loads,
        "load_seconds": round(seconds_of(tally.loading), 3),
        "busy_share": round(tally.busy_share, 4),
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "given_up": session.dead,
    }
