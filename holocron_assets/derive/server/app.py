"""The model server as an application: its paths, and its answers when something fails.

Paths, shapes and status codes are those of Ollama's HTTP API, https://docs.ollama.com/api.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from holocron_assets.derive.server.disconnects import ClientGoneError
from holocron_assets.derive.server.endpoints import Endpoints
from holocron_assets.derive.server.errors import UnknownModelError
from holocron_assets.derive.server.observed import Observed
from holocron_assets.derive.server.process.loaded import BusyError, NoModelFileError
from holocron_assets.derive.server.process.loopback import LlamaError
from holocron_assets.derive.server.process.runner import RunnerError
from holocron_assets.derive.server.requests import BadRequestError
from holocron_assets.loopback_guard import OwnMachineOnly

_STATUSES = {
    BadRequestError: 400,
    NoModelFileError: 404,
    ClientGoneError: 499,  # nobody is there to read it
    RunnerError: 500,
    BusyError: 503,
}


def make_app(endpoints: Endpoints) -> Starlette:
    """The application of a model server. When it shuts down, every model is unloaded."""

    @asynccontextmanager
    async def unloading(_: Starlette) -> AsyncGenerator[None, None]:
        yield
        await endpoints.models.close()

    return Starlette(
        routes=_routes(endpoints),
        middleware=[Middleware(OwnMachineOnly), Middleware(Observed)],
        exception_handlers=dict.fromkeys(
            (*_STATUSES, UnknownModelError, LlamaError, HTTPException), _when_failed
        ),
        lifespan=unloading,
    )


def _routes(endpoints: Endpoints) -> list[Route]:
    asked: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        ("GET", "/", _is_running),
        ("GET", "/api/version", endpoints.version),
        ("GET", "/api/tags", endpoints.tags),
        ("GET", "/api/ps", endpoints.running),
        ("POST", "/api/show", endpoints.show),
        ("POST", "/api/chat", endpoints.chat),
        ("POST", "/api/generate", endpoints.generate),
        ("POST", "/api/embed", endpoints.embed),
        ("POST", "/api/embeddings", endpoints.embeddings),
        ("POST", "/api/pull", endpoints.pull),
        ("DELETE", "/api/delete", endpoints.delete),
    ]
    return [Route(path, endpoint, methods=[method]) for method, path, endpoint in asked]


async def _is_running(_: Request) -> Response:
    return PlainTextResponse("Ollama is running")


async def _when_failed(_: Request, error: Exception) -> Response:
    match error:
        case LlamaError():
            status, message = error.status, str(error)
        case HTTPException():
            status, message = error.status_code, error.detail.lower()
        case UnknownModelError():  # Ollama's own message, which clients search for
            status, message = 404, f"model '{error.name}' not found"
        case _:
            status, message = _STATUSES[type(error)], str(error)
    headers = error.headers if isinstance(error, HTTPException) else None
    return JSONResponse({"error": message}, status_code=status, headers=headers)
