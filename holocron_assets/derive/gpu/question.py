"""A person's direct question about one page, or its entity, between two requests of other work.

It is asked as a run would ask it, and its answer is kept with its partition's, so no run asks it again.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from holocron_assets.decisions.controls import refuse_held
from holocron_assets.derive.code.answering import CodeAnswerer
from holocron_assets.derive.dispatch.pools import configured_places
from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.dispatch.standing_controls import refuse_disabled
from holocron_assets.derive.engine.calls import ChosenModel, Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.gpu.gpu_log import GpuRun, Tally, write_gpu_run
from holocron_assets.derive.gpu.slots import GpuLock
from holocron_assets.derive.gpu.working import Answerer
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.settings import Wants
from holocron_assets.derive.interrogations.unread import refuse_broken
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.server.process.connection import fetch_command, model_server
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect
from holocron_assets.lake.views.named_pages import find_page, nearest_pages

_BATCH_OF_PAGE = "select batch from current_pages where title_key = $key"
_ENTITY_OF_PAGE = """
    select entity_type, entity_id
    from entities
    where title_key = $key and state not in ('merged', 'suppressed')
    order by entity_id
"""


@dataclass(frozen=True)
class Answered:
    """The result of asking about one item.

    Attributes:
        item: the item; a page that is read in chunks has several.
        model: the model.
        answer: its answer; None if it gave no answer that counts.
        error: why there is none.
        is_new: whether it was asked now, and not before.
    """

    item: Item
    model: str
    answer: Mapping[str, Any] | None
    error: str | None
    is_new: bool

    def as_json(self) -> dict[str, Any]:
        """The answer for programs, with what it is about."""
        return {
            "interrogation": self.item.interrogation.name,
            "source": self.item.source,
            "subject": self.item.subject,
            "item_id": self.item.item_id,
            "model": self.model,
            "is_new": self.is_new,
            "answer": dict(self.answer or {}),
        }


class UnknownInterrogationError(PermanentError):
    """No interrogation of this name can be asked about a page. The message names those that can."""


@dataclass(frozen=True)
class Question:
    """An interrogation about a page, or the page's entity, even if the interrogation does not want it.

    Attributes:
        lake: the lake to read the page from and to write the answer to.
        interrogation: what is asked.
        source: the page's source.
        title: its canonical title.
    """

    lake: Lake
    interrogation: Interrogation
    source: str
    title: str

    def answers_now(self) -> list[Answered]:
        """Ask and wait; see `answers`. The embedded server is started for it, if no other answers.

        Raises:
            PermanentError: no model is asked at all, or it took longer than a question may.
        """
        with nullcontext("") if self.interrogation.is_of_code else model_server() as server:
            if server is None:
                raise PermanentError(
                    "HOLOCRON_LLM is off, so no model can be asked; set it to auto or embedded"
                )
            try:
                return asyncio.run(self.answers(server))
            except TimeoutError as error:
                raise PermanentError(str(error) or "it took too long; try again later") from error

    async def answers(self, server: str) -> list[Answered]:
        """Ask what is not known yet; returns the answers about the page, or about each of its chunks.

        Args:
            server: address of the model server; not used for code.

        Raises:
            PermanentError: the page was not fetched, or the server lacks the model; says what to do.
            SlotTakenError: another question goes first; the message names it.
            ModelServerUnavailable: the server does not answer.
            MissingPartitionError: the page has no signals or type yet.
        """
        run_id = f"ask-{uuid.uuid4().hex[:12]}"
        if self.interrogation.is_of_code:
            return await self._answers_of_code(run_id)
        async with open_client(server) as client:
            engine = Engine(client, run_id=run_id, fetch_command=fetch_command())
            chosen = await engine.digest(self.interrogation.models)
            work = await asyncio.to_thread(self._work, chosen)
            new = self._new(work)
            run = GpuRun(run_id, *chosen, "ask", "stopped", "it was interrupted")
            outcomes = await self._ask(engine, run, work, new) if new else {}
        return _answered(work, chosen.name, outcomes)

    async def _answers_of_code(self, run_id: str) -> list[Answered]:
        [(kind, version)] = served_by_code([self.interrogation]).digests.items()
        work = await asyncio.to_thread(self._work, ChosenModel(kind, version))
        run = GpuRun(run_id, kind, version, "ask", "complete", "it is answered")
        code = CodeAnswerer(run_id)
        outcomes = {item.item_id: await _outcome(code, run, work, item) for item in self._new(work)}
        return _answered(work, kind, outcomes)

    def _new(self, work: PartitionWork) -> list[Item]:
        """The items without an answer. All answers that they build on must be there."""
        new = [item for item in work.items if work.answer_of(item) is None]
        if waiting := next((item.waits_for for item in new if item.waits_for), None):
            raise PermanentError(
                f"{self.interrogation.name} builds on the answer of {waiting} about {self.title!r}, "
                f"which is not there yet; `holocron ask {waiting} {self.title!r}` asks for it"
            )
        return new

    def _work(self, chosen: ChosenModel) -> PartitionWork:
        partition, about_it = self._entity() if self.interrogation.over == "entities" else self._page()
        asked = self.interrogation.model_copy(update={"wants": about_it})
        # It publishes nothing, and digests of its queries would replace those of the whole interrogation.
        asked = asked.reading(asked.upstream, ())
        model, digest = chosen
        return PartitionWork(self.lake, asked, partition, model=model, digest=digest)

    def _entity(self) -> tuple[str, Wants]:
        """The type of the page's entity, and the interrogation narrowed to that entity."""
        with connect(self.lake, relations=["entities"]) as connection:
            key = title_key(self.source, self.title)
            found = connection.execute(_ENTITY_OF_PAGE, {"key": key}).fetchall()
        if not found:
            raise PermanentError(
                f"{self.title!r} of {self.source} has no entity, or one that was merged or "
                f"suppressed; `holocron why {self.title!r} --source {self.source}` says why"
            )
        entity_type, entity_id = found[0]
        return entity_type, Wants(sql=f"entity_id = '{entity_id}'")

    def _page(self) -> tuple[str, Wants]:
        """The page's batch, and the interrogation narrowed to that page."""
        key = title_key(self.source, self.title)
        with connect(self.lake, relations=["current_pages"]) as connection:
            found = connection.execute(_BATCH_OF_PAGE, {"key": key}).fetchall()
        if not found:
            raise PermanentError(
                f"{self.title!r} of {self.source} was not fetched, so nothing can be asked about it; "
                f"`holocron crawl --source {self.source} --title {self.title!r}` fetches it"
            )
        about_it = Wants(of=self.interrogation.wants.of, sql=f"title_key = {key}", redirects=True)
        return found[0][0], about_it

    async def _ask(
        self, engine: Engine, run: GpuRun, work: PartitionWork, items: Sequence[Item]
    ) -> dict[str, Outcome]:
        """Ask while no other process does; returns the results by item id."""
        tally, outcomes = Tally(), dict[str, Outcome]()
        name, num_ctx = self.interrogation.name, self.interrogation.options.num_ctx
        place = configured_places()(run.model)
        try:
            async with GpuLock(self.lake, f"{name} about {self.title}", pool=place).reserved():
                tally.count_load(utc_now(), await engine.warm_up(run.model, num_ctx))
                await asyncio.to_thread(work.catch_up)  # a run may have asked while we waited
                for item in items:
                    if work.answer_of(item) is not None:
                        continue
                    outcomes[item.item_id] = outcome = await _outcome(engine, run, work, item)
                    tally.count(name, outcome)
                    if outcome.problem:
                        raise outcome.problem
            run = replace(run, outcome="complete", reason="it is answered")
        finally:
            write_gpu_run(self.lake, run, tally)
        return outcomes


