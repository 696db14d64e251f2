"""One interrogation with several requests in flight: llama.cpp alone, our model server, a whole session.

    python benchmarks/requests_in_flight.py                                                      # a processor
    python benchmarks/requests_in_flight.py --in-flight 1 4 16 64 --model qwen2.5-coder:1.5b     # a GPU

All three get the same questions in the same order, with as many slots as requests in flight, and each starts
with a freshly loaded model:

* llama.cpp: the process that holds a model, asked for whole answers to prompts that are tokens already;
* server: the embedded server that starts it, asked through Ollama's API for answers in pieces;
* session: the work of a run that asks a model, with items, checks, journals and tables. It keeps one request
  more under way than there are slots.

Busy is the share of the slots' time in which llama.cpp read or wrote, by its own figures; CPU is that of the
session's process, an item. An answer is a choice for each of some fields, so that it is about as long
whatever the model. No answer is judged.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import httpx
from local_wiki.texts import text_of, title_of

from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.rules import classify_page
from holocron_assets.derive.engine.calls import Request
from holocron_assets.derive.engine.tries import first_try
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.gpu.turns import Given
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.server.formats import grammar_schema
from holocron_assets.derive.server.model_files.catalog import Model, shipped_catalog
from holocron_assets.derive.server.model_files.fetching import own_model_files
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.derive.server.process.loopback import Llama
from holocron_assets.derive.server.process.runner import RunnerOrder
from holocron_assets.derive.server.settings import server_settings
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    GPU_RUNS,
    LLM_ATTEMPTS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
)
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row

SOURCE = "wiki"
BATCH = f"{SOURCE}-000001"
KEY = "traits"
NUM_CTX = 2048
START = datetime(2026, 1, 1, tzinfo=UTC)
NO_TIMEOUT = httpx.Timeout(None, connect=10)
NO_LIMIT = httpx.Limits(max_connections=None, max_keepalive_connections=None)
TRAITS = {
    "kind": ["person", "place", "species", "vessel", "machine", "group", "event", "other"],
    "size": ["tiny", "small", "medium", "large", "vast", "unknown"],
    "climate": ["hot", "warm", "mild", "cold", "frozen", "unknown"],
    "trade": ["pilot", "farmer", "smith", "trader", "soldier", "scholar", "none"],
    "mood": ["calm", "angry", "sad", "merry", "afraid", "unknown"],
    "sources": ["one", "several", "many", "none"],
}


@dataclass(frozen=True)
class Reply:
    """What llama.cpp said of one answer: tokens read and written, and seconds at work."""

    tokens_in: int
    tokens_out: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    """How fast some questions were answered.

    Attributes:
        seconds: from the first question sent to the last answer.
        cpu_seconds: of the process that asks, meanwhile.
    """

    replies: Sequence[Reply]
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.replies) / self.seconds

    def busy(self, in_flight: int) -> float:
        """Share of the slots' time at work."""
        return sum(reply.seconds for reply in self.replies) / (in_flight * self.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2:135m", help="a model of the catalog")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--each", type=int, default=4, help="questions for each request in flight")
    parser.add_argument("--least", type=int, default=16, help="fewest questions")
    parser.add_argument("--characters", type=int, default=1500, help="about how long a page's text is")
    arguments = parser.parse_args()
    model = shipped_catalog().find(arguments.model)
    own_model_files().fetch(model)
    print_head()
    for in_flight in arguments.in_flight:
        questions = max(arguments.least, arguments.each * in_flight)
        with tempfile.TemporaryDirectory() as name:
            interrogation, lake = prepared(Path(name), model, in_flight)
            write_pages(lake, questions, arguments.characters)
            requests = requests_of(lake, interrogation, model)
            alone = asyncio.run(by_llama(model, requests, in_flight))
            with model_server() as url:
                server = asyncio.run(by_server(str(url), requests, in_flight))
            with model_server() as url:
                session = by_session(str(url), lake, interrogation, model, requests[0])
        print_row(in_flight, alone, server, session)


def prepared(folder: Path, model: Model, slots: int) -> tuple[Interrogation, Lake]:
    """An interrogation of every page, and an empty lake; the environment names both."""
    for name in ("interrogations", "spaces"):
        (folder / name).mkdir()
    (folder / "interrogations" / f"{KEY}.yaml").write_text(json.dumps(declared(model)), encoding="utf-8")
    os.environ |= {
        "HOLOCRON_DATA": str(folder / "data"),
        "HOLOCRON_STATE": str(folder / "state"),
        "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
        "HOLOCRON_SPACES": str(folder / "spaces"),
        "HOLOCRON_LLM": "embedded",
        "OLLAMA_NUM_PARALLEL": str(slots),
    }
    [interrogation] = load_interrogations()
    return interrogation, open_lake(folder / "data")


