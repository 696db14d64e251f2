"""What a program may have done over HTTP: a question in the next slot, holds, and tries of what failed.

Everything else about runs is Dagster's GraphQL API. Bodies are JSON: a form of another site cannot send that.
"""

import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from threading import Lock, Thread
from typing import Any, Literal, TypeVar

import duckdb
from pydantic import Field, StrictBool, StrictStr, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holocron_assets.decisions.controls import DRAIN, PAUSE, RESUME, HeldBackError
from holocron_assets.derive.gpu.question import Answered, Question, question_about
from holocron_assets.errors import HolocronError, TransientError
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.controlling import (
    controlled_scopes,
    hold_or_resume,
    known_source,
    named_scope,
    try_again,
)
from holocron_assets.telemetry.masking import without_secrets

EXPIRES_AFTER = timedelta(seconds=600)
"""A question that has no answer by then is given up."""

_MOST_KEPT = 100
_LARGEST_BODY = 64 * 1024


class _Ask(FrozenModel):
    interrogation: StrictStr
    title: StrictStr
    source: StrictStr | None = None


class _Hold(FrozenModel):
    reason: StrictStr
    author: StrictStr
    source: StrictStr | None = None
    interrogation: StrictStr | None = None
    all: StrictBool = False


class _Requeue(FrozenModel):
    reason: StrictStr
    author: StrictStr
    titles: tuple[StrictStr, ...] = Field(default=(), max_length=1_000)
    source: StrictStr | None = None
    all: StrictBool = False


_FAULTS_OF_THE_SERVER = (DamagedPartitionError, SettingsError, TransientError, OSError, duckdb.Error)
"""Errors that a program can only wait out. It takes 400 as its own fault."""

_Given = TypeVar("_Given", bound=FrozenModel)


