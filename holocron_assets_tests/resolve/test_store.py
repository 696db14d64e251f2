"""Entities and aliases over a real lake: what is stale, what is made, and what a new crawl changes."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holocron_assets.lake.keys import title_key
from holocron_assets.lake.parquet import Footer, MissingPartitionError, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row, Table
from holocron_assets.lake.tables import ENTITY_CANDIDATES, PAGE_SIGNALS, PAGES
from holocron_assets.lake.views import connect, query
from holocron_assets.resolve import store
from holocron_assets.resolve.changes import EntityChanges
from holocron_assets.resolve.promotion import PolicyError
from holocron_assets.resolve.store import stale_types, store_aliases, store_entities

TYPES = ("Droid", "PersonCharacter", "Species")
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


def redirect(title: str, target: str, page_id: int | None = None, revision_id: int = 100) -> Seen:
    return Seen(title, page_id, None, target, revision_id=revision_id)


def missing(title: str) -> Seen:
    return Seen(title, entity_type=None, status="missing")


@dataclass
class Wiki:
    """A lake that batches of pages are written to, a day after one another."""

    lake: Lake
    batches: int = 0

    def crawl(self, *pages: Seen) -> None:
        self.batches += 1
        batch = f"sample-{self.batches:06}"
        seen = list(enumerate(pages))
        found = [(place, page) for place, page in seen if page.status == "ok"]
        self._write(PAGES, batch, (self._page(place, page) for place, page in seen))
        self._write(PAGE_SIGNALS, batch, (self._signals(page) for _, page in found))
        self._write(
            ENTITY_CANDIDATES, batch, (self._candidate(page) for _, page in found if page.entity_type)
        )

    def resolve(self, entity_type: str = "Species") -> tuple[Footer, EntityChanges]:
        footer, _, changes = store_entities(
            self.lake, entity_type, entity_types=frozenset(TYPES), now=self._now(), run_id="run-1"
        )
        store_aliases(self.lake, entity_type)
        return footer, changes

    def resolve_all(self) -> None:
        for entity_type in stale_types(self.lake, TYPES):
            self.resolve(entity_type)

    def stale(self) -> list[str]:
        return sorted(stale_types(self.lake, TYPES))

    def entities(self) -> dict[str, str]:
        """State by type and title of the entities that are held now."""
        rows = self._query("select entity_type, title, state from entities")
        return {f"{row['entity_type']} {row['title']}": row["state"] for row in rows}

    def redirects(self) -> dict[str, str]:
        rows = self._query(
            "select alias, title from entity_aliases join entities using (entity_id) where kind = 'redirect'"
        )
        return {row["alias"]: row["title"] for row in rows}

    def ids(self) -> dict[str, str]:
        rows = self._query("select title, entity_id from entities where state <> 'suppressed'")
        return {row["title"]: row["entity_id"] for row in rows}

    def _query(self, sql: str) -> list[dict[str, Any]]:
        with connect(self.lake) as connection:
            return query(connection, sql)

    def _now(self) -> datetime:
        return START + timedelta(days=self.batches)

    def _write(self, table: Table, batch: str, rows: Iterable[Row]) -> None:
        empty = dict.fromkeys(column.name for column in table.columns)
        shared = {"source": "sample", "batch": batch, "namespace": 0, "run_id": "run-0"}
        columns = set(empty)
        complete = [
            {**empty, **{name: value for name, value in {**shared, **row}.items() if name in columns}}
            for row in rows
        ]
        write_partition(self.lake, table, batch, complete)

    def _names(self, page: Seen) -> dict[str, Any]:
        return {
            "title": page.title,
            "title_key": title_key("sample", page.title),
            "page_id": page.page_id,
            "revision_id": page.revision_id if page.status == "ok" else None,
            "name": page.title.removesuffix("/Legends"),
            "continuity": "legends" if page.title.endswith("/Legends") else "canon",
        }

    def _page(self, place: int, page: Seen) -> Row:
        return {
            **self._names(page),
            "position": place,
            "requested_title": page.title,
            "requested_key": title_key("sample", page.title),
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
            "categories": [],
            "sections": [],
            "is_redirect": page.redirect is not None,
            "redirect_target": page.redirect,
            "is_disambiguation": False,
            "is_list": False,
            "timeline_markers": [],
            "wikitext_length": 10,
            "method": "mwparserfromhell",
            "extraction_ms": 0.0,
            "signals_version": "1",
        }

    def _candidate(self, page: Seen) -> Row:
        return {
            **self._names(page),
            "entity_type": page.entity_type,
            "confidence": 0.95,
            "method": "rules",
            "rule_ids": ["infobox.species"],
            "needs_review": False,
            "has_lead": True,
        }


def wiki_of(folder: Path, *pages: Seen) -> Wiki:
    wiki = Wiki(Lake(folder))
    wiki.crawl(*pages)
    return wiki


def test_nothing_is_stale_in_an_empty_lake(tmp_path: Path) -> None:
    assert stale_types(Lake(tmp_path), TYPES) == {}


def test_types_are_stale_until_they_are_resolved(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"), Seen("R5-K2", entity_type="Droid"))
    assert wiki.stale() == ["Droid", "Species"]
    wiki.resolve("Species")
    assert wiki.stale() == ["Droid"]
    wiki.resolve("Droid")
    assert wiki.stale() == []
    assert wiki.entities() == {"Droid R5-K2": "promoted", "Species Varn": "promoted"}


def test_entities_without_aliases_are_stale(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    store_entities(wiki.lake, "Species", entity_types=frozenset(TYPES), now=START, run_id="run-1")
    assert wiki.stale() == ["Species"]


def test_the_mark_of_what_is_stale_stays_until_something_changes(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    first = stale_types(wiki.lake, TYPES)
    assert stale_types(wiki.lake, TYPES) == first
    wiki.crawl(Seen("Gort"))
    assert stale_types(wiki.lake, TYPES) != first


def test_storing_again_changes_nothing(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), Seen("Gort", 5), redirect("Varnite", "Varn"))
    before, _ = wiki.resolve()
    wiki.batches += 1
    after, changes = wiki.resolve()
    assert after == before
    assert (changes.new, changes.changed, changes.unchanged) == (0, 0, 2)


def test_the_same_pages_in_another_batch_make_stale_but_change_nothing(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    before, _ = wiki.resolve()
    wiki.crawl(Seen("Varn", 4))
    assert wiki.stale() == ["Species"]
    after, _ = wiki.resolve()
    assert after.content_id == before.content_id
    assert wiki.stale() == []


def test_pages_that_are_no_candidates_make_nothing_stale(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    wiki.crawl(Seen("Some list", entity_type=None), Seen("R5-K2", entity_type="Droid"))
    assert wiki.stale() == ["Droid"]


def test_a_redirect_that_leads_elsewhere_now_makes_aliases_stale(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"), Seen("Gort"), redirect("Old one", "Varn"))
    wiki.resolve()
    assert wiki.redirects() == {"Old one": "Varn"}
    wiki.crawl(redirect("Old one", "Gort", revision_id=101))
    assert wiki.stale() == ["Species"]
    wiki.resolve()
    assert (wiki.redirects(), wiki.stale()) == ({"Old one": "Gort"}, [])


def test_a_redirect_that_is_gone_is_no_alias_any_more(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"), redirect("Old one", "Varn"))
    wiki.resolve()
    wiki.crawl(missing("Old one"))
    assert wiki.stale() == ["Species"]
    wiki.resolve()
    assert wiki.redirects() == {}


def test_another_policy_makes_entities_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    policy = tmp_path / "policy.yaml"
    policy.write_text("id: strict\ndefault: {candidate: 0.8, promoted: 0.99}\ntypes: {}\n", encoding="utf-8")
    monkeypatch.setattr(store, "DEFAULT_POLICY_FILE", policy)
    assert wiki.stale() == ["Species"]
    wiki.resolve()
    assert (wiki.entities(), wiki.stale()) == ({"Species Varn": "candidate"}, [])


def test_a_policy_that_is_not_valid_leaves_entities_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    policy = tmp_path / "policy.yaml"
    policy.write_text("id: strict\n", encoding="utf-8")
    monkeypatch.setattr(store, "DEFAULT_POLICY_FILE", policy)
    with pytest.raises(PolicyError, match=r"policy\.yaml"):
        wiki.resolve()
    assert wiki.entities() == {"Species Varn": "promoted"}


@pytest.mark.parametrize("version", ["ENTITIES_VERSION", "ALIASES_VERSION"])
def test_other_code_makes_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    monkeypatch.setattr(store, version, "next")
    assert wiki.stale() == ["Species"]


def test_a_page_that_is_gone_takes_its_entity_and_its_names_along(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), redirect("Varnite", "Varn"))
    wiki.resolve()
    wiki.crawl(missing("Varn"))
    assert wiki.stale() == ["Species"]
    _, changes = wiki.resolve()
    assert changes.suppressed == 1
    assert (wiki.entities(), wiki.redirects(), wiki.stale()) == ({"Species Varn": "suppressed"}, {}, [])


def test_a_page_that_became_a_redirect_gives_its_names_to_the_target(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), Seen("Gort", 5), redirect("Varnite", "Varn"))
    wiki.resolve()
    wiki.crawl(redirect("Varn", "Gort", 4, revision_id=101))
    wiki.resolve()
    assert wiki.entities() == {"Species Gort": "promoted", "Species Varn": "suppressed"}
    assert wiki.redirects() == {"Varn": "Gort", "Varnite": "Gort"}


def test_a_moved_page_is_one_entity_before_its_old_title_is_crawled_again(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve()
    before = wiki.ids()
    wiki.crawl(Seen("Varnite", 4, revision_id=101))
    wiki.resolve()
    assert wiki.ids() == {"Varnite": before["Varn"]}
    wiki.crawl(redirect("Varn", "Varnite", 9))
    wiki.resolve()
    assert (wiki.ids(), wiki.redirects()) == ({"Varnite": before["Varn"]}, {"Varn": "Varnite"})


def test_a_page_that_was_moved_and_retyped_leaves_nothing_at_its_old_title(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve()
    wiki.crawl(Seen("Varnite", 4, "PersonCharacter", revision_id=101))
    assert wiki.stale() == ["PersonCharacter", "Species"]
    wiki.resolve_all()
    assert wiki.entities() == {"PersonCharacter Varnite": "promoted", "Species Varn": "suppressed"}


@pytest.mark.parametrize("order", [("Droid", "Species"), ("Species", "Droid")])
def test_the_title_of_a_moved_page_made_anew_in_another_type_has_an_id_of_its_own(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve()
    before = wiki.ids()
    wiki.crawl(Seen("Varnite", 4), Seen("Varn", 5, "Droid"))
    for entity_type in order:
        wiki.resolve(entity_type)
    assert wiki.ids()["Varnite"] == before["Varn"]
    assert wiki.ids()["Varn"] != before["Varn"]


def test_ids_survive_a_rebuild_in_which_the_type_is_told_better(tmp_path: Path) -> None:
    first = wiki_of(tmp_path / "first", Seen("Varn", 4, "Species"))
    first.resolve_all()
    rebuilt = wiki_of(tmp_path / "rebuilt", Seen("Varn", 4, "Droid"))
    rebuilt.resolve_all()
    assert rebuilt.ids() == first.ids()


def test_a_title_with_an_entity_of_any_type_is_no_other_entitys_alias(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), Seen("Gort", 5, "Droid"), redirect("Old Gort", "Gort"))
    wiki.resolve_all()
    wiki.crawl(redirect("Gort", "Varn", 5, revision_id=101))
    wiki.resolve("Species")
    assert (wiki.entities()["Droid Gort"], wiki.redirects()) == ("promoted", {"Old Gort": "Gort"})
    wiki.resolve("Droid")
    assert wiki.stale() == ["Species"]
    wiki.resolve("Species")
    assert (wiki.redirects(), wiki.stale()) == ({"Gort": "Varn", "Old Gort": "Varn"}, [])


def test_aliases_before_entities_are_refused_by_name(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    with pytest.raises(MissingPartitionError, match="table entities has no partition 'Species'"):
        store_aliases(wiki.lake, "Species")
