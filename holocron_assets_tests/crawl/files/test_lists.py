"""Lists that name artifacts: JSON lines, CSV and sitemaps."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from holocron_assets.crawl.files.artifact import ArtifactError, artifact_key, checked_id, url_id
from holocron_assets.crawl.sources.file_source import FileListing
from holocron_assets.crawl.sources.lists import Item, ListError, item_of, read_list
from holocron_assets.lake.place.paths import Lake

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def no_network(url: str) -> bytes:
    raise AssertionError(f"asked for {url}")


def listed(path: Path, text: str) -> list[Item | str]:
    path.write_text(text, encoding="utf-8")
    return list(read_list(FileListing(file=str(path)), Lake(path.parent), no_network))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP://A.Example:80/x#part", "http://a.example/x"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example/ä b", "https://a.example/%C3%A4%20b"),
        (" https://a.example:443/x?q=1 ", "https://a.example/x?q=1"),
    ],
)
def test_addresses_that_mean_the_same_are_one_artifact(one: str, other: str) -> None:
    assert url_id(one) == url_id(other)
    assert artifact_key(url_id(one)) == artifact_key(url_id(other))


@pytest.mark.parametrize(
    "wrong", ["ftp://a.example/x", "nonsense", "https:///x", "http://u:secret@a.example/", "http://a:99999/"]
)
def test_what_is_no_address_is_refused_without_a_password(wrong: str) -> None:
    with pytest.raises(ArtifactError) as refused:
        url_id(wrong)
    assert "secret" not in str(refused.value)


def test_ids_are_normal_whatever_their_case() -> None:
    assert checked_id("sha1:" + "AB" * 20) == "sha1:" + "ab" * 20
    assert checked_id("doi:10.1234/ABC") == "doi:10.1234/abc"
    assert checked_id("url:HTTPS://A.example") == "url:https://a.example/"
    for wrong in ("sha1:12", "isbn:3", "doi:abc"):
        with pytest.raises(ArtifactError, match="is no id"):
            checked_id(wrong)


def test_json_lines_name_artifacts_and_a_wrong_line_is_named(tmp_path: Path) -> None:
    lines = [
        json.dumps({"url": "https://a.example/x.png", "size": 12, "sha1": "A" * 40, "doi": "10.1/x"}),
        json.dumps("https://a.example/y.png"),
        "",
        "{broken",
        json.dumps({"name": "nothing"}),
        json.dumps({"url": "https://a.example/z", "size": "many"}),
        json.dumps([1]),
    ]
    found = listed(tmp_path / "list.jsonl", "\n".join(lines))
    items = [one for one in found if isinstance(one, Item)]
    assert [item.artifact_id for item in items] == [
        "url:https://a.example/x.png",
        "url:https://a.example/y.png",
    ]
    assert items[0].stated["sha1"] == "a" * 40
    assert items[0].stated["size_bytes"] == 12
    assert items[0].stated["fields"] == {"doi": "10.1/x"}
    problems = [one for one in found if isinstance(one, str)]
    assert [problem.partition("line ")[2].partition(":")[0] for problem in problems] == ["4", "5", "6", "7"]
    assert all(str(tmp_path / "list.jsonl") in problem for problem in problems)


def test_csv_is_read_by_the_names_in_its_first_line(tmp_path: Path) -> None:
    text = "\ufeffURL,Name,Version\nhttps://a.example/x,X,2\nhttps://a.example/y,,\n,,\na,b,c,d\n"
    found = listed(tmp_path / "list.csv", text)
    first, second, third, fourth = found
    assert isinstance(first, Item)
    assert (first.name, first.stated["version"]) == ("X", "2")
    assert isinstance(second, Item)
    assert second.name == "https://a.example/y"
    assert "line 4" in str(third)
    assert "more values" in str(fourth)


def test_a_csv_that_cannot_be_read_to_its_end_is_refused_as_a_whole(tmp_path: Path) -> None:
    row = "https://a.example/x,X\n"
    large = f"https://a.example/y,{'y' * 200_000}\n"
    found = listed(tmp_path / "list.csv", f"url,abstract\n{row}{large}{row}")
    assert [item.stated["url"][-1] for item in found if isinstance(item, Item)] == ["x", "y", "x"]
    too_large = f"https://a.example/y,{'y' * (17 * 2**20)}\n"
    with pytest.raises(ListError, match=r"list\.csv is no CSV after line 2: field larger than"):
        listed(tmp_path / "list.csv", f"url,abstract\n{row}{too_large}{row}")


def test_an_id_may_stand_without_an_address(tmp_path: Path) -> None:
    item = item_of({"id": "doi:10.1234/ABC", "name": "A paper"})
    assert (item.artifact_id, item.stated["url"]) == ("doi:10.1234/abc", None)
    assert item_of({"id": "url:https://a.example/x"}).stated["url"] == "https://a.example/x"
    del tmp_path


def test_a_list_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    listing = FileListing(file=str(tmp_path / "gone.jsonl"))
    with pytest.raises(ListError, match=r"gone\.jsonl cannot be read"):
        list(read_list(listing, Lake(tmp_path), no_network))
    (tmp_path / "latin.csv").write_bytes(b"url\nhttps://a.example/\xe4\n")
    with pytest.raises(ListError, match="UTF-8"):
        list(read_list(FileListing(file=str(tmp_path / "latin.csv")), Lake(tmp_path), no_network))


def sitemap(kind: str, *entries: str) -> bytes:
    return f'<?xml version="1.0"?><{kind} xmlns="{SITEMAP}">{"".join(entries)}</{kind}>'.encode()


def read_sitemap(bodies: dict[str, bytes], first: str) -> list[Any]:
    return list(read_list(FileListing(sitemap=first), Lake(Path("unused")), bodies.__getitem__))


def test_a_sitemap_index_leads_to_sitemaps_packed_or_not() -> None:
    index = "https://a.example/index.xml"
    bodies = {
        index: sitemap(
            "sitemapindex",
            "<sitemap><loc>https://a.example/1.xml</loc></sitemap>",
            "<sitemap><loc>https://a.example/2.xml.gz</loc></sitemap>",
            f"<sitemap><loc>{index}</loc></sitemap>",
        ),
        "https://a.example/1.xml": sitemap(
            "urlset", "<url><loc>https://a.example/x</loc><lastmod>2026-01-02</lastmod></url>"
        ),
        "https://a.example/2.xml.gz": gzip.compress(
            sitemap("urlset", "<url><loc>https://a.example/y</loc></url>", "<url><loc>nonsense</loc></url>")
        ),
    }
    first, second, third = read_sitemap(bodies, index)
    assert (first.stated["url"], first.stated["version"]) == ("https://a.example/x", "2026-01-02")
    assert second.stated["url"] == "https://a.example/y"
    assert "entry 2: 'nonsense'" in third


def test_an_index_may_name_a_sitemap_from_its_own_address_and_an_entry_that_names_none_is_a_problem() -> None:
    index = "https://a.example/maps/index.xml"
    bodies = {
        index: sitemap(
            "sitemapindex",
            "<sitemap><loc/></sitemap>",
            "<sitemap><loc>ftp://a.example/1.xml</loc></sitemap>",
            "<sitemap><loc>http://[a.example/1.xml</loc></sitemap>",
            "<sitemap><loc>/1.xml</loc></sitemap>",
            "<sitemap><loc>HTTPS://A.example:443/1.xml</loc></sitemap>",
        ),
        "https://a.example/1.xml": sitemap("urlset", "<url><loc>https://a.example/x</loc></url>"),
    }
    *problems, found = read_sitemap(bodies, index)
    assert found.stated["url"] == "https://a.example/x"
    assert [f"{index}, entry {number}: " in problem for number, problem in enumerate(problems, start=1)] == [
        True,
        True,
        True,
    ]


@pytest.mark.fault(6, "a hostile sitemap")
@pytest.mark.parametrize(
    "body",
    [
        b"<html>Log in</html",
        b'<!DOCTYPE x [<!ENTITY a "b">]><urlset>&a;</urlset>',
        gzip.compress(b"<urlset>" + b" " * (51 * 2**20)),
        gzip.compress(b"<urlset>")[:-4],
    ],
    ids=["no XML", "entities", "a bomb", "cut off"],
)
def test_what_is_no_sitemap_is_refused_and_never_unpacked_beyond_a_bound(body: bytes) -> None:
    with pytest.raises(ListError, match=r"/s\.xml"):
        read_sitemap({"https://a.example/s.xml": body}, "https://a.example/s.xml")
