"""What can go wrong with a call of a model, and its cause. Only this module decides that."""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from holocron_assets.errors import PermanentError, TransientError
from holocron_assets.lake.attempts import delay_after
from holocron_assets.telemetry.masking import without_secrets

if TYPE_CHECKING:
    from holocron_assets.derive.engine.official_client import ollama

CallOutcome = Literal[
    "ok",
    "malformed",
    "invalid",
    "truncated",
    "overflow",
    "timeout",
    "server_down",
    "server_error",
    "out_of_memory",
    "model_missing",
    "wrong_model",
    "refused",
]
"""The outcome of a call, as in column `outcome` of table `llm_attempts`."""

PERHAPS_SERVERS_FAULT: frozenset[CallOutcome] = frozenset({"timeout", "server_error"})
"""An item may cause these, or a broken server; the server's other answers show which."""

_UNREADABLE, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _UNAVAILABLE = 400, 401, 403, 404, 429, 503

_NO_MEMORY = re.compile(
    r"out of memory|requires more (system )?memory|unable to allocate|failed to allocate|cannot allocate"
    r"|insufficient memory|allocate backend buffer|bad_alloc|mem_buffer != NULL",
    re.IGNORECASE,
)
# An Ollama says that it lacks the vocabulary, or cannot sample, where it can make no grammar of a schema.
_NO_GRAMMAR = re.compile(r"grammar|schema|required for format|sampling context", re.IGNORECASE)
_NO_ROOM = re.compile(
    r"exceed\w* (the )?((available|max(imum)?) )?context|context (size|length|window)\D*exceed"
    r"|prompt too long",
    re.IGNORECASE,
)


class ModelServerUnavailable(TransientError):  # noqa: N818 - named for what happened
    """No model server answers for now.

    Attributes:
        due_at: when it may be asked again.
    """

    def __init__(self, reason: str, due_at: datetime) -> None:
        """Say why, and until when."""
        super().__init__(f"{reason}; to be asked again at {due_at.isoformat(timespec='seconds')}")
        self.due_at = due_at


class ModelServerRefusedError(PermanentError):
    """The model server refuses us."""


class ModelMissingError(PermanentError):
    """The server has none of the models that may be asked. The message names the command that gets one."""


class ModelTooLargeError(PermanentError):
    """A model does not fit into the server's memory."""


class WrongModelError(ValueError):
    """Another model answered than the one that was asked."""


class ContextTooSmallError(PermanentError):
    """The server reads fewer tokens at once than an interrogation counts on, and would cut in silence."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no answer that counts.

    Attributes:
        outcome: the outcome of the call.
        reason: in a line, for people; it does not name the item.
        traceback: of the error that caused it; None if no error did.
        busy_seconds: how long a busy server asks to wait, 0 if it does not say; None if it is not busy.
        is_refusal: whether the server answers that the request is wrong, as it would each time.
    """

    outcome: CallOutcome
    reason: str
    traceback: str | None = field(default=None, repr=False, compare=False)
    busy_seconds: float | None = None
    is_refusal: bool = False


def problem_of(
    failure: Failure, model: str, fetch_command: str, now: datetime, *, is_servers: bool
) -> Exception | None:
    """Why a run has to stop, because other items would fail, too; None if only this one failed.

    Args:
        failure: the failure of a call.
        model: the model that was asked.
        fetch_command: the command that gets the server a model that it lacks.
        now: the moment.
        is_servers: whether the server is to blame for a failure that an item could have caused, too.
    """
    match failure.outcome:
        case "model_missing":
            return ModelMissingError(f"{failure.reason}; get it with `{fetch_command} {model}`")
        case "out_of_memory":
            return ModelTooLargeError(f"{failure.reason}; choose a smaller model or num_ctx, or free memory")
        case "refused":
            return ModelServerRefusedError(failure.reason)
        case "server_down" | "wrong_model":
            wait = max(delay_after(1), timedelta(seconds=failure.busy_seconds or 0))
            return ModelServerUnavailable(failure.reason, now + wait)
    return ModelServerUnavailable(failure.reason, now + delay_after(1)) if is_servers else None


def refused_schema(failure: Failure, interrogation: str) -> Failure:
    """The failure of a call that the server refuses because of the schema, for those who wrote the schema.

    Args:
        failure: the failure of the call.
        interrogation: the name of the interrogation whose schema it is.
    """
    reason = (
        f"the server refuses every question of {interrogation} because of its answer_schema, and takes "
        f"a simple one: simplify the schema, or lower its maxItems and maxLength ({failure.reason})"
    )
    return replace(failure, reason=reason)


def failure_of_call(error: Exception, *, model: str, timeout_seconds: float) -> Failure:
    """The failure that an error of the client means.

    Args:
        error: as raised while a call was under way.
        model: the model that was asked.
        timeout_seconds: how long the call might take.
    """
    # The client takes a fifth of a second to import, and most importers of this module ask no server.
    from holocron_assets.derive.engine.bounded_client import is_unreachable, wait_asked  # noqa: PLC0415
    from holocron_assets.derive.engine.official_client import ollama  # noqa: PLC0415

    match error:
        case TimeoutError():
            return Failure("timeout", f"{model} gave no whole answer within {timeout_seconds:g} s")
        case _ if is_unreachable(error):
            return Failure(
                "server_down", "no model server answers: start it (`ollama serve`), or see OLLAMA_HOST"
            )
        case ollama.ResponseError():
            return _failure_of_response(error, model, wait_asked(error))
        case WrongModelError():
            return Failure("wrong_model", _line(error))
        case ValueError() | AttributeError() | TypeError() | RecursionError():
            return Failure("server_error", f"what answered is no Ollama: {_line(error)}")
    # The client passes on errors of its transport as they are: the connection broke during the call.
    return Failure("server_error", f"the connection broke: {type(error).__name__}: {_line(error)}")


def _failure_of_response(error: "ollama.ResponseError", model: str, wait: float) -> Failure:
    message = _line(error.error)
    if _NO_MEMORY.search(message):
        return Failure("out_of_memory", f"{model} does not fit into the server's memory: {message}")
    if _NO_ROOM.search(message):
        return Failure("overflow", f"the prompt does not fit: {message}")
    if error.status_code == _NOT_FOUND and "model" in message:
        return Failure("model_missing", message)
    if error.status_code in (_UNAUTHORIZED, _FORBIDDEN):
        advice = "see that OLLAMA_HOST names the right server, and OLLAMA_API_KEY a key that it takes"
        return Failure("refused", f"the model server refuses us ({error.status_code}): {message}; {advice}")
    if error.status_code in (_TOO_MANY, _UNAVAILABLE):
        reason = f"the model server is busy ({error.status_code}): {message}"
        return Failure("server_down", reason, busy_seconds=wait)
    is_refusal = error.status_code == _UNREADABLE or _NO_GRAMMAR.search(message) is not None
    reason = f"the model server answered {error.status_code}: {message}"
    return Failure("server_error", reason, is_refusal=is_refusal)


def _line(error: object) -> str:
    """The server's message, in one line that fits a row; our key is removed, if the server repeated it."""
    return " ".join(without_secrets(str(error)).split())[:500] or type(error).__name__
