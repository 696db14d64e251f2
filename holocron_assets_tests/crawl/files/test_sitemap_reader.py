"""Sitemaps are read over HTTP as politely as everything else."""

from pathlib import Path

import pytest
from file_rows import list_source
from file_server import FileServer, answer

from holocron_assets.crawl.errors import WikiRefused
from holocron_assets.crawl.files import sitemaps
from holocron_assets.crawl.files.sitemaps import sitemap_reader
from holocron_assets.crawl.sources.lists import LARGEST_SITEMAP, ListError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS


def read(tmp_path: Path, url: str) -> bytes:
    source = list_source(private_hosts=["127.0.0.1"])
    with sitemap_reader(Lake(tmp_path), source, tmp_path / "politeness") as read_url:
        return read_url(url)


def test_a_redirect_is_followed_and_every_request_recorded(tmp_path: Path) -> None:
    with FileServer() as server:
        server.serve("/new.xml", answer(200, b"<urlset/>"))
        url = server.serve("/old.xml", answer(301, Location="/new.xml"))
        assert read(tmp_path, url) == b"<urlset/>"
    assert Lake(tmp_path).partitions(HTTP_ATTEMPTS)


def test_robots_txt_is_obeyed(tmp_path: Path) -> None:
    with FileServer(robots="User-agent: *\nDisallow: /s") as server:
        url = server.serve("/s.xml", answer(200, b"<urlset/>"))
        with pytest.raises(WikiRefused, match=r"robots\.txt"):
            read(tmp_path, url)
    assert server.asked == []


def test_redirects_without_end_are_refused(tmp_path: Path) -> None:
    with FileServer() as server:
        url = server.serve("/a.xml", answer(302, Location="/a.xml"))
        with pytest.raises(ListError, match="redirects"):
            read(tmp_path, url)


def test_a_redirect_that_must_not_be_followed_is_an_error_of_the_list(tmp_path: Path) -> None:
    with FileServer() as server:
        url = server.serve("/a.xml", answer(302, Location="ftp://a.example/a.xml"))
        with pytest.raises(ListError, match=f"the sitemap {url} cannot be read: .*redirects"):
            read(tmp_path, url)


def test_a_sitemap_that_is_gone_is_named(tmp_path: Path) -> None:
    with FileServer() as server:
        url = server.serve("/gone.xml", answer(404, b"no"))
        with pytest.raises(ListError, match=f"the sitemap {url} cannot be read: HTTP 404"):
            read(tmp_path, url)


def test_an_address_of_the_own_network_is_refused(tmp_path: Path) -> None:
    with (
        FileServer() as server,
        sitemap_reader(Lake(tmp_path), list_source(), tmp_path / "politeness") as read_url,
        pytest.raises(WikiRefused, match="private_hosts"),
    ):
        read_url(server.url("/s.xml"))


def test_a_sitemap_that_is_too_large_is_asked_for_once_and_named_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "LARGEST_SITEMAP", 1000)
    with FileServer() as server:
        url = server.serve("/s.xml", answer(200, b" " * 1001))
        with pytest.raises(ListError, match=f"{url} is no sitemap: the body is larger than 1000 bytes"):
            read(tmp_path, url)
        assert len(server.asked) == 1


@pytest.mark.system
def test_a_sitemap_may_be_as_large_as_their_protocol_allows_and_a_larger_one_is_none(tmp_path: Path) -> None:
    largest = b" " * LARGEST_SITEMAP
    with FileServer() as server:
        assert read(tmp_path, server.serve("/s.xml", answer(200, largest))) == largest
        with pytest.raises(ListError, match="larger than 52428800 bytes"):
            read(tmp_path, server.serve("/t.xml", answer(200, largest + b" ")))
