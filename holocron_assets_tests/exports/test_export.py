"""`holocron export`: files that hold what stands, byte by byte the same while nothing changes."""

import csv
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, cast, get_args

import duckdb
import pyarrow.parquet as pq
import pytest
import time_machine
from knowledge_rows import entity, fact, row_of
from pyld import jsonld
from sample_holocron import ENTITY_TYPES, Holocron

from holocron_assets.exports.content_hash import hash_lake
from holocron_assets.exports.contents import contents
from holocron_assets.exports.export import Format, Wanted, export_lake
from holocron_assets.exports.folders import ExportError, replaced_folder
from holocron_assets.exports.formats import WRITERS, Selection, write_json_lines
from holocron_assets.exports.linked_data import vocabulary
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    PAGES,
    SITES,
    TAGS,
)
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

FORMATS: tuple[Format, ...] = get_args(Format)
HOSTILE = '=HYPERLINK("http://x"),\r\n"é\u2028 </script>'
SCHEMA = "https://schema.org/"
OURS = "urn:holocron:vocabulary/"
VARN, GORT, GONE, SAME = (f"00000000-0000-5000-8000-00000000000{number}" for number in range(1, 5))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two places that stand, one that is suppressed and one that was merged, with their facts."""
    lake = Lake(tmp_path / "data")
    places = [
        entity(VARN, "Varn"),
        entity(GORT, "Gort"),
        entity(GONE, "Gone", state="suppressed"),
        entity(SAME, "The Varn", state="merged", merged_into=VARN),
    ]
    facts = [
        fact("f1", VARN, HOSTILE),
        fact("f2", VARN, "Ever on", "accepted"),
        fact("f3", VARN, "No", "rejected"),
        fact("f4", GONE, "Gone"),
    ]
    alias = row_of(ENTITY_ALIASES, entity_id=VARN, alias="The Varn")
    relation = row_of(ENTITY_RELATIONS, relation_id="r1", from_id=VARN, relation="near", to_id=GORT)
    page = row_of(PAGES, batch="sample-000001", source="sample", title="Varn", status="ok")
    page |= {"title_key": title_key("sample", "Varn"), "wikitext": "Varn is"}
    rows: dict[Table, list[dict[str, Any]]] = {
        ENTITIES: places,
        ENTITY_FACTS: facts,
        ENTITY_ALIASES: [alias],
        ENTITY_RELATIONS: [{**relation, "status": "stated", "to_type": "LocationPlace"}],
        ENTITY_TAGS: [
            row_of(ENTITY_TAGS, entity_id=VARN, tag_id=tag) for tag in ("topic:moon", "topic:cleanup")
        ],
    }
    for table, rows_of_table in rows.items():
        write_partition(lake, table, "LocationPlace", rows_of_table)
    write_partition(lake, PAGES, "sample-000001", [page])
    site = row_of(SITES, source="sample", base_url="https://drift.example/wiki/Main_Page")
    write_partition(lake, SITES, "sample", [site])
    tags = [("topic:moon", "Moons", "public"), ("topic:cleanup", "To be cleaned up", "internal")]
    rows_of_table = [row_of(TAGS, tag_id=tag, name=name, visibility=seen) for tag, name, seen in tags]
    write_partition(lake, TAGS, "sample", rows_of_table)
    return lake


@pytest.mark.parametrize(
    ("tables", "proposed"),
    [([], 3), (["entity_facts"], 2), (["tags", "entity_relations"], 1), (["tags", "entities"], 0)],
)
def test_proposed_statements_are_counted_of_the_tables_that_are_exported(
    lake: Lake, tmp_path: Path, tables: list[str], proposed: int
) -> None:
    facts = [fact(name, VARN, name, "proposed") for name in ("f5", "f6")]
    write_partition(lake, ENTITY_FACTS, "Droid", facts)
    relation = row_of(ENTITY_RELATIONS, relation_id="r2", from_id=VARN, to_id=GORT, status="proposed")
    write_partition(lake, ENTITY_RELATIONS, "Droid", [relation])
    assert export_lake(lake, tmp_path / "kb", Wanted(tables=tables))["proposed"] == proposed


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read(folder: Path, name: str, file_format: Format) -> list[dict[str, Any]]:
    """A table's rows, as each format's own reader has them; numbers of CSV are text."""
    file = folder / f"{name}.{file_format}"
    if file_format == "parquet":
        rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
        return rows
    with file.open(encoding="utf-8", newline="") as opened:
        if file_format == "csv":
            return list(csv.DictReader(opened, strict=True))
        return [json.loads(line) for line in opened.read().split("\n")[:-1]]


@pytest.mark.parametrize("file_format", ["parquet", "jsonl", "csv"])
def test_what_stands_is_exported_and_survives_its_format(
    lake: Lake, tmp_path: Path, file_format: Format
) -> None:
    export_lake(lake, tmp_path / "out", Wanted(file_format))
    facts = read(tmp_path / "out", "entity_facts", file_format)
    assert [(row["fact_id"], row["value"]) for row in facts] == [("f1", HOSTILE), ("f2", "Ever on")]
    assert [row["title"] for row in read(tmp_path / "out", "entities", file_format)] == ["Varn", "Gort"]
    (forward,) = read(tmp_path / "out", "entity_forwards", file_format)
    assert (forward["entity_id"], forward["merged_into"]) == (SAME, VARN)
    (page,) = read(tmp_path / "out", "pages", file_format)
    assert page["url"] == "https://drift.example/wiki/Varn"


def test_all_brings_what_does_not_stand_too(lake: Lake, tmp_path: Path) -> None:
    export_lake(lake, tmp_path / "out", Wanted("jsonl", everything=True))
    titles = [row["title"] for row in read(tmp_path / "out", "entities", "jsonl")]
    assert titles == ["Varn", "Gort", "Gone"]
    assert len(read(tmp_path / "out", "entity_facts", "jsonl")) == 4


@pytest.mark.parametrize("file_format", FORMATS)
def test_an_export_is_the_same_byte_by_byte_a_year_later(
    finished_sample: Holocron, tmp_path: Path, file_format: Format
) -> None:
    wanted = Wanted(file_format)
    export_lake(finished_sample.lake, tmp_path / "one", wanted)
    with time_machine.travel("2028-02-29 12:00Z"):
        export_lake(finished_sample.lake, tmp_path / "other", wanted)
        export_lake(finished_sample.lake, tmp_path / "one", wanted)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_manifest_says_what_the_files_are(lake: Lake, tmp_path: Path, file_format: Format) -> None:
    manifest = export_lake(lake, tmp_path / "out", Wanted(file_format))
    assert manifest == json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["content_hash"] == hash_lake(lake).sha256
    files = files_of(tmp_path / "out")
    assert files.keys() == {"manifest.json", *(one["file"] for one in manifest["files"])}
    for one in manifest["files"]:
        assert one["bytes"] == len(files[one["file"]])
        assert one["sha256"] == sha256(files[one["file"]]).hexdigest()
        if file_format in ("parquet", "jsonl"):
            assert one["rows"] == len(read(tmp_path / "out", one["table"], file_format))


def test_only_the_tables_that_are_named_are_exported_each_once(lake: Lake, tmp_path: Path) -> None:
    manifest = export_lake(lake, tmp_path / "out", Wanted("csv", ["tags", "entity_candidates", "tags"]))
    assert [one["table"] for one in manifest["files"]] == ["tags", "entity_candidates"]
    assert files_of(tmp_path / "out").keys() == {"manifest.json", "tags.csv", "entity_candidates.csv"}


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (Wanted("csv", ["tag"]), "no table 'tag'; the tables are pages, "),
        (Wanted("jsonld", ["tags"]), "name no tables"),
        (Wanted("jsonld", base="https://kb.example"), "must end in"),
        *(
            (Wanted("jsonld", base=base), "must be an absolute IRI")
            for base in ("kb/", "", "//kb.example/", "https://kb example/", "https://kb.example/\n", 'kb:"/')
        ),
    ],
)
def test_what_cannot_be_exported_is_refused(lake: Lake, tmp_path: Path, wanted: Wanted, problem: str) -> None:
    with pytest.raises(ExportError, match=problem):
        export_lake(lake, tmp_path / "out", wanted)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda folder: folder.joinpath("notes.txt").write_text("mine"), "did not write, such as notes.txt"),
        (lambda folder: folder.joinpath("manifest.json").unlink(), "other files than an export"),
        (
            lambda folder: folder.joinpath("manifest.json").write_text('{"files": []}'),
            "other files than an export",
        ),
    ],
)
def test_a_folder_that_is_not_an_export_alone_is_left_as_it_is(
    lake: Lake, tmp_path: Path, spoil: Callable[[Path], Any], problem: str
) -> None:
    export_lake(lake, tmp_path / "out", Wanted())
    spoil(tmp_path / "out")
    before = files_of(tmp_path / "out")
    with pytest.raises(ExportError, match=problem):
        export_lake(lake, tmp_path / "out", Wanted("csv"))
    assert files_of(tmp_path / "out") == before


def test_an_export_that_fails_leaves_the_last_one(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_lake(lake, tmp_path / "out", Wanted())
    before = files_of(tmp_path / "out")
    monkeypatch.setattr("holocron_assets.exports.export.write_manifest", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_lake(lake, tmp_path / "out", Wanted("csv"))
    assert files_of(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out"]


def disturbed(
    monkeypatch: pytest.MonkeyPatch, file: Path, *, times: int, after: Callable[[], object]
) -> None:
    """Let writing find half a file, so many times, as where another version replaces it meanwhile."""
    left = [after] * times

    def write(connection: duckdb.DuckDBPyConnection, selection: Selection, path: Path) -> int:
        if not left or path.name != "entity_facts.jsonl":
            return write_json_lines(connection, selection, path)
        whole, then = file.read_bytes(), left.pop()
        file.write_bytes(whole[: len(whole) // 2])
        try:
            return write_json_lines(connection, selection, path)
        finally:
            file.write_bytes(whole)
            then()

    monkeypatch.setitem(cast("dict[str, object]", WRITERS), "jsonl", write)


def test_an_export_is_tried_again_if_a_file_is_replaced_while_it_is_read(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace() -> None:
        write_partition(lake, ENTITY_FACTS, "LocationPlace", [fact("f1", VARN, "New")])

    disturbed(monkeypatch, lake.file(ENTITY_FACTS, "LocationPlace"), times=2, after=replace)
    export_lake(lake, tmp_path / "out", Wanted("jsonl"))
    assert [row["value"] for row in read(tmp_path / "out", "entity_facts", "jsonl")] == ["New"]
    disturbed(monkeypatch, lake.file(ENTITY_FACTS, "LocationPlace"), times=3, after=replace)
    with pytest.raises(ExportError, match="the lake was written to while it was exported"):
        export_lake(lake, tmp_path / "out", Wanted("jsonl"))


def test_an_export_that_a_damaged_file_stops_names_it(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = lake.file(ENTITY_FACTS, "LocationPlace")

    def write(connection: duckdb.DuckDBPyConnection, selection: Selection, path: Path) -> int:
        file.write_bytes(file.read_bytes()[:100])
        os.utime(file, ns=(before, before))
        return write_json_lines(connection, selection, path)

    before = file.stat().st_mtime_ns
    monkeypatch.setitem(cast("dict[str, object]", WRITERS), "jsonl", write)
    with pytest.raises(DamagedPartitionError, match="table entity_facts, partition 'LocationPlace'"):
        export_lake(lake, tmp_path / "out", Wanted("jsonl", ["entity_facts"]))


def expanded(lake: Lake, folder: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The nodes of a JSON-LD export by id, as a JSON-LD processor understands them."""
    export_lake(lake, folder, Wanted("jsonld", **options))
    nodes = jsonld.expand(json.loads((folder / "entities.jsonld").read_text()))
    return {node["@id"]: node for node in nodes}


