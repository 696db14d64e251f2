"""A wiki with list pages: its pages go through the real steps, and what a model says of lists is written."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from asked_lake import ask_lake

from holocron_assets.derive.evidence.page_text import page_text
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.entities.mentions.listed_names import listed_names
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES, SITES
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.orchestration.assets.entity_files import STORES
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step
from holocron_assets.planning.entity_stages import STAGES, partitions_of

SOURCE = "wiki"
_TABLES = {each.name: each.table for each in load_interrogations()}
EXTRACTION, LINKED = _TABLES["entity_extraction"], _TABLES["listed_names"]
_START = datetime(2026, 3, 1, tzinfo=UTC)


def droid(name: str, continuity: str = "can") -> str:
    """The text of a page that the rules are sure to be about a droid."""
    return (
        f"{{{{Top|{continuity}}}}}\n{{{{Droid infobox\n|name={name}\n|class=Astromech droid\n}}}}\n"
        f"'''{name}''' was an astromech droid that served on the ''Heron''.\n\n[[Category:Droids]]"
    )


def list_of(*items: str, continuity: str = "can") -> str:
    """The text of a list page."""
    lines = "\n".join(f"*{item}" for item in items)
    return f"{{{{Top|{continuity}}}}}\nThis is a '''list'''.\n\n{lines}\n\n[[Category:Lists]]"


def named(name: str, entity_type: str = "Droid", **columns: Any) -> Row:
    """What a model says of a list: that it names something."""
    return {"name": name, "type": entity_type, "aliases": [], "attributes": [], "supported": True, **columns}


class ListedWiki:
    """A lake whose pages and lists come in batches, a day after one another."""

    def __init__(self, folder: Path, source: str = SOURCE) -> None:
        self.lake = Lake(folder, (EXTRACTION, LINKED))
        self.source = source
        self._batches = 0
        self._batch_of: dict[str, str] = {}
        self._page_ids: dict[str, int] = {}
        self._write_site()

    def says_its_language(self, code: str) -> None:
        """Let the wiki say that its pages are written in a language."""
        self._write_site(language=code, base_url=f"https://{code}.example.org/wiki/Main")

    def _write_site(self, **columns: Any) -> None:
        site: dict[str, Any] = {"source": self.source, "site_name": self.source, "title_case": "first-letter"}
        site |= {"namespaces": _namespaces(), "interwiki_prefixes": ["w"], "fetched_at": _START}
        write_partition(self.lake, SITES, self.source, [{**site, **columns}])

    def crawl(self, pages: Mapping[str, str]) -> str:
        """Fetch pages, whose texts are given by title, and derive what follows from each."""
        self._batches += 1
        batch = f"{self.source}-{self._batches:06}"
        rows = [self._page(batch, place, title, text) for place, (title, text) in enumerate(pages.items())]
        write_partition(self.lake, PAGES, batch, rows)
        self._batch_of |= dict.fromkeys(pages, batch)
        self._derive(batch)
        return batch

    def put_pages(self, page_ids: Mapping[str, int]) -> None:
        """Let pages that are crawled from now on have these ids: a page that moves keeps its own."""
        self._page_ids |= page_ids

    def settle(self) -> None:
        """Derive again what follows from pages."""
        for batch in sorted(set(self._batch_of.values())):
            self._derive(batch)

    def read_lists(self, lists: Mapping[str, Sequence[Row]]) -> None:
        """Write what a model says of list pages; those that were fetched in one batch go together."""
        by_batch: dict[str, list[Row]] = {}
        for title, answers in lists.items():
            by_batch.setdefault(self._batch_of[title], []).extend(_answer_rows(self, title, answers))
        for batch, rows in by_batch.items():
            write_partition(self.lake, EXTRACTION, batch, rows)

    def read_links(self, title: str) -> None:
        """Read what a list page links to, as the interrogation `listed_names` does."""
        batch = self._batch_of[title]
        pages = read_partition(self.lake, PAGES, batch)
        wikitext = next(page["wikitext"] for page in pages if page["title"] == title)
        found = listed_names(title, page_text(wikitext, DEFAULT_SITE, title), wikitext)
        answers = [{**row, "supported": True} for row in found]
        write_partition(self.lake, LINKED, batch, _answer_rows(self, title, answers))

    def resolve(self) -> list[str]:
        """Make what is stale, in the order of the job; give the names of the tables that were."""
        made: list[str] = []
        with open_snapshot(self.lake) as snapshot:
            for stage in STAGES:
                for name in stage.stale(snapshot, partitions_of(self.lake, stage)):
                    STORES[stage.name](snapshot, name, "run-1")
                    made.append(stage.name)
        return made

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Ask the lake."""
        return ask_lake(self.lake, sql)

    def mentions(self) -> dict[str, tuple[str, str, str]]:
        """By name: the type, the way it was found, and the title that is meant."""
        with open_snapshot(self.lake) as snapshot:
            return {
                row["name"]: (name, row["method"], row["means_title"])
                for name, rows in snapshot.mentions.rows.items()
                for row in rows
            }

    def kept_out(self) -> dict[str, dict[str, int]]:
        with open_snapshot(self.lake) as snapshot:
            return {name: dict(reasons) for name, reasons in snapshot.mentions.kept_out.items()}

    def batch_of(self, title: str) -> str:
        return self._batch_of[title]

    def _derive(self, batch: str) -> None:
        for step in BATCH_STEPS:
            run_step(self.lake, step, batch, "run-0")

    def _page(self, batch: str, place: int, title: str, text: str) -> Row:
        key = title_key(self.source, title)
        redirect = text.partition("[[")[2].partition("]]")[0] if text.startswith("#REDIRECT") else None
        return {
            "source": self.source,
            "batch": batch,
            "position": place,
            "requested_title": title,
            "requested_key": key,
            "title": title,
            "title_key": key,
            "namespace": DEFAULT_SITE.parse_title(title).namespace,
            "page_id": self._page_ids.setdefault(title, len(self._page_ids) + 1),
            "revision_id": self._batches * 1000 + place,
            "content_model": "wikitext",
            "wikitext": text,
            "redirect_target": redirect,
            "status": "ok",
            "http_status": 200,
            "attempts": 1,
            "fetched_at": _START + timedelta(days=self._batches),
            "depth": 0,
            "run_id": "run-0",
        }


def _answer_rows(wiki: ListedWiki, title: str, answers: Iterable[Row]) -> list[Row]:
    key = title_key(wiki.source, title)
    return [
        {
            "item_id": f"{key}#0",
            "position": position,
            "source": wiki.source,
            "batch": wiki.batch_of(title),
            "title": title,
            "title_key": key,
            "revision_id": 1,
            "chunk": 0,
            "evidence": ", ".join([answer["name"], *answer.get("aliases", ())]),
            "model": "small",
            "model_digest": "5" * 64,
            "result_key": "k",
            "run_id": "run-0",
            **answer,
        }
        for position, answer in enumerate(answers)
    ]


def _namespaces() -> list[Row]:
    names = {0: "", 6: "File", 10: "Template", 14: "Category"}
    return [{"id": number, "name": name, "canonical": name, "aliases": []} for number, name in names.items()]
