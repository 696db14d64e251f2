"""A lake that batches of pages are written to, and the entities that are resolved from it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from asked_lake import ask_lake

from holocron_assets.entities.departures import stale_departures, store_departures
from holocron_assets.entities.identity.changes import EntityChanges
from holocron_assets.entities.identity.judgement_store import stale_judgements, store_judgements
from holocron_assets.entities.identity.pair_store import stale_pairs, store_pairs
from holocron_assets.entities.mentions.store import stale_mentions, store_mentions
from holocron_assets.entities.promotion import entity_from
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.entities.store import stale_aliases, stale_entities, store_aliases, store_entities
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import Footer, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_CANDIDATES, PAGE_FACTS, PAGE_SIGNALS, PAGE_TYPES, PAGES, SITES
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.planning.batch_derivations import FACTS_DERIVATION
from holocron_assets.signals.hidden import without_hidden
from holocron_assets.signals.markers import interlanguage_links, merger_notices

TYPES = ("Droid", "PersonCharacter", "Species")
_IDENTITY = (stale_pairs, stale_judgements, stale_entities)
START = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Seen:
    """A page as a batch saw it: missing, a redirect, or about a thing of some type."""

    title: str
    page_id: int | None = None
    entity_type: str | None = "Species"
    redirect: str | None = None
    status: str = "ok"
    revision_id: int = 100
    confidence: float = 0.95
    method: str = "rules"
    model: str | None = None
    continuity: str | None = None
    wikitext: str | None = None
    categories: tuple[str, ...] = ()
    facts: tuple[Row, ...] = ()

    @property
    def is_candidate(self) -> bool:
        return self.entity_type is not None and self.confidence >= entity_from(self.entity_type)


def redirect(title: str, target: str, page_id: int | None = None, revision_id: int = 100) -> Seen:
    return Seen(title, page_id, None, target, revision_id=revision_id)


def missing(title: str) -> Seen:
    return Seen(title, entity_type=None, status="missing")


@dataclass
class Wiki:
    """A lake that batches of pages are written to, a day after one another."""

    lake: Lake
    batches: int = 0
    source: str = "sample"

    def says_its_language(self, code: str) -> None:
        """Write the wiki's row of table `sites`."""
        site = {
            "source": self.source,
            "site_name": self.source,
            "base_url": f"https://{self.source}.test/wiki/Main",
            "title_case": "first-letter",
            "namespaces": [{"id": 0, "name": "", "canonical": "", "aliases": []}],
            "interwiki_prefixes": [],
            "fetched_at": START,
            "language": code,
        }
        write_partition(self.lake, SITES, self.source, [site])

    def crawl(self, *pages: Seen, read_by: str = FACTS_DERIVATION.code_version) -> None:
        """Write a batch; `read_by` is the version of the code that read its facts."""
        self.batches += 1
        batch = f"{self.source}-{self.batches:06}"
        seen = list(enumerate(pages))
        found = [(place, page) for place, page in seen if page.status == "ok"]
        self._write(PAGES, batch, (self._page(place, page) for place, page in seen))
        self._write(PAGE_SIGNALS, batch, (self._signals(page) for _, page in found))
        self._write(
            ENTITY_CANDIDATES, batch, (self._candidate(page) for _, page in found if page.is_candidate)
        )
        self._write(PAGE_TYPES, batch, (self._type(page) for _, page in found))
        facts = (row for _, page in found for row in self._facts(page))
        self._write(PAGE_FACTS, batch, facts, read_by)

    def resolve(self, entity_type: str = "Species") -> tuple[Footer, EntityChanges]:
        with open_snapshot(self.lake) as snapshot:
            footer, changes = self._store_identity(snapshot, entity_type)
            store_aliases(snapshot, entity_type)
        return footer, changes

    def resolve_all(self) -> None:
        """Resolve stale types from one snapshot, as the job does."""
        with open_snapshot(self.lake) as snapshot:
            for entity_type in stale_mentions(snapshot, TYPES):
                store_mentions(snapshot, entity_type, "run-1")
            for entity_type in stale_departures(snapshot, TYPES):
                store_departures(snapshot, entity_type, "run-1")
            for entity_type in (*TYPES, *TYPES):
                if any(stale(snapshot, [entity_type]) for stale in _IDENTITY):
                    self._store_identity(snapshot, entity_type)
            for entity_type in stale_aliases(snapshot, TYPES):
                store_aliases(snapshot, entity_type)

    def resolve_in_stages(self) -> None:
        """Resolve all types from one snapshot: all pairs, then all judgements, then all entities."""
        every = frozenset(TYPES)
        with open_snapshot(self.lake) as snapshot:
            for entity_type in TYPES:
                store_pairs(snapshot, entity_type, entity_types=every)
            for entity_type in TYPES:
                store_judgements(snapshot, entity_type, entity_types=every, now=self._now())
            for entity_type in TYPES:
                store_entities(snapshot, entity_type, entity_types=every, now=self._now(), run_id="run-1")
                store_aliases(snapshot, entity_type)

    def _store_identity(self, snapshot: Snapshot, entity_type: str) -> tuple[Footer, EntityChanges]:
        store_pairs(snapshot, entity_type, entity_types=frozenset(TYPES))
        store_judgements(snapshot, entity_type, entity_types=frozenset(TYPES), now=self._now())
        footer, _, changes = store_entities(
            snapshot, entity_type, entity_types=frozenset(TYPES), now=self._now(), run_id="run-1"
        )
        return footer, changes

    def stale(self) -> list[str]:
        """Types of which anything is not what the lake would give today."""
        with open_snapshot(self.lake) as snapshot:
            return sorted(
                {
                    name
                    for stale in (*_IDENTITY, stale_mentions, stale_aliases)
                    for name in stale(snapshot, TYPES)
                }
            )

    def mark(self) -> str:
        """A mark of what entities are made from."""
        with open_snapshot(self.lake) as snapshot:
            return snapshot.mark

    def entities(self) -> dict[str, str]:
        """State by type and title of what each type's file says now."""
        rows = self.query("select entity_type, title, state from lake.entities where valid_to is null")
        return {f"{row['entity_type']} {row['title']}": row["state"] for row in rows}

    def redirects(self) -> dict[str, str]:
        rows = self.query(
            "select alias, title from entity_aliases join entities using (entity_id) where kind = 'redirect'"
        )
        return {row["alias"]: row["title"] for row in rows}

    def ids(self) -> dict[str, str]:
        rows = self.query("select title, entity_id from entities where state <> 'suppressed'")
        return {row["title"]: row["entity_id"] for row in rows}

    def reviews(self) -> dict[str, str]:
        """Reason by title, of the entities that a person should check."""
        return {row["title"]: row["review_reason"] for row in self.query("from entity_reviews")}

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Ask the lake."""
        return ask_lake(self.lake, sql)

    def _now(self) -> datetime:
        return START + timedelta(days=self.batches)

    def _write(self, table: Table, batch: str, rows: Iterable[Row], code_version: str = "") -> None:
        empty = dict.fromkeys(column.name for column in table.columns)
        shared = {"source": self.source, "batch": batch, "namespace": 0, "run_id": "run-0"}
        columns = set(empty)
        complete = [
            {**empty, **{name: value for name, value in {**shared, **row}.items() if name in columns}}
            for row in rows
        ]
        write_partition(self.lake, table, batch, complete, code_version=code_version)

    def _names(self, page: Seen) -> dict[str, Any]:
        return {
            "title": page.title,
            "title_key": title_key(self.source, page.title),
            "page_id": page.page_id,
            "revision_id": page.revision_id if page.status == "ok" else None,
            "name": page.title.removesuffix("/Legends"),
            "continuity": page.continuity or ("legends" if page.title.endswith("/Legends") else "canon"),
        }

    def _page(self, place: int, page: Seen) -> Row:
        return {
            **self._names(page),
            "position": place,
            "requested_title": page.title,
            "requested_key": title_key(self.source, page.title),
            "redirect_target": page.redirect,
            "wikitext": page.wikitext,
            "status": page.status,
            "http_status": 200,
            "attempts": 1,
            "fetched_at": self._now(),
            "depth": 0,
        }

    def _signals(self, page: Seen) -> Row:
        return {
            **self._names(page),
            "continuity_evidence": [],
            "lead_length": 10,
            "lead_method": "bold_title",
            "infobox_fields": [],
            "categories": list(page.categories),
            "sections": [],
            "is_redirect": page.redirect is not None,
            "redirect_target": page.redirect,
            "is_disambiguation": False,
            "is_list": False,
            "timeline_markers": [],
            "merger_notices": merger_notices(page.wikitext or ""),
            "interlanguage_links": interlanguage_links(without_hidden(page.wikitext or ""), DEFAULT_SITE),
            "wikitext_length": 10,
            "method": "mwparserfromhell",
            "extraction_ms": 0.0,
            "signals_version": "1",
        }

    def _candidate(self, page: Seen) -> Row:
        return {**self._judged(page), "entity_type": page.entity_type, "has_lead": True}

    def _type(self, page: Seen) -> Row:
        settled = {"types": [], "reason": "a test says so", "taxonomy_version": "1"}
        asked = {"model": page.model, "primary_type": page.entity_type or "Unknown"}
        return {**self._judged(page), **settled, **asked}

    def _facts(self, page: Seen) -> Iterator[Row]:
        said = {"field": "x", "evidence": "x", "supported": True, "rule_id": "x", "confidence": 1.0}
        for place, fact in enumerate(page.facts):
            yield {**self._names(page), **said, "position": place, "is_single": False, **fact}

    def _judged(self, page: Seen) -> dict[str, Any]:
        return {
            **self._names(page),
            "confidence": page.confidence,
            "method": page.method,
            "rule_ids": ["infobox.species"],
            "needs_review": False,
        }


def wiki_of(folder: Path, *pages: Seen) -> Wiki:
    wiki = Wiki(Lake(folder))
    wiki.crawl(*pages)
    return wiki