def test_json_ld_means_what_it_says(lake: Lake, tmp_path: Path) -> None:
    nodes = expanded(lake, tmp_path / "out")
    assert nodes.keys() == {f"urn:uuid:{one}" for one in (VARN, GORT, SAME)}
    varn = nodes[f"urn:uuid:{VARN}"]
    assert varn["@type"] == [f"{OURS}LocationPlace", f"{SCHEMA}Place"]
    assert varn[f"{SCHEMA}name"] == [{"@value": "Varn"}]
    assert varn[f"{SCHEMA}alternateName"] == [{"@value": "The Varn"}]
    assert varn[f"{SCHEMA}url"] == [{"@id": "https://drift.example/wiki/Varn"}]
    assert varn[f"{SCHEMA}keywords"] == [{"@value": "Moons"}]
    values = [one[f"{SCHEMA}value"][0]["@value"] for one in varn[f"{OURS}fact"]]
    assert values == [HOSTILE, "Ever on"]
    assert varn[f"{OURS}fact"][0][f"{SCHEMA}isBasedOn"] == [{"@id": "https://drift.example/wiki/Varn"}]
    (relation,) = varn[f"{OURS}relation"]
    assert relation[f"{OURS}to"] == [{"@id": f"urn:uuid:{GORT}"}]
    assert relation[f"{OURS}to_type"] == [{"@id": f"{OURS}LocationPlace"}]
    replaced = nodes[f"urn:uuid:{SAME}"]["http://purl.org/dc/terms/isReplacedBy"]
    assert replaced == [{"@id": f"urn:uuid:{VARN}"}]


