"""The part of `holocron run` that asks models.

It asks about all pages that rules left open. Other interrogations are asked only about the pages that most
others link to, and about a few entities. The rest stays pending: the dispatcher asks it, as long as
`holocron ui` runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import count

import dagster as dg
from rich.console import Console

from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import Scope, standing_controls
from holocron_assets.derive.dispatch.backlog import StalePartition, model_to_ask, stale_partitions, waiting_of
from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.derive.dispatch.served import served_models
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.dispatch.work_order import most_linked
from holocron_assets.derive.interrogations.conditions import TYPE_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.derive.items.wanted import wanted_rows
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.model_files.fetching import fetch_models, own_model_files
from holocron_assets.derive.server.process.connection import fetch_command, is_embedded, model_server
from holocron_assets.lake.attempts import DELAYS
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import RULE_CLASSIFICATIONS
from holocron_assets.orchestration.model_runs.dispatch_runs import at_work
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.planning.derive_job_names import is_by_type, job_of
from holocron_assets.planning.work import Work
from holocron_assets.settings import dispatch_file

_A_ROUND = 100
"""The most pages that a model is asked about before the learned model reads its answers."""

_EMBEDDED = 500
"""Pages that a run embeds: all of a small wiki, and the start of a large one."""


@dataclass(frozen=True)
class ModelStage:
    """A run's requests to models.

    Attributes:
        lake: where pages are and answers go.
        sources: whose pages.
        few: how many pages and items further interrogations are asked about.
        console: shows files that are fetched, and processes that the run waits for.
    """

    lake: Lake
    sources: Sequence[Source]
    few: int
    console: Console
    _rounds: Iterator[int] = field(default_factory=lambda: count(1))

    @contextmanager
    def server(self) -> Iterator[Callable[[], object]]:
        """Keep the model server from its first use, so that runs do not load its models one after the other.

        Yields:
            What starts it, at the first call: it takes seconds, and mostly nothing is to be asked.

        Raises:
            UnknownModelError: no such model can be fetched.
            ModelFileError: a model's file cannot be had.
            ModelServerError: no server can be had. All say what to do.
        """
        fetch_lacking(self.console)
        with ExitStack() as kept:
            yield cache(lambda: kept.enter_context(model_server()))

    def lacking(self) -> str | None:
        """Which models are missing, and how to get them; None if none is.

        Raises:
            ModelServerUnavailable: the server does not answer.
        """
        names = sorted(served_models(_over_pages()).lacking)
        if not names:
            return None
        commands = "; ".join(f"`{fetch_command()} {name}`" for name in names)
        return f"the model server has not got {', '.join(names)}; get it with {commands}"

    def report_waiting(self, holders: Iterable[str]) -> None:
        """Name the processes that ask models now: it may take long until they end."""
        self.console.print(f"Waiting for the models, which are at work: {', '.join(sorted(holders))}.")

    def unsure(self) -> list[WhatToAsk]:
        """The next round of the requests that page types wait for: about pages that rules left open.

        Raises:
            ModelServerUnavailable: the server does not answer.
        """
        now = utc_now()
        stale = self._stale_unsure()
        partitions = {part.partition for part in stale if any(one.is_due for one in waiting_of([part], now))}
        names = [one.name for one in _about_rules()]
        if not partitions:
            return []
        return [WhatToAsk(interrogations=names, partitions=sorted(partitions), items=_A_ROUND)]

    def unsure_due(self) -> datetime | None:
        """When the first item is due that failed once, or whose process died.

        None if there is none. Items that failed more often stay pending.

        Raises:
            ModelServerUnavailable: the server does not answer.
        """
        now = utc_now()
        dues = [part.counts.next_due(now) for part in self._stale_unsure() if part.counts]
        return min((due for due in dues if due and due <= now + DELAYS[0]), default=None)

    def _stale_unsure(self) -> list[StalePartition]:
        asked = _about_rules()
        stale = stale_partitions(self.lake, asked, digests=served_models(asked).digests)
        return [
            part
            for part in StandingControls(self.lake).heeded(stale)
            if part.not_before is None and self._is_own(part.partition)
        ]

    def most_linked(self) -> list[WhatToAsk]:
        """The other interrogations, the most important first, each about the pages that most link to.

        Raises:
            ModelServerUnavailable: the server does not answer.
        """
        controls, people = StandingControls(self.lake), standing_controls(self.lake)
        sources = [one.name for one in self.sources if not people.is_held(source=one.name)]
        ranked = most_linked(self.lake, _EMBEDDED, sources)
        others = [one for one in _over_pages() if not _is_about_rules(one)]
        digests = served_models(others).digests
        asked = []
        free = [one for one in others if controls.is_free(one)]
        ranks = {one.name: people.priority(Scope("interrogation", one.name), one.priority) for one in free}
        for one in sorted(free, key=lambda one: -ranks[one.name]):
            pages = self._first_wanted(one, ranked)
            if self._is_open(one, pages, digests):
                asked.append(
                    WhatToAsk(
                        interrogations=[one.name],
                        partitions=sorted(set(pages.values())),
                        pages=list(pages),
                        items=self._few(one),
                    )
                )
        return asked

    def of_entities(self) -> list[WhatToAsk]:
        """The interrogations about entities, the most important first, each about a few.

        Raises:
            ModelServerUnavailable: the server does not answer.
        """
        controls, people = StandingControls(self.lake), standing_controls(self.lake)
        asked = [one for one in load_interrogations() if one.over == "entities" and not one.is_of_code]
        digests, found = served_models(asked).digests, []
        ranks = {one.name: people.priority(Scope("interrogation", one.name), one.priority) for one in asked}
        for one in sorted(asked, key=lambda one: -ranks[one.name]):
            chosen = model_to_ask(one, digests)
            if chosen is None or not controls.is_free(one):
                continue
            model, digest = chosen
            names = self.lake.partitions(derivation_of(one).inputs[0])
            works = [PartitionWork(self.lake, one, name, model=model, digest=digest) for name in names]
            ready = [work.partition for work in works if work.ready(utc_now())]
            if ready and sum(work.answered + work.dead for work in works) < self.few:
                found.append(WhatToAsk(interrogations=[one.name], partitions=ready, items=self.few))
        return found

    def _is_open(
        self, interrogation: Interrogation, pages: Mapping[int, str], digests: Mapping[str, str]
    ) -> bool:
        """Whether too few items of some pages, given with their batches, have an outcome."""
        chosen = model_to_ask(interrogation, digests)
        if not (pages and chosen):
            return False
        condition = f"title_key in ({', '.join(map(str, pages))})"
        about_them = interrogation.wants.model_copy(update={"sql": condition})
        narrowed = interrogation.model_copy(update={"wants": about_them})
        model, digest = chosen
        works = [
            PartitionWork(self.lake, narrowed, batch, model=model, digest=digest)
            for batch in set(pages.values())
        ]
        settled = sum(work.answered + work.dead for work in works)
        return settled < self._few(interrogation) and any(work.ready(utc_now()) for work in works)

    def work(self, what: WhatToAsk) -> Work:
        """The run for it. Each is other work: after a run that stops half way, another one follows."""
        config = what.run_config()
        version = f"{content_hash(repr(config))} {next(self._rounds)}"
        asked = what.asked()
        job = job_of(self.pool_of(what), by_type=any(map(is_by_type, asked)))
        return Work(job, None, version, config=config, about=", ".join(one.name for one in asked))

    def pool_of(self, what: WhatToAsk) -> str:
        """The pool of the model that is asked."""
        return read_dispatch_settings(dispatch_file()).pool_of(what.asked()[0].models[0])

    def at_work(self, instance: dg.DagsterInstance, what: WhatToAsk) -> set[str]:
        """Who holds the places that are needed to ask."""
        settings = read_dispatch_settings(dispatch_file())
        return at_work(instance, self.lake, settings, settings.turns_of(self.pool_of(what)))

    def _first_wanted(
        self, interrogation: Interrogation, ranked: Sequence[tuple[int, str]]
    ) -> dict[int, str]:
        """The first of some pages that an interrogation wants, with their batches."""
        wanted: dict[str, set[int]] = {}
        found: dict[int, str] = {}
        for key, batch in ranked:
            if len(found) == self._few(interrogation):
                break
            if batch not in wanted:
                has_types = self.lake.has(TYPE_TABLES[interrogation.wants.of], batch)
                columns = ["title_key"]
                rows = wanted_rows(self.lake, interrogation, batch, columns=columns) if has_types else []
                wanted[batch] = {row["title_key"] for row in rows}
            if key in wanted[batch]:
                found[key] = batch
        return found

    def _few(self, interrogation: Interrogation) -> int:
        """The most pages to ask about. Vectors of passages cost little, and search needs many."""
        return _EMBEDDED if interrogation.is_space else self.few

    def _is_own(self, batch: str) -> bool:
        return source_of(batch) in {source.name for source in self.sources}


def _over_pages() -> list[Interrogation]:
    """The interrogations about pages that a model is to be asked."""
    enabled = [one for one in load_interrogations() if one.enabled and not one.is_of_code]
    return [one for one in enabled if one.over == "pages"]


def _about_rules() -> list[Interrogation]:
    return [one for one in _over_pages() if _is_about_rules(one)]


def _is_about_rules(interrogation: Interrogation) -> bool:
    return interrogation.wants.of == RULE_CLASSIFICATIONS.name and not interrogation.is_space


def fetch_lacking(console: Console) -> None:
    """Fetch files of models that interrogations over pages name, if the embedded server is used.

    Of the models of an interrogation, one is enough: the first that can be fetched, unless another is here.

    Raises:
        UnknownModelError: none of an interrogation's models can be fetched.
        ModelFileError: a file cannot be had; says what to do.
        ModelServerError: the settings name no server.
    """
    if not is_embedded():
        return
    catalog, files = shipped_catalog(), own_model_files()
    for one in _over_pages():
        known = [name for name in one.models if catalog.has(name)]
        if not any(files.find(catalog.find(name)) for name in known):
            fetch_models((known or one.models)[:1], console, files)
