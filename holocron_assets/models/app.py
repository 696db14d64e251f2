"""The part of Ollama's HTTP API that our client and a person's curl use.

The shapes, names and status codes are those of https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from holocron_assets.models import answers
from holocron_assets.models.catalog import Catalog, Model, UnknownModelError
from holocron_assets.models.disconnects import ClientGoneError, unless_gone
from holocron_assets.models.embedding import embed
from holocron_assets.models.files import ModelFiles
from holocron_assets.models.generation import Piece, Tokens, generate
from holocron_assets.models.loaded import BusyError, LoadedModels, ModelMissingError
from holocron_assets.models.loopback import Llama, LlamaError
from holocron_assets.models.prompts import chat_tokens, fit
from holocron_assets.models.pulling import pulled
from holocron_assets.models.requests import (
    BadRequestError,
    ChatRequest,
    EmbeddingsRequest,
    EmbedRequest,
    Generating,
    GenerateRequest,
    Named,
    PullRequest,
    Using,
    read_request,
)
from holocron_assets.models.runner import RunnerError
from holocron_assets.models.server_settings import ServerSettings

VERSION = "0.6.3"
"""The version of Ollama's API that this follows."""

_NDJSON = "application/x-ndjson"
_OWN_HOSTS = ["127.0.0.1", "localhost", "[::1]"]


class ModelServer:
    """What the endpoints share."""

    def __init__(
        self, catalog: Catalog, files: ModelFiles, settings: ServerSettings, instance: str = ""
    ) -> None:
        """Serve the models of a catalog.

        Args:
            catalog: the models that have a name here.
            files: where their files are.
            settings: how many at a time, and the like.
            instance: tells this server from another one at the same address, later.
        """
        self.catalog = catalog
        self.files = files
        self.instance = instance
        self.models = LoadedModels(files, settings)

    async def chat(self, request: Request) -> Response:
        """Answer a chat."""
        asked = read_request(ChatRequest, await request.body())
        messages = [message.plain for message in asked.messages or ()]
        tokens = partial(
            _chat_tokens, messages=messages, truncate=asked.truncate is not False, keep=asked.how.num_keep
        )
        return await self._generate(request, asked, answers.chat_shape, tokens, is_empty=not messages)

    async def generate(self, request: Request) -> Response:
        """Answer a prompt."""
        asked = read_request(GenerateRequest, await request.body())
        tokens = partial(_prompt_tokens, asked=asked)
        return await self._generate(request, asked, answers.generate_shape, tokens, is_empty=not asked.prompt)

    async def embed(self, request: Request) -> Response:
        """Embed texts."""
        asked = read_request(EmbedRequest, await request.body())
        return JSONResponse(await unless_gone(request, embed(self.models, self._known(asked), asked)))

    async def embeddings(self, request: Request) -> Response:
        """Embed one text, as older clients ask it."""
        asked = read_request(EmbeddingsRequest, await request.body())
        one = EmbedRequest(
            model=asked.wanted, input=asked.prompt or "", keep_alive=asked.keep_alive, options=asked.options
        )
        answer = await unless_gone(request, embed(self.models, self._known(asked), one))
        return JSONResponse({"embedding": next(iter(answer["embeddings"]), [])})

    async def tags(self, _: Request) -> Response:
        """The models whose files are here."""
        here = [(model, self.files.find(model)) for model in self.catalog.models]
        return JSONResponse({"models": [answers.listed(model, file) for model, file in here if file]})

    async def running(self, _: Request) -> Response:
        """The models that are loaded."""
        return JSONResponse({"models": [answers.running(loaded) for loaded in self.models.now()]})

    async def show(self, request: Request) -> Response:
        """All that is known of one model."""
        asked = read_request(Named, await request.body())
        model = self._known(asked)
        file = self.files.find(model)
        if file is None:
            raise UnknownModelError(asked.wanted)
        return JSONResponse(answers.shown(model, file))

    async def pull(self, request: Request) -> Response:
        """Fetch a model."""
        asked = read_request(PullRequest, await request.body())
        try:
            model = self.catalog.find(asked.wanted)
        except UnknownModelError as error:
            return _failure(404, f"pull model manifest: {error}")
        progress = pulled(self.files, model)
        if asked.stream is not False:
            return StreamingResponse(_lines(progress), media_type=_NDJSON)
        last = [answer async for answer in progress][-1]
        return JSONResponse(last, status_code=500 if "error" in last else 200)

    async def delete(self, request: Request) -> Response:
        """Remove a model's file."""
        asked = read_request(Named, await request.body())
        model = self._known(asked)
        await self.models.unload(model)
        if not self.files.remove(model):
            raise UnknownModelError(asked.wanted)
        return Response()

    async def version(self, _: Request) -> Response:
        """Which API this is, and which server."""
        return JSONResponse({"version": VERSION, "instance": self.instance, "process": os.getpid()})

    async def _generate(
        self, request: Request, asked: Generating, shape: answers.Shape, tokens: Tokens, *, is_empty: bool
    ) -> Response:
        model = self._known(asked)
        for missing in asked.unsupported:
            raise BadRequestError(f'"{asked.wanted}" does not support {missing}')
        if is_empty:
            return JSONResponse(await unless_gone(request, self._load(model, asked, shape)))
        pieces = generate(self.models, model, asked, tokens)
        if asked.stream is False:
            return JSONResponse(await unless_gone(request, answers.whole(asked.wanted, shape, pieces)))
        # Waiting for the first piece here lets everything that fails before it have a status code.
        first = await unless_gone(request, anext(pieces))
        lines = answers.streamed(asked.wanted, shape, _rejoined(first, pieces))
        return StreamingResponse(_lines(lines), media_type=_NDJSON)

    async def _load(self, model: Model, asked: Using, shape: answers.Shape) -> answers.Answer:
        if asked.keep_alive == 0:
            await self.models.unload(model)
            return answers.at_once(asked.wanted, shape, "unload")
        async with self.models.borrow(model, num_ctx=asked.how.num_ctx, keep_alive=asked.keep_alive):
            return answers.at_once(asked.wanted, shape, "load")

    def _known(self, asked: Named) -> Model:
        name = asked.wanted
        try:
            return self.catalog.find(name)
        except UnknownModelError as error:
            raise UnknownModelError(name) from error


