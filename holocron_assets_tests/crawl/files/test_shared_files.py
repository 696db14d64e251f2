"""Objects of a lake that machines share: put by one, brought by another when it wants them."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from holocron_assets.crawl.files.transfers.parts import Part
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared import contents
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects
from holocron_assets.lake.shared.places import mirrored
from holocron_assets.lake.shared.sessions import Session

BYTES = b"bytes of a file"
SHA256 = hashlib.sha256(BYTES).hexdigest()
URL = "http://example.org/a"


@contextmanager
def machine(folder: Path, name: str) -> Iterator[FileStore]:
    """The store of one machine; all of them share a folder, and nothing of it needs the server of locks."""
    url = f"file://{folder}/shared"
    session = Session("postgresql://nobody@127.0.0.1:1/nothing", url)
    with mirrored(Mirror(folder / name, Objects(url), session)):
        yield FileStore(Lake(folder / name))


def put(store: FileStore, content: bytes = BYTES) -> None:
    with Part(store, URL) as part:
        part.start_over()
        part.write(content)
        part.publish()


def test_an_object_that_one_machine_put_is_brought_by_another(tmp_path: Path) -> None:
    with machine(tmp_path, "one") as one:
        put(one)
    with machine(tmp_path, "two") as two:
        assert (two.has(SHA256), two.path(SHA256).exists()) == (True, False)
        assert two.bring(SHA256).read_bytes() == BYTES
        assert not two.has("0" * 64)


def test_objects_lie_beside_the_lake_in_the_store_and_parts_nowhere(tmp_path: Path) -> None:
    with machine(tmp_path, "one") as one:
        put(one)
        with Part(one, URL) as part:
            part.start_over(URL, '"v1"', 100)
            part.write(b"half")
    shared = [path for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    assert shared == [tmp_path / "shared" / "objects" / "sha256" / SHA256[:2] / SHA256]


def test_a_machine_that_dies_before_it_put_an_object_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DeadError(Exception):
        pass

    def dies(*_: object) -> None:
        raise DeadError

    monkeypatch.setattr(Objects, "put", dies)
    with machine(tmp_path, "one") as one:
        with pytest.raises(DeadError):
            put(one)
        assert not one.has(SHA256)


def test_what_no_row_names_is_removed_for_all_machines(tmp_path: Path) -> None:
    with machine(tmp_path, "one") as one:
        put(one)
    with machine(tmp_path, "two") as two:
        assert two.unnamed([SHA256], -timedelta(days=1)) == []
        assert two.unnamed([], timedelta(days=1)) == []
        assert two.unnamed([], -timedelta(days=1)) == [two.path(SHA256)]
        two.remove_unnamed([], -timedelta(days=1))
        assert not two.has(SHA256)


def test_an_object_that_is_fetched_again_is_young_for_all_machines(tmp_path: Path) -> None:
    """Otherwise a machine that has not seen the new row yet would remove what it names."""
    shared = tmp_path / "shared" / "objects" / "sha256" / SHA256[:2] / SHA256
    with machine(tmp_path, "one") as one:
        put(one)
        os.utime(shared, (0, 0))
        assert one.unnamed([], timedelta(days=7)) == [one.path(SHA256)]
        put(one)
    with machine(tmp_path, "two") as two:
        assert two.unnamed([], timedelta(days=7)) == []


def test_damage_in_the_shared_store_is_never_brought_and_is_made_good_when_it_is_fetched_again(
    tmp_path: Path,
) -> None:
    with machine(tmp_path, "one") as one:
        put(one)
    shared = tmp_path / "shared" / "objects" / "sha256" / SHA256[:2] / SHA256
    shared.write_bytes(BYTES.swapcase())
    with machine(tmp_path, "two") as two:
        with pytest.raises(FileNotFoundError, match="fetch its artifact again"):
            two.bring(SHA256)
        assert not [path for path in two.folder.rglob("*") if path.is_file()]
        put(two)
    with machine(tmp_path, "three") as three:
        assert three.bring(SHA256).read_bytes() == BYTES


def test_an_object_that_is_found_again_is_young_for_all_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine(tmp_path, "one") as one:
        put(one)
        puts: list[str] = []
        original = Objects.put

        def noted(objects: Objects, file: Path, name: str) -> object:
            puts.append(name)
            return original(objects, file, name)

        monkeypatch.setattr(Objects, "put", noted)
        one.keep_young(SHA256)
        assert puts == []
        monkeypatch.setattr(contents, "_YOUNG_SECONDS", -10.0)
        one.keep_young(SHA256)
        assert puts == [f"objects/sha256/{SHA256[:2]}/{SHA256}"]
