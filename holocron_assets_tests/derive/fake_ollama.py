"""A model server on loopback that answers as Ollama does, or misbehaves on command."""

import json
import select
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep, time
from types import TracebackType
from typing import Any, Self

SMALL, LARGE = "small:1b", "large:7b"
_CHARACTERS_PER_TOKEN = 4
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Chat:
    """A chat request as it arrived."""

    body: dict[str, Any]
    arrived_at: float
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.body.get("options") or {})

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages") or [])

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.messages)


Behaviour = Callable[["Handler", Chat], None]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each small answer waits 40 ms
    server: "_Server"

    def do_GET(self) -> None:
        fake = self.server.fake
        if fake.is_away:
            self._hang_up()
            return
        fake.gets[self.path] += 1
        match self.path:
            case "/api/tags":
                self.send(200, {"models": [_listed(name, digest) for name, digest in fake.models.items()]})
            case "/api/ps":
                self.send(200, {"models": [fake.running(name) for name in list(fake.loaded)]})
            case "/api/version":
                self.send(200, {"version": "0.0.0-fake"})
            case _:
                self.send(404, "404 page not found")

    def do_POST(self) -> None:
        if self.server.fake.is_away:
            self._hang_up()
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/embed":
            self.server.fake.embed(self, Chat(body, time(), dict(self.headers.items())))
            return
        if self.path != "/api/chat":
            self.send(404, "404 page not found")
            return
        self.server.fake.serve(self, Chat(body, time(), dict(self.headers.items())))

    def send(self, status: int, content: Mapping[str, Any] | str) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        body = text.encode("utf-8", "surrogatepass")
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.server.fake.refused += 1
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def client_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, fake: "FakeOllama") -> None:
        self.fake = fake
        self._open: set[socket.socket] = set()
        super().__init__((fake.address, 0), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget it."""
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End what clients keep open: a thread that waits for the next request would outlive the test."""
        for request in list(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """A client that hung up is no news."""


def says(
    text: str,
    *,
    done_reason: str = "stop",
    tokens_in: int | None = None,
    tokens_out: int = 20,
    thinking: str | None = None,
) -> Behaviour:
    """Reply with exactly this text, perhaps after some thoughts."""

    def behave(handler: Handler, chat: Chat) -> None:
        read = tokens_in if tokens_in is not None else -(-len(chat.prompt) // _CHARACTERS_PER_TOKEN)
        handler.send(
            200,
            {
                "model": chat.model,
                "created_at": "2026-01-01T00:00:00Z",
                "message": {"role": "assistant", "content": text, "thinking": thinking},
                "done": True,
                "done_reason": done_reason,
                "total_duration": 3_000_000,
                "load_duration": handler.server.fake.load_duration_of(chat),
                "prompt_eval_count": read,
                "prompt_eval_duration": 1_000_000,
                "eval_count": tokens_out,
                "eval_duration": 2_000_000,
            },
        )

    return behave


def answers(answer: Any, **options: Any) -> Behaviour:
    """Reply with this as JSON."""
    return says(json.dumps(answer), **options)


def fenced(answer: Any) -> Behaviour:
    return says(f"Here you are:\n```json\n{json.dumps(answer, indent=1)}\n```\nAnything else?")


def with_trailing_text(answer: Any) -> Behaviour:
    return says(f"{json.dumps(answer)}\nI hope that helps!")


def malformed() -> Behaviour:
    return says("I am sorry, but I cannot read that.")


def truncated(answer: Any) -> Behaviour:
    """Reply with the first half, as a model does that ran into `num_predict`."""
    text = json.dumps(answer)
    return says(text[: len(text) // 2], done_reason="length")


def fails(status: int, error: str = "it went wrong") -> Behaviour:
    return lambda handler, _: handler.send(status, {"error": error})


def out_of_memory() -> Behaviour:
    return fails(500, "llama runner process has terminated: cudaMalloc failed: out of memory")


def too_long() -> Behaviour:
    """Refuse the prompt, as servers do that cut nothing in silence."""
    return fails(
        400, "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"
    )


def no_ollama() -> Behaviour:
    return lambda handler, _: handler.send(200, "<html>It works!</html>")


def drops_the_connection(handler: Handler, _: Chat) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def hangs(handler: Handler, _: Chat) -> None:
    """Answer nothing until the client gives up, which is counted."""
    fake = handler.server.fake
    while not fake.is_stopping:
        if handler.client_is_gone():
            fake.given_up += 1
            break
        sleep(_POLL_SECONDS)
    handler.close_connection = True


def slow(seconds: float, then: Behaviour) -> Behaviour:
    def behave(handler: Handler, chat: Chat) -> None:
        sleep(seconds)
        then(handler, chat)

    return behave


@dataclass
class FakeOllama:
    """The server; a context manager.

    Attributes:
        vector: the embedding of a text.
        embeds: the requests for embeddings of texts, as they arrived.
        answer: what it replies to a chat, as data, when no behaviour is scripted.
        models: the models that it has, and their digests.
        script: what it does to the next chats, in order, instead of answering.
        on: what it does to chats whose prompt holds a text, instead of answering; checked after the script.
        slots: chats that it works on at once; the others wait.
        most_loaded: models that it keeps loaded.
        delay_seconds: time that each chat takes.
        load_seconds: time that loading a model takes.
        context_length: tokens that models read at most; by default as many as are asked for.
        chats: the chats that asked something, as they arrived.
        loads: how often each model was loaded.
        loaded: the models that are loaded, oldest first, with their `num_ctx`.
        gets: other requests, by path.
        most_in_flight: most chats that were under way or waiting at once.
        given_up: chats that hung until the client hung up.
        is_away: whether it hangs up on every client.
        refused: how often it did.
        address: where it listens.
    """

    answer: Callable[[Chat], Any] = lambda chat: {"said": chat.messages[-1]["content"][-20:]}
    vector: Callable[[str], list[float]] = lambda text: [float(len(text)), 1.0]
    embeds: list[Chat] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=lambda: {SMALL: "5" * 64, LARGE: "7" * 64})
    script: deque[Behaviour] = field(default_factory=deque)
    on: dict[str, Behaviour] = field(default_factory=dict)
    slots: int = 1
    most_loaded: int = 1
    delay_seconds: float = 0.0
    load_seconds: float = 0.0
    context_length: int | None = None
    chats: list[Chat] = field(default_factory=list)
    loads: Counter[str] = field(default_factory=Counter)
    loaded: dict[str, int] = field(default_factory=dict)
    gets: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    given_up: int = 0
    is_away: bool = False
    refused: int = 0
    is_stopping: bool = False
    address: str = "127.0.0.1"

    def __enter__(self) -> Self:
        self._counting = threading.Lock()
        self._model = threading.Condition()
        self._working: Counter[str] = Counter()
        self._load_durations: dict[int, float] = {}
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_stopping = True
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self._server.server_port}"

    @property
    def prompts(self) -> list[str]:
        """The last message of each chat that asked something."""
        return [chat.messages[-1]["content"] for chat in self.chats]

    def serve(self, handler: Handler, chat: Chat) -> None:
        if chat.model not in self.models:
            handler.send(404, {"error": f"model '{chat.model}' not found"})
        elif not chat.messages:
            self._load_or_unload(handler, chat)
        else:
            self._chat(handler, chat)

    def embed(self, handler: Handler, asked: Chat) -> None:
        """Embed texts; without any, load the model. A name without a tag is that of the latest."""
        if self.models.keys().isdisjoint({asked.model, f"{asked.model}:latest"}):
            handler.send(404, {"error": f"model '{asked.model}' not found"})
            return
        given = asked.body["input"]
        texts = [given] if isinstance(given, str) else list(given)
        if texts:
            self.embeds.append(asked)
            if self.script:
                self.script.popleft()(handler, asked)
                return
        with self._at_work(asked):
            reply = {
                "model": asked.model,
                "embeddings": [self.vector(text) for text in texts],
                "total_duration": 1_000_000,
                "load_duration": self.load_duration_of(asked),
                "prompt_eval_count": sum(map(len, texts)),
            }
            handler.send(200, reply)

    def load_duration_of(self, chat: Chat) -> int:
        return int(self._load_durations.pop(id(chat), 0.0) * 1e9)

    def running(self, name: str) -> dict[str, Any]:
        asked_for = self.loaded.get(name, 0)
        length = min(asked_for, self.context_length or asked_for)
        return {**_listed(name, self.models[name]), "context_length": length, "size_vram": 0}

    def _chat(self, handler: Handler, chat: Chat) -> None:
        with self._counting:
            self.chats.append(chat)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            behaviour = self._behaviour(chat)
        try:
            with self._at_work(chat):
                sleep(self.delay_seconds)
                (behaviour or answers(self.answer(chat)))(handler, chat)
        finally:
            with self._counting:
                self.in_flight -= 1

    def _behaviour(self, chat: Chat) -> Behaviour | None:
        if self.script:
            return self.script.popleft()
        return next((behaviour for text, behaviour in self.on.items() if text in chat.prompt), None)

    @contextmanager
    def _at_work(self, chat: Chat) -> Iterator[None]:
        """Wait for a slot, with the model loaded. A model is unloaded only when no chat works with it."""
        started = monotonic()
        with self._model:
            self._model.wait_for(lambda: self._may_start(chat))
            if self._load(chat.model, chat.options.get("num_ctx", 4096)):
                self._load_durations[id(chat)] = monotonic() - started
            self._working[chat.model] += 1
        try:
            yield
        finally:
            with self._model:
                self._working[chat.model] -= 1
                self._model.notify_all()

    def _may_start(self, chat: Chat) -> bool:
        if self._working.total() >= self.slots:
            return False
        if self.loaded.get(chat.model) == chat.options.get("num_ctx", 4096):
            return True
        if chat.model in self.loaded:
            return not self._working[chat.model]
        return len(self.loaded) < self.most_loaded or any(not self._working[name] for name in self.loaded)

    def _load(self, model: str, num_ctx: int) -> bool:
        if self.loaded.get(model) == num_ctx:
            return False
        self.loaded.pop(model, None)
        while len(self.loaded) >= self.most_loaded:
            del self.loaded[next(name for name in self.loaded if not self._working[name])]
        sleep(self.load_seconds)
        self.loads[model] += 1
        self.loaded[model] = num_ctx
        return True

    def _load_or_unload(self, handler: Handler, chat: Chat) -> None:
        reply: dict[str, Any] = {
            "model": chat.model,
            "message": {"role": "assistant", "content": ""},
            "done": True,
        }
        if chat.body.get("keep_alive") == 0:
            with self._model:
                self._model.wait_for(lambda: not self._working[chat.model])
                self.loaded.pop(chat.model, None)
                self._model.notify_all()
            handler.send(200, {**reply, "done_reason": "unload"})
            return
        with self._at_work(chat):
            self.load_duration_of(chat)  # an Ollama does not state it in this reply
            handler.send(200, {**reply, "done_reason": "load"})


def refused_url() -> str:
    """A place on loopback where nothing listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def comes_true(condition: Callable[[], bool], *, seconds: float = 5) -> bool:
    """Wait until the server noticed something, such as that a client hung up."""
    deadline = monotonic() + seconds
    while not condition():
        if monotonic() > deadline:
            return False
        sleep(_POLL_SECONDS)
    return True


def _listed(name: str, digest: str) -> dict[str, Any]:
    return {"name": name, "model": name, "digest": digest, "size": 1_000_000, "details": {"family": "fake"}}
