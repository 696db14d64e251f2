"""A wiki whose infoboxes, and a model, say things: its pages go through the real steps and stages."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from listed_wiki import SOURCE, ListedWiki

from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.entities.facts.checks import failed_checks, statement_of
from holocron_assets.entities.facts.model_tables import CHECKS, FACTS, LISTED, RELATIONS, SENTENCES
from holocron_assets.entities.facts.sentences import PageRead
from holocron_assets.entities.facts.vocabulary import Kind
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_FACTS, ENTITY_RELATIONS, PAGE_SIGNALS
from holocron_assets.orchestration.assets.entity_files import STORES
from holocron_assets.planning.entity_stages import BY_TYPE

TYPES = ("PersonCharacter", "LocationPlace", "Organization", "Droid")
MODEL_TABLES = {each.table.name: each.table for each in load_interrogations()}


def page(template: str, name: str, fields: str = "", *, continuity: str = "can") -> str:
    """The text of a page with an infobox."""
    words = {"Character": "a person", "Planet": "a planet", "Organization": "an organization"}
    return (
        f"{{{{Top|{continuity}}}}}\n{{{{{template}\n|name={name}\n{fields}\n}}}}\n"
        f"'''{name}''' was {words[template]} of old."
    )


class WikiWithFacts(ListedWiki):
    """A lake whose entities are resolved, with what is said of them."""

    def __init__(self, folder: Path, source: str = SOURCE) -> None:
        super().__init__(folder, source)
        self.lake = Lake(
            folder, tuple(MODEL_TABLES[name] for name in (FACTS, RELATIONS, LISTED, SENTENCES, CHECKS))
        )

    def resolve(self) -> list[str]:
        """Make what is stale of the knowledge base; give the tables and types that were."""
        made = []
        with open_snapshot(self.lake) as snapshot:
            for stage in BY_TYPE:
                for name in stage.stale(snapshot, TYPES):
                    STORES[stage.name](snapshot, name, "run-1")
                    made.append(f"{stage.name} {name}")
        return made

    def model_says(self, table: str, title: str, answers: Iterable[Row]) -> None:
        """Write what a model says of a page, as rows of an interrogation's table."""
        batch = self.batch_of(title)
        sure = {} if table == SENTENCES else {"confidence": 0.9}
        rows = [
            {**self._common(title, batch), "position": place, **sure, **answer}
            for place, answer in enumerate(answers)
        ]
        write_partition(self.lake, MODEL_TABLES[table], batch, rows)

    def check(self, title: str, text: str) -> None:
        """Check what models say of a page against its text, as interrogation `statement_checks` does."""
        batch, read = self.batch_of(title), PageRead(title, text)
        kinds: Sequence[tuple[Kind, str]] = (("fact", FACTS), ("relation", RELATIONS))
        said = [
            statement_of(kind, row, title)
            for kind, table in kinds
            if self.lake.has(MODEL_TABLES[table], batch)
            for row in read_partition(self.lake, MODEL_TABLES[table], batch)
        ]
        rows = [
            {
                **self._common(title, batch),
                "position": place,
                "statement": one.hash,
                "failed": ", ".join(failed_checks(one, read)),
                "sentence": read.sentence(one.evidence) or "",
            }
            for place, one in enumerate(said)
        ]
        write_partition(self.lake, MODEL_TABLES[CHECKS], batch, rows)

    def _common(self, title: str, batch: str) -> dict[str, Any]:
        [signals] = [row for row in read_partition(self.lake, PAGE_SIGNALS, batch) if row["title"] == title]
        key = title_key(self.source, title)
        return {
            "item_id": str(key),
            "source": self.source,
            "batch": batch,
            "title": title,
            "title_key": key,
            "revision_id": signals["revision_id"],
            "chunk": None,
            "supported": True,
            "model": "small",
            "model_digest": "d",
            "result_key": "k",
            "run_id": "run-0",
        }

    def facts(self, title: str) -> list[dict[str, Any]]:
        """Facts that are read from a page."""
        return self._rows(ENTITY_FACTS, title)

    def relations(self, title: str) -> list[dict[str, Any]]:
        """Relations that are read from a page."""
        return self._rows(ENTITY_RELATIONS, title)

    def _rows(self, table: Table, title: str) -> list[dict[str, Any]]:
        every = [
            row for name in self.lake.partitions(table) for row in read_partition(self.lake, table, name)
        ]
        return [row for row in every if row["title"] == title]


def values(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """The values of a key, or the names of what a relation leads to, in order."""
    return sorted(
        row.get("value") or row["to_name"]
        for row in rows
        if key in (row.get("fact_key"), row.get("relation"))
    )
