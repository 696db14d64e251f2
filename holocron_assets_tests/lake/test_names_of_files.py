"""Names that strangers choose, as names of files: none leads elsewhere, and no two are one."""

import tempfile
from pathlib import Path

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holocron_assets.crawl.politeness.shared_state import folder_of
from holocron_assets.derive.results.artifacts import folder_name
from holocron_assets.lake.declaration.schema import Column, Table, type_int
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake, PartitionNameError

SHIPS = Table("ships", "yard", "A ship", key=("hull",), columns=(Column("hull", type_int, "Hull number"),))
MOST_BYTES = 255  # of a name, on every file system in use

titles = st.text(min_size=1) | st.text("./\\ :~%\0\n#é日", min_size=1, max_size=300)


def is_one_name(folder: Path, path: Path) -> bool:
    """Whether a path is one name directly below a folder, and one that a disk takes."""
    name = path.name
    return path.parent == folder and name not in {"", ".", ".."} and len(name.encode()) <= MOST_BYTES


@settings(max_examples=examples(100))
@given(titles, titles)
@example("..", ".")
@example("a/b", "a\\b")
@example("a" * 400, "a" * 401)
@example("日" * 200, "日" * 199 + "本")
def test_artifacts_of_any_two_titles_have_a_folder_each_inside_the_folder_asked_for(
    one: str, other: str
) -> None:
    folder = Path("/somewhere")
    paths = [folder / folder_name(title) for title in (one, other)]
    assert all(is_one_name(folder, path) and not path.name.startswith(".") for path in paths)
    assert (paths[0] == paths[1]) == (one == other)


@settings(max_examples=examples(100))
@given(titles.filter(lambda text: len(text) < 60), titles.filter(lambda text: len(text) < 60))
def test_what_is_known_of_any_two_hosts_lies_in_a_folder_each(one: str, other: str) -> None:
    folder = Path("/somewhere")
    paths = [folder_of(host, folder) for host in (one, other)]
    assert all(path.parent == folder and path.name.startswith("host-") for path in paths)
    assert (paths[0] == paths[1]) == (one == other)


@settings(max_examples=examples(40))
@given(titles | st.from_regex(r"\A[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}\Z"))
@example("CON")
@example("a\n")
@example(".packs")
def test_a_partition_of_any_name_is_refused_or_is_written_and_found_again_by_that_name(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        try:
            write_partition(lake, SHIPS, name, [{"hull": 1}])
        except PartitionNameError:
            assert not list(Path(folder).rglob("*.parquet"))
            return
        [file] = Path(folder).rglob("*.parquet")
        assert file.parent.name == name
        assert is_one_name(lake.folder(SHIPS), file.parent)
        assert lake.partitions(SHIPS) == [name]
        assert read_partition(lake, SHIPS, name) == [{"hull": 1}]


@pytest.mark.parametrize("title", ["../../etc/passwd", "/etc/passwd", "..", "a/../b", "C:\\x", "~root"])
def test_no_title_leads_out_of_a_folder(tmp_path: Path, title: str) -> None:
    assert (tmp_path / folder_name(title)).resolve().parent == tmp_path.resolve()