async def _chat_tokens(
    llama: Llama, num_ctx: int, *, messages: list[dict[str, str]], truncate: bool, keep: int
) -> list[int]:
    return await chat_tokens(llama, messages, num_ctx, truncate=truncate, keep=keep)


async def _prompt_tokens(llama: Llama, num_ctx: int, *, asked: GenerateRequest) -> list[int]:
    text = asked.prompt or ""
    if not asked.raw:
        system = [{"role": "system", "content": asked.system}] if asked.system else []
        text = await llama.prompt_of([*system, {"role": "user", "content": text}])
    tokens = [*(asked.context or ()), *await llama.tokens_of(text)]
    return fit(tokens, num_ctx, truncate=asked.truncate is not False, keep=asked.how.num_keep)


async def _rejoined(first: Piece, rest: AsyncIterator[Piece]) -> AsyncIterator[Piece]:
    async with aclosing(rest):  # type: ignore[type-var] - it is a generator, which closing stops
        yield first
        async for piece in rest:
            yield piece


async def _lines(shown: AsyncIterator[answers.Answer]) -> AsyncIterator[str]:
    """Answers as lines of JSON; an error in their middle is the last line, as the status is long sent."""
    async with aclosing(shown):  # type: ignore[type-var] - as above
        try:
            async for answer in shown:
                yield json.dumps(answer, ensure_ascii=False) + "\n"
        except LlamaError as error:
            yield json.dumps({"error": str(error)}) + "\n"


async def _is_running(_: Request) -> Response:
    return PlainTextResponse("Ollama is running")


def _failure(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)


def _when_failed(_: Request, error: Exception) -> Response:
    match error:
        case UnknownModelError():
            return _failure(404, f"model '{error}' not found")
        case ModelMissingError():
            return _failure(404, str(error))
        case BadRequestError():
            return _failure(400, str(error))
        case BusyError():
            return _failure(503, str(error))
        case RunnerError():
            return _failure(500, f"the model could not be loaded: {error}")
        case LlamaError():
            return _failure(error.status, str(error))
        case HTTPException():
            return _failure(error.status_code, error.detail.lower())
        case ClientGoneError():
            return Response(status_code=499)  # nobody reads it
    raise error


def make_app(server: ModelServer) -> Starlette:
    """The application of a model server. When it shuts down, every model is unloaded."""

    @asynccontextmanager
    async def unloading(_: Starlette) -> AsyncIterator[None]:
        yield
        await server.models.close()

    handled = (
        UnknownModelError,
        ModelMissingError,
        BadRequestError,
        BusyError,
        RunnerError,
        LlamaError,
        HTTPException,
        ClientGoneError,
    )
    return Starlette(
        routes=_routes(server),
        # A page in a browser may reach this machine under another name; nothing else has a reason to.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_OWN_HOSTS)],
        exception_handlers=dict.fromkeys(handled, _when_failed),
        lifespan=unloading,
    )


def _routes(server: ModelServer) -> list[Route]:
    asked: list[tuple[str, str, Callable[[Request], Awaitable[Any]]]] = [
        ("GET", "/", _is_running),
        ("GET", "/api/version", server.version),
        ("GET", "/api/tags", server.tags),
        ("GET", "/api/ps", server.running),
        ("POST", "/api/show", server.show),
        ("POST", "/api/chat", server.chat),
        ("POST", "/api/generate", server.generate),
        ("POST", "/api/embed", server.embed),
        ("POST", "/api/embeddings", server.embeddings),
        ("POST", "/api/pull", server.pull),
        ("DELETE", "/api/delete", server.delete),
    ]
    return [Route(path, endpoint, methods=[method]) for method, path, endpoint in asked]