class _RefusedError(HolocronError):
    """A request that is not done. The message says why."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class _Asked:
    """A question that was taken.

    Attributes:
        question: what is asked.
        expires_at: when it is given up.
        answers: what came of it; None while it is asked.
        error: why there is no answer.
    """

    question: Question
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    expires_at: datetime = field(default_factory=lambda: utc_now() + EXPIRES_AFTER)
    answers: list[Answered] | None = None
    error: str | None = None

    @property
    def state(self) -> Literal["asked", "answered", "failed", "expired"]:
        if self.error is not None:
            return "failed"
        if self.answers is not None:
            return "answered"
        return "asked" if utc_now() < self.expires_at else "expired"

    def ask(self) -> None:
        """Ask, and keep what comes of it."""
        try:
            found = self.question.answers_now()
        except Exception as error:  # noqa: BLE001 - whatever it is, who asked gets it
            self.error = without_secrets(str(error)) or type(error).__name__
            return
        lacking = [f"{one.item.subject}: {one.error}" for one in found if one.answer is None]
        self.answers, self.error = found, without_secrets("; ".join(lacking)) or None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": self.state,
            "interrogation": self.question.interrogation.name,
            "source": self.question.source,
            "title": self.question.title,
            "expires_at": self.expires_at.isoformat(),
            "answers": [one.as_json() for one in self.answers or () if one.answer is not None],
            "error": self.error,
            "link": f"/ask/{self.id}",
        }


class Control:
    """The endpoints that change something. They answer as soon as what was asked for is recorded."""

    def __init__(self, lake: Lake) -> None:
        """Serve a lake."""
        self._lake = lake
        self._asked: dict[str, _Asked] = {}
        self._reserving = Lock()

    def ask(self, given: _Ask) -> tuple[HTTPStatus, dict[str, Any]]:
        """Take a question for the next slot."""
        question = question_about(self._lake, given.interrogation, given.title, given.source)
        with self._reserving:
            if under_way := next((one for one in self._asked.values() if one.state == "asked"), None):
                raise _RefusedError(
                    HTTPStatus.CONFLICT,
                    f"one question at a time: {under_way.question.interrogation.name} about "
                    f"{under_way.question.title!r} goes first; see {under_way.as_json()['link']}",
                )
            asked = _Asked(question)
            self._asked[asked.id] = asked
            for old in list(self._asked)[:-_MOST_KEPT]:
                del self._asked[old]
        Thread(target=asked.ask, name=f"ask {asked.id}", daemon=True).start()
        return HTTPStatus.ACCEPTED, asked.as_json()

    def answer(self, request: Request) -> Response:
        """What came of a question."""
        asked = self._asked.get(request.path_params["id"])
        if asked is None:
            message = (
                "no such question since `holocron web` was started; ask again: a kept answer makes no call"
            )
            return _answer(HTTPStatus.NOT_FOUND, {"error": message})
        return _answer(HTTPStatus.OK, asked.as_json())

    def hold(self, action: str, given: _Hold) -> tuple[HTTPStatus, dict[str, Any]]:
        """Record 'pause', 'drain' or 'resume'."""
        controlled = controlled_scopes(self._lake) if action == RESUME else ()
        scope = named_scope(given.source, given.interrogation, everything=given.all, controlled=controlled)
        done = hold_or_resume(self._lake, action, scope, author=given.author, reason=given.reason)
        return HTTPStatus.OK, {
            "scope": str(done.scope),
            "recorded": done.is_new,
            "hold": str(done.hold) if done.hold else None,
            "still_held": [str(hold) for hold in done.still_held],
        }

    def requeue(self, given: _Requeue) -> tuple[HTTPStatus, dict[str, Any]]:
        """Try again what was given up or waits."""
        if bool(given.titles) == given.all:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, 'name "titles", or say "all": true')
        source = None if given.source is None else known_source(given.source)
        done = try_again(
            self._lake, source=source, titles=given.titles, author=given.author, reason=given.reason
        )
        return HTTPStatus.OK, {
            "requeued": list(done.requeued),
            "due_now": [{"source": source, "title": title} for source, title in done.due_now],
            "unknown": list(done.unknown),
        }


def control_routes(lake: Lake) -> list[Route]:
    """The paths of the endpoints that change something.

    Args:
        lake: the lake that they change.
    """
    control = Control(lake)
    holds = [
        Route(f"/{action}", _taking(_Hold, partial(control.hold, action)), methods=["POST"])
        for action in (PAUSE, DRAIN, RESUME)
    ]
    return [
        Route("/ask", _taking(_Ask, control.ask), methods=["POST"]),
        Route("/ask/{id}", control.answer, methods=["GET"]),
        Route("/requeue", _taking(_Requeue, control.requeue), methods=["POST"]),
        *holds,
    ]


_Done = tuple[HTTPStatus, dict[str, Any]]


def _taking(
    model: type[_Given], do: Callable[[_Given], _Done]
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """An endpoint that reads a body, does something in a thread, and answers."""

    async def endpoint(request: Request) -> Response:
        try:
            return _answer(*await run_in_threadpool(do, await _body(request, model)))
        except _RefusedError as error:
            return _answer(error.status, {"error": str(error)})
        except HeldBackError as error:
            return _answer(HTTPStatus.LOCKED, {"error": str(error)})
        except _FAULTS_OF_THE_SERVER as error:
            return _answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": without_secrets(str(error))})
        except HolocronError as error:
            return _answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})

    return endpoint


async def _body(request: Request, model: type[_Given]) -> _Given:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON, as application/json")
    read = b""
    async for chunk in request.stream():
        read += chunk
        if len(read) > _LARGEST_BODY:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a body has at most 64 KiB")
    try:
        return model.model_validate_json(read)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors()]
        raise _RefusedError(HTTPStatus.BAD_REQUEST, "; ".join(problems)) from None


def _answer(status: HTTPStatus, content: Mapping[str, Any]) -> Response:
    return JSONResponse(content, status, {"cache-control": "no-store"})