def declared(model: Model) -> dict[str, Any]:
    """An interrogation whose answer is one choice for each field."""
    return {
        "key": KEY,
        "version": 1,
        "title": "What a page is about, in a few words of a list",
        "model": model.name,
        "priority": 500,
        "wants": {"sql": "true"},
        "evidence": [{"source": "page", "label": "Page", "part": "all"}],
        "prompt": "Read the page, and describe its subject. Choose one word of the list for each field. "
        "Choose by what the page says, not by what you know from elsewhere. Where it says nothing, choose "
        "the last word of the list.",
        "question": "Describe the subject of the page {{ title }}.",
        "answer_schema": {
            "type": "object",
            "additionalProperties": False,
            "required": list(TRAITS),
            "properties": {
                name: {"type": "string", "enum": words, "description": f"The {name} of the subject"}
                for name, words in TRAITS.items()
            },
        },
        "options": {"num_ctx": NUM_CTX, "num_predict": 120},
        "timeout_seconds": 300,
    }


def write_pages(lake: Lake, count: int, characters: int) -> None:
    """Write a batch of invented pages, up to their types."""
    site = {"source": SOURCE, "site_name": SOURCE, "title_case": "first-letter", "fetched_at": START}
    write_partition(lake, SITES, SOURCE, [{**site, "namespaces": [], "interwiki_prefixes": []}])
    pages = [page_row(number, count, characters) for number in range(count)]
    signals = [signal_row(page, DEFAULT_SITE) for page in pages]
    rules = [classify_page(row) for row in signals]
    types = [page_type_row(row, by_rules, "no run") for row, by_rules in zip(signals, rules, strict=True)]
    tables = (PAGES, pages), (PAGE_SIGNALS, signals), (RULE_CLASSIFICATIONS, rules), (PAGE_TYPES, types)
    for table, rows in tables:
        write_partition(lake, table, BATCH, rows)


def page_row(number: int, pages: int, characters: int) -> dict[str, Any]:
    title = title_of(number)
    key = title_key(SOURCE, title)
    return {
        "source": SOURCE,
        "batch": BATCH,
        "position": number,
        "requested_title": title,
        "requested_key": key,
        "title": title,
        "title_key": key,
        "namespace": 0,
        "page_id": number + 1,
        "revision_id": number + 1,
        "content_model": "wikitext",
        "wikitext": text_of(number, 1, pages=pages, characters=characters),
        "status": "ok",
        "attempts": 1,
        "fetched_at": START,
        "depth": 0,
        "run_id": "no run",
    }


def requests_of(lake: Lake, interrogation: Interrogation, model: Model) -> list[Request]:
    """What a session sends, in order."""
    work = PartitionWork(lake, interrogation, BATCH, model=model.name, digest=model.sha256)
    return [first_try(item).request(model.name) for item in work.ready(utc_now())]


async def by_llama(model: Model, requests: Sequence[Request], in_flight: int) -> Measured:
    """Ask llama.cpp's process itself."""
    with llama_process(model, in_flight) as (address, key):
        llama = Llama(address, key)
        bodies = [await llama_body(llama, request) for request in requests]
        await llama.close()
        headers = {"Authorization": f"Bearer {key}"}
        async with client_of(address, headers) as client:

            async def ask(body: dict[str, Any]) -> Reply:
                answer = (await client.post("/completion", json=body)).raise_for_status().json()
                timings = answer["timings"]
                milliseconds = timings["prompt_ms"] + timings["predicted_ms"]
                return Reply(answer["tokens_evaluated"], answer["tokens_predicted"], milliseconds / 1000)

            return await measured(ask, bodies, in_flight)


@contextmanager
def llama_process(model: Model, slots: int) -> Iterator[tuple[str, str]]:
    """The process that our server starts for a model; its address, and the key that it asks for."""
    path, settings, key = own_model_files().find(model), server_settings(), "benchmark"
    assert path  # noqa: S101 - it was fetched
    order = RunnerOrder(
        path, NUM_CTX, slots, settings.threads, embedding=False, prompt_cache_mib=settings.prompt_cache_mib
    )
    command = [sys.executable, "-m", "holocron_assets.derive.server.process.child"]
    with subprocess.Popen(  # noqa: S603 - our own
        command,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},  # as our server does
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin  # noqa: S101 - both are pipes
        assert process.stdout  # noqa: S101
        message = {**vars(order), "path": str(path), "key": key, "parent": os.getpid()}
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        line = next((line for line in process.stdout if line.startswith('{"address"')), None)
        if line is None:
            sys.exit("llama.cpp did not load the model")
        try:
            yield json.loads(line)["address"], key
        finally:
            process.kill()


