"""The door for notebooks gives what the commands give, as data frames."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from known_entities import entity, known_as, lake_of_entities
from sample_holocron import Holocron as Sample

from holocron_assets import Holocron
from holocron_assets.doors.explaining import NoPageError
from holocron_assets.doors.questions import NoEntityError, entity_called
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.tables import ENTITIES
from holocron_assets.retrieval.search import SearchError


@pytest.fixture
def holocron(indexed_sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    for name, value in indexed_sample.environment.items():
        monkeypatch.setenv(name, value)
    return Holocron()


def test_entities_of_a_type_are_the_rows_of_the_view(holocron: Holocron) -> None:
    frame = holocron.entities(type="Droid")
    assert set(frame["entity_type"]) == {"Droid"}
    [(count,)] = holocron.sql("select count(*) from entities where entity_type = 'Droid'").to_numpy()
    assert len(frame) == count
    assert len(holocron.entities(type=["Droid", "Species"])) > count


def test_a_frame_without_rows_has_its_columns(holocron: Holocron) -> None:
    frame = holocron.entities(type="Droid", state="suppressed")
    assert frame.empty
    assert {"entity_id", "name", "state"} <= set(frame.columns)


def test_numbers_with_gaps_stay_whole(holocron: Holocron) -> None:
    frame = holocron.sql("select unnest([1, null]) as number, unnest([true, null]) as truth")
    assert frame["number"].tolist() == [1, pd.NA]
    assert (frame["number"].dtype, frame["truth"].dtype) == (pd.Int64Dtype(), pd.BooleanDtype())


def test_facts_of_an_entity_are_found_by_its_title_and_by_its_id(holocron: Holocron) -> None:
    by_title = holocron.facts("Issa Dorrane")
    assert set(by_title["name"]) == {"Issa Dorrane"}
    assert {"fact_key", "value", "evidence", "revision_id"} <= set(by_title.columns)
    pd.testing.assert_frame_equal(by_title, holocron.facts(by_title["entity_id"][0]))


def test_facts_are_narrowed_by_key_and_type(holocron: Holocron) -> None:
    frame = holocron.facts(key="gender", type="PersonCharacter")
    assert set(frame["fact_key"]) == {"gender"}
    assert set(frame["entity_type"]) == {"PersonCharacter"}
    assert len(holocron.facts(key="gender")) > 1


def test_relations_of_an_entity_are_those_from_it_and_to_it(holocron: Holocron) -> None:
    frame = holocron.relations("Issa Dorrane")
    ends = {frozenset(pair) for pair in frame[["from_name", "to_name"]].to_numpy()}
    assert all("Issa Dorrane" in pair for pair in ends)
    assert "Issa Dorrane" in set(frame["from_name"])
    assert set(frame["from_name"]) - {"Issa Dorrane"}


def test_a_name_is_found_with_its_accents_as_letters_of_their_own(tmp_path: Path) -> None:
    lake = lake_of_entities(tmp_path)
    for written in ("Élan", unicodedata.normalize("NFD", "Élan")):
        assert entity_called(lake, written)["title"] == "Élan"


def test_of_one_name_a_suppressed_entity_is_meant_only_where_no_other_is_called_so(tmp_path: Path) -> None:
    lake = lake_of_entities(tmp_path)
    left_out = entity("Varn", entity_type="Droid", source="other", state="suppressed")
    write_partition(
        lake, ENTITIES, "Droid", [left_out, entity("Osks", state="suppressed", entity_type="Droid")]
    )
    legends = entity("Tal/Legends", name="Tal", entity_type="Concept")
    tal = entity("Tal", entity_type="Concept", state="suppressed")
    write_partition(lake, ENTITIES, "Concept", [legends, tal])
    assert entity_called(lake, "Tal")["entity_id"] == legends["entity_id"]
    assert entity_called(lake, "Varn")["entity_id"] == known_as("Varn")
    assert entity_called(lake, tal["entity_id"])["state"] == "suppressed"
    assert entity_called(lake, "Osks")["state"] == "suppressed"


def test_an_unknown_entity_says_how_to_find_it(holocron: Holocron) -> None:
    with pytest.raises(NoEntityError, match=r"no entity is called 'Nobody'. A search"):
        holocron.facts("Nobody")


def test_a_page_is_a_frame_for_each_topic(holocron: Holocron) -> None:
    page = holocron.page("Issa Dorrane")
    assert page["stuck"].startswith("It is a promoted entity of type PersonCharacter")
    assert page["revisions"]["revision_id"].tolist() == [2397]
    assert "Issa Dorrane" in page["aliases"]["alias"].tolist()


def test_an_unknown_page_names_the_nearest(holocron: Holocron) -> None:
    with pytest.raises(NoPageError, match=r"Nearest are: 'Issa Dorrane' of sample"):
        holocron.page("Issa Doran")


def test_a_search_gives_passages_and_warns_of_what_it_lacks(holocron: Holocron) -> None:
    with pytest.warns(UserWarning, match="not searched by meaning"):
        frame = holocron.search("tidal barges left home at sixteen", 3, type="PersonCharacter")
    assert frame["title"][0] == "Issa Dorrane"
    assert set(frame["entity_type"]) == {"PersonCharacter"}
    with pytest.raises(SearchError, match="colour"):
        holocron.search("tea", colour="red")


def test_sql_reads_every_view(holocron: Holocron) -> None:
    assert "entities" in holocron.sql("show tables")["name"].tolist()
    assert holocron.sql("select status from frontier where title = 'Issa Dorrane'")["status"].tolist() == [
        "done"
    ]


def test_a_folder_that_is_not_there_is_no_empty_lake(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="set HOLOCRON_DATA"):
        Holocron(tmp_path / "elsewhere")


@pytest.mark.system
def test_the_package_is_imported_without_pandas() -> None:
    code = "import sys, holocron_assets; print(*{'pandas', 'duckdb', 'pyarrow'} & {*sys.modules})"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "\n"  # noqa: S603


_CONVERTED = """
import sys
from datetime import UTC, datetime
from holocron_assets.lake.declaration.schema import Column, Table, type_time
times = Table(
    name="times", layer="some", description="Times", key=("at",), columns=(Column("at", type_time, "When"),)
)
rows = times.to_arrow([{"at": datetime(2026, 3, 1, tzinfo=UTC)}], "some")
rows.to_pylist()
print("pandas" in sys.modules, rows.to_pandas().shape, "pandas" in sys.modules)
"""


@pytest.mark.system
def test_rows_become_arrow_and_back_without_pandas_and_data_frames_with_it() -> None:
    done = subprocess.run([sys.executable, "-c", _CONVERTED], check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "False (1, 1) True\n"
