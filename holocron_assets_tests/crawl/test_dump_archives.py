"""A zip or tar file of exports is read as one export; a hostile or mixed one is refused by name."""

import bz2
import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from dump_files import END, HEAD, PACKERS, many_pages, page_xml
from dump_pages import read_pages

from holocron_assets.crawl.dumps import archive
from holocron_assets.crawl.dumps.export import DumpError, read_site
from holocron_assets.crawl.dumps.listing import list_dump, usable_index
from holocron_assets.crawl.sources.files import load_source, write_dump_source
from holocron_assets.lake.place.paths import Lake

OTHER_HEAD = HEAD.replace("Das Wiki", "A second wiki")


def export(*pages: str, head: str = HEAD) -> bytes:
    return f"{head}{''.join(pages)}{END}".encode()


def three_exports() -> dict[str, bytes]:
    return {
        "README.txt": b"exports of das wiki",
        "part-1.xml": export(page_xml("Ein", "one", 1), page_xml("Zwei", "two", 2)),
        "more/part-2.xml.gz": gzip.compress(export(page_xml("Drei", "three", 3))),
        "more/part-3.xml.bz2": bz2.compress(export(page_xml("Ein", "one, edited", 9))),
    }


def zipped(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def tarred(path: Path, members: Mapping[str, bytes]) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    packer = PACKERS.get({".tgz": ".gz", ".tar": ""}.get(path.suffix, path.suffix), bytes)
    path.write_bytes(packer(buffer.getvalue()))
    return path


def packed_as(path: Path, members: Mapping[str, bytes]) -> Path:
    return zipped(path, members) if path.suffix == ".zip" else tarred(path, members)


def refusal(path: Path) -> str:
    with pytest.raises(DumpError) as caught:
        list(read_pages(path))
    return str(caught.value)


@pytest.mark.parametrize("name", ["w.zip", "w.tar", "w.tgz", "w.tar.gz", "w.tar.bz2", "w.tar.zst"])
def test_the_exports_of_an_archive_are_read_as_one(tmp_path: Path, name: str) -> None:
    path = packed_as(tmp_path / name, three_exports())
    assert [(page.title, page.text) for page in read_pages(path)] == [
        ("Ein", "one"),
        ("Zwei", "two"),
        ("Drei", "three"),
        ("Ein", "one, edited"),
    ]
    assert read_site(path, "w")["site_name"] == "Das Wiki"


@pytest.mark.parametrize("name", ["w.zip", "w.tar"])
def test_parts_named_by_the_pages_they_hold_are_exports_too(tmp_path: Path, name: str) -> None:
    parts = {
        "w-pages-articles1.xml-p1p2.bz2": bz2.compress(export(page_xml("Ein", "one", 1))),
        "w-pages-articles2.xml-p3p4": export(page_xml("Zwei", "two", 2)),
        "w-pages-articles3.xml.bz2": bz2.compress(export(page_xml("Drei", "three", 3))),
        "w-pages-articles.xml-rss.xml-index": b"<rss/>",
    }
    path = packed_as(tmp_path / name, parts)
    assert [page.title for page in read_pages(path)] == ["Ein", "Zwei", "Drei"]


@pytest.mark.parametrize("name", ["w.zip", "w.tar.gz"])
def test_a_batch_in_the_middle_of_an_archive_is_read_from_its_copy(tmp_path: Path, name: str) -> None:
    pages = many_pages(3_000)
    path = packed_as(tmp_path / name, {"a.xml": export(*pages[:1_400]), "b.xml": export(*pages[1_400:])})
    lake, folder = Lake(tmp_path / "data"), tmp_path / "sources"
    source = load_source(write_dump_source(folder, "w", path))
    listing = list_dump(lake, source)
    assert (listing.pages, listing.error) == (3_000, None)
    found = list(usable_index(lake, source).read([3, 1_399, 1_400, 2_999]))
    assert [page.title for page in found] == ["page 3", "page 1399", "page 1400", "page 2999"]


def test_exports_of_two_wikis_in_one_archive_are_refused(tmp_path: Path) -> None:
    members = {
        "a.xml": export(page_xml("A", "a", 1)),
        "b.xml": export(page_xml("B", "b", 2), head=OTHER_HEAD),
    }
    assert "its member 'b.xml' is of another wiki" in refusal(zipped(tmp_path / "w.zip", members))


def test_an_archive_without_an_export_says_which_names_count(tmp_path: Path) -> None:
    assert "no member's name ends in .xml" in refusal(zipped(tmp_path / "w.zip", {"a.txt": b"text"}))


def test_a_member_that_is_no_export_is_named(tmp_path: Path) -> None:
    members = {"a.xml": export(page_xml("A", "a", 1)), "b.xml": b"<html></html>"}
    assert "its member 'b.xml' is no MediaWiki XML export" in refusal(zipped(tmp_path / "w.zip", members))


def test_a_member_that_was_cut_off_is_named(tmp_path: Path) -> None:
    members = {"a.xml": export(page_xml("A", "a", 1))[:-30]}
    assert "its member 'a.xml' does not end as an export does" in refusal(tarred(tmp_path / "w.tar", members))


@pytest.mark.parametrize("name", ["../a.xml", "/etc/a.xml", "x/../../a.xml", "n" * 1_001 + ".xml"])
def test_a_member_whose_name_leads_out_or_is_too_long_is_refused(tmp_path: Path, name: str) -> None:
    assert "a name that no export needs" in refusal(
        tarred(tmp_path / "w.tar", {name: export(page_xml("A", "a", 1))})
    )


def test_an_archive_of_too_many_members_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    assert "more than 3 members" in refusal(zipped(tmp_path / "w.zip", three_exports()))


def test_a_link_in_a_tar_file_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_bytes(export(page_xml("Secret", "s", 1)))
    with tarfile.open(tmp_path / "w.tar", "w") as packed:
        link = tarfile.TarInfo("link.xml")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        packed.addfile(link)
    assert "it holds no export" in refusal(tmp_path / "w.tar")


def test_an_archive_that_would_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.dumps.parser._ANY_RATIO_BYTES", 1 << 20)
    pages = [page_xml(f"P{number}", "a" * 1_000_000, number) for number in range(40)]
    assert "unpacks to more than 250 times its size" in refusal(
        zipped(tmp_path / "w.zip", {"a.xml": export(*pages)})
    )


@pytest.mark.parametrize("name", ["w.zip", "w.tar", "w.tar.gz"])
def test_a_damaged_archive_is_named(tmp_path: Path, name: str) -> None:
    path = packed_as(tmp_path / name, {"a.xml": export(*many_pages(200))})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert str(path) in refusal(path)
