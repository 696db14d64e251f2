"""What the model server does for each path of Ollama's API."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from holocron_assets.derive.server import answers
from holocron_assets.derive.server.disconnects import body_of, unless_gone
from holocron_assets.derive.server.embedding import embed
from holocron_assets.derive.server.generation import Piece, generate
from holocron_assets.derive.server.model_files.catalog import Catalog, Model
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.model_files.pulling import pulled
from holocron_assets.derive.server.process.loaded import LoadedModels, missing
from holocron_assets.derive.server.process.loopback import LlamaError
from holocron_assets.derive.server.prompts import Tokens, chat_tokens, prompt_tokens
from holocron_assets.derive.server.requests import (
    BadRequestError,
    ChatRequest,
    EmbeddingsRequest,
    EmbedRequest,
    GenerateRequest,
    Generating,
    Named,
    PullRequest,
    read_request,
)
from holocron_assets.derive.server.settings import ServerSettings

API_VERSION = "0.6.3"
"""The version of Ollama's API that is followed."""

_NDJSON = "application/x-ndjson"


class Endpoints:
    """The endpoints of one server, and what they share.

    Attributes:
        models: the loaded ones.
        instance: an id that differs from that of a later server at the same address.
    """

    def __init__(self, catalog: Catalog, files: ModelFiles, settings: ServerSettings, instance: str) -> None:
        """Serve the models of a catalog whose files are here."""
        self._catalog = catalog
        self._files = files
        self.instance = instance
        self.models = LoadedModels(files, settings)

    async def chat(self, request: Request) -> Response:
        """Answer a chat."""
        asked = read_request(ChatRequest, await body_of(request))
        return await self._generate(
            request, asked, answers.chat_shape, chat_tokens(asked), is_empty=not asked.messages
        )

    async def generate(self, request: Request) -> Response:
        """Answer a prompt."""
        asked = read_request(GenerateRequest, await body_of(request))
        return await self._generate(
            request, asked, answers.generate_shape, prompt_tokens(asked), is_empty=not asked.prompt
        )

    async def embed(self, request: Request) -> Response:
        """Embed texts."""
        asked = read_request(EmbedRequest, await body_of(request))
        model = self._catalog.find(asked.wanted)
        return JSONResponse(await unless_gone(request, embed(self.models, model, asked)))

    async def embeddings(self, request: Request) -> Response:
        """Embed one text, as older clients ask it."""
        old = read_request(EmbeddingsRequest, await body_of(request))
        asked = EmbedRequest(
            model=old.wanted, input=old.prompt or "", keep_alive=old.keep_alive, options=old.options
        )
        model = self._catalog.find(asked.wanted)
        answer = await unless_gone(request, embed(self.models, model, asked))
        return JSONResponse({"embedding": next(iter(answer["embeddings"]), [])})

    async def tags(self, _: Request) -> Response:
        """The models whose files are here."""
        here = [(model, await self._file(model)) for model in self._catalog.models]
        return JSONResponse({"models": [answers.listed(model, file) for model, file in here if file]})

    async def running(self, _: Request) -> Response:
        """The models that are loaded."""
        return JSONResponse({"models": [answers.running(loaded) for loaded in self.models.now()]})

    async def show(self, request: Request) -> Response:
        """All that is known of one model."""
        model = self._catalog.find(read_request(Named, await body_of(request)).wanted)
        file = await self._file(model)
        if file is None:
            raise missing(model)
        return JSONResponse(answers.shown(model, file))

    async def pull(self, request: Request) -> Response:
        """Fetch a model."""
        asked = read_request(PullRequest, await body_of(request))
        progress = pulled(self._files, self._catalog.find(asked.wanted))
        if asked.stream is not False:
            return StreamingResponse(_lines(progress), media_type=_NDJSON)
        last = [answer async for answer in progress][-1]
        return JSONResponse(last, status_code=500 if "error" in last else 200)

    async def delete(self, request: Request) -> Response:
        """Remove a model's file."""
        model = self._catalog.find(read_request(Named, await body_of(request)).wanted)
        await self.models.unload(model)
        if not await asyncio.to_thread(self._files.remove, model):
            raise missing(model)
        return Response()

    async def version(self, _: Request) -> Response:
        """Which API this is, and which server."""
        return JSONResponse({"version": API_VERSION, "instance": self.instance, "process": os.getpid()})

    async def _generate(
        self, request: Request, asked: Generating, shape: answers.Shape, tokens: Tokens, *, is_empty: bool
    ) -> Response:
        model = self._catalog.find(asked.wanted)
        if asked.unsupported:
            raise BadRequestError(f'"{asked.wanted}" does not support {", ".join(asked.unsupported)}')
        if is_empty:
            return JSONResponse(await unless_gone(request, self._load(model, asked, shape)))
        pieces = generate(self.models, model, asked, tokens)
        if asked.stream is False:
            return JSONResponse(await unless_gone(request, answers.whole(asked.wanted, shape, pieces)))
        # Waiting for the first piece here lets everything that fails before it have a status code.
        first = await unless_gone(request, anext(pieces))
        lines = answers.streamed(asked.wanted, shape, _rejoined(first, pieces))
        return StreamingResponse(_lines(lines), media_type=_NDJSON)

    async def _load(self, model: Model, asked: Generating, shape: answers.Shape) -> answers.Answer:
        if asked.keep_alive == 0:
            await self.models.unload(model)
            return answers.at_once(asked.wanted, shape, "unload")
        async with self.models.borrow(model, num_ctx=asked.how.num_ctx, keep_alive=asked.keep_alive) as lease:
            return answers.at_once(asked.wanted, shape, "load", lease.load_seconds)

    async def _file(self, model: Model) -> Path | None:
        """A model's file. The first time it is read whole, in a thread, so that other requests go on."""
        return await asyncio.to_thread(self._files.find, model)


async def _rejoined(first: Piece, rest: AsyncGenerator[Piece, None]) -> AsyncGenerator[Piece, None]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


async def _lines(pieces: AsyncGenerator[answers.Answer, None]) -> AsyncGenerator[str, None]:
    """Answers as lines of JSON. An error after the first is the last line, since the status was sent."""
    async with aclosing(pieces):
        try:
            async for answer in pieces:
                yield json.dumps(answer, ensure_ascii=False) + "\n"
        except LlamaError as error:
            yield json.dumps({"error": str(error)}) + "\n"