def test_json_ld_stands_where_its_base_says(lake: Lake, tmp_path: Path) -> None:
    nodes = expanded(lake, tmp_path / "out", base="https://kb.example/")
    varn = nodes[f"https://kb.example/entity/{VARN}"]
    assert "https://kb.example/vocabulary/LocationPlace" in varn["@type"]


def test_json_ld_of_the_sample_is_read_whole(finished_sample: Holocron, tmp_path: Path) -> None:
    nodes = expanded(finished_sample.lake, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert len(nodes) == manifest["files"][0]["rows"] > 100


def test_every_entity_type_has_a_type_of_schema_org() -> None:
    assert vocabulary().types.keys() == ENTITY_TYPES


def test_every_table_of_the_knowledge_is_hashed_or_exported_and_named_in_the_docs() -> None:
    page = (PROJECT_FOLDER / "docs" / "exports.md").read_text(encoding="utf-8")
    assert all(content.hashed or content.exported for content in contents().values())
    assert [name for name in contents() if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["kb", "kb[1]"])
def test_an_export_takes_back_what_a_killed_one_of_its_name_left_and_nothing_else(
    lake: Lake, tmp_path: Path, name: str
) -> None:
    out, end = tmp_path / "out", f"{'0123456789abcdef' * 2}.old.tmp"
    export_lake(lake, out / name, Wanted("jsonl"))
    of_another = (out / name).rename(out / f".{name}.v2.{end}")
    export_lake(lake, out / name, Wanted("jsonl"))
    assert of_another.exists(), "`kb.v2` may be put back by its own next export"

    killed = (out / name).rename(out / f".{name}.{end}")
    with pytest.raises(RuntimeError), replaced_folder(out / name):
        raise RuntimeError
    assert (out / name / "manifest.json").exists(), "it was put back"
    assert not killed.exists()