async def llama_body(llama: Llama, request: Request) -> dict[str, Any]:
    """A request as our server hands it on, but for a whole answer."""
    prompt = await llama.prompt_of([dict(message) for message in request.messages])
    options = {name: value for name, value in request.options.items() if name in {"temperature", "seed"}}
    return {
        "prompt": await llama.tokens_of(prompt),
        "cache_prompt": True,
        "n_predict": request.options["num_predict"],
        "json_schema": grammar_schema(request.schema),
        **options,
    }


async def by_server(url: str, requests: Sequence[Request], in_flight: int) -> Measured:
    """Ask our server for the same answers, and read of each only its last piece."""
    async with client_of(url) as client:

        async def ask(body: dict[str, Any]) -> Reply:
            answer = (await client.post("/api/chat", json=body)).raise_for_status()
            last = json.loads(answer.text.splitlines()[-1])
            nanoseconds = last["prompt_eval_duration"] + last["eval_duration"]
            return Reply(last["prompt_eval_count"], last["eval_count"], nanoseconds / 1e9)

        return await measured(ask, [request.body for request in requests], in_flight)


def client_of(url: str, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url, headers=headers, timeout=NO_TIMEOUT, limits=NO_LIMIT, trust_env=False
    )


async def measured(
    ask: Callable[[dict[str, Any]], Awaitable[Reply]], bodies: Sequence[dict[str, Any]], in_flight: int
) -> Measured:
    """Ask everything, after one question that loads the model."""
    await ask(bodies[0])
    waiting, replies = iter(bodies), list[Reply]()

    async def worker() -> None:
        for body in waiting:
            replies.append(await ask(body))

    started, cpu = monotonic(), process_time()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return Measured(replies, monotonic() - started, process_time() - cpu)


def by_session(url: str, lake: Lake, interrogation: Interrogation, model: Model, first: Request) -> Measured:
    """Have a run ask, after one question that loads the model."""
    httpx.post(f"{url}/api/chat", json=first.body, timeout=NO_TIMEOUT, trust_env=False).raise_for_status()
    names = (lake, url, GPU_POOL, model.name, model.sha256)
    run = ModelRun(*names, num_ctx=NUM_CTX, run_id="benchmark", started_by="benchmark")
    cpu = process_time()
    with closing(work_on(run, Given(interrogation, [BATCH]), session := Session())) as working:
        for _ in working:
            pass
    cpu = process_time() - cpu
    if session.outcome != "complete" or session.dead:
        sys.exit(f"the session was {session.outcome}: {session.reason}; {session.dead} items given up")
    [row] = [row for name in lake.partitions(GPU_RUNS) for row in read_partition(lake, GPU_RUNS, name)]
    calls = [
        call for name in lake.partitions(LLM_ATTEMPTS) for call in read_partition(lake, LLM_ATTEMPTS, name)
    ]
    replies = [
        Reply(call["tokens_in"], call["tokens_out"], (call["prompt_ms"] + call["generation_ms"]) / 1000)
        for call in calls
    ]
    return Measured(replies, (row["ended_at"] - row["started_at"]).total_seconds(), cpu)


def print_head() -> None:
    named = "".join(f"{name:>28}" for name in ("llama.cpp", "server", "session"))
    columns = f"{'items/s':>9}{'tokens/s':>11}{'busy':>8}" * 3
    print(
        f"{'':<22}{named}{'session to':>22}\n{'in flight':<10}{'questions':<12}{columns}"
        f"{'llama.cpp':>11}{'server':>11}{'CPU ms':>9}",
        flush=True,
    )


def print_row(in_flight: int, alone: Measured, server: Measured, session: Measured) -> None:
    cells = "".join(
        f"{one.rate:>9.2f}{sum(reply.tokens_out for reply in one.replies) / one.seconds:>11.1f}"
        f"{one.busy(in_flight):>8.0%}"
        for one in (alone, server, session)
    )
    count = len(session.replies)
    ratios = f"{session.rate / alone.rate:>11.0%}{session.rate / server.rate:>11.0%}"
    read = sum(reply.tokens_in for reply in session.replies)
    written = sum(reply.tokens_out for reply in session.replies)
    print(
        f"{in_flight:<10}{count:<12}{cells}{ratios}{session.cpu_seconds / count * 1000:>9.1f}"
        f"   {read / count:.0f} tokens read, {written / count:.0f} written",
        flush=True,
    )


if __name__ == "__main__":
    main()