def question_about(lake: Lake, interrogation: str, title: str, source: str | None) -> Question:
    """The question of an interrogation about a page that a person named.

    Args:
        lake: the lake.
        interrogation: its name.
        title: as the person wrote it.
        source: the page's; needed where several sources have the page.

    Raises:
        UnknownInterrogationError: it cannot be asked about a page.
        PermanentError: no page is called so, or several are.
        HeldBackError: a person holds it back.
    """
    asked = _about_pages(interrogation)
    found = find_page(lake, title, source)
    if len(found) != 1:
        names = " or ".join(f"{name!r} of {one}" for one, name in found)
        unknown = "nothing can be asked about it."
        raise PermanentError(
            f"{title!r} may be {names}: name one by its exact title and source."
            if found
            else f"no page is called {title!r}: {unknown}{nearest_pages(lake, title, source)}"
        )
    refuse_held(lake, source=found[0][0], interrogation=asked.name)
    refuse_disabled(asked)
    return Question(lake, asked, *found[0])


def _about_pages(name: str) -> Interrogation:
    refuse_broken(name)
    found = {one.name: one for one in load_interrogations() if not one.is_space}
    if name not in found:
        raise UnknownInterrogationError(
            f"no interrogation is called {name!r}; there are {', '.join(sorted(found))}"
        )
    if found[name].over == "pairs":
        pages = ", ".join(sorted(one.name for one in found.values() if one.over == "pages"))
        raise UnknownInterrogationError(f"{name} asks about pairs of entities; about a page ask {pages}")
    return found[name]


def _answered(work: PartitionWork, model: str, outcomes: Mapping[str, Outcome]) -> list[Answered]:
    found = []
    for item in work.items:
        outcome = outcomes.get(item.item_id)
        answer, error = (outcome.answer, outcome.error) if outcome else (work.answer_of(item), None)
        found.append(Answered(item, model, answer, error, is_new=outcome is not None))
    return found


async def _outcome(engine: Answerer, run: GpuRun, work: PartitionWork, item: Item) -> Outcome:
    attempt = work.start(item)
    try:
        outcome = await engine.answer(item, model=run.model, digest=run.digest, attempt=attempt)
    except BaseException:
        work.abandon(item)
        raise
    work.record(item, outcome)
    return outcome
