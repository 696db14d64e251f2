"""`holocron sources add`: a wiki's address becomes a source, and nothing else is fetched."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fake_mediawiki import Behaviour, FakeWiki, Handler, api, page
from real_mediawiki import RealWiki, wiki_of
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.lake.views.database import connect, query

pytestmark = pytest.mark.system  # a wiki is asked once a second

LAMPS = {
    "general": {
        "sitename": "Лампы",
        "lang": "ru",
        "generator": "MediaWiki 1.43.1",
        "base": "http://lamps/wiki/Main",
    },
    "namespaces": {
        "0": {"id": 0, "name": "", "content": True},
        "4": {"id": 4, "name": "Лампы", "content": False},
        "3000": {"id": 3000, "name": "Лампа", "content": True},
    },
    "statistics": {"pages": 30_000, "articles": 20_000, "images": 7},
    "extensions": [{"name": "Cargo"}, {"name": "ParserFunctions"}, {"name": "Cargo"}],
    "rightsinfo": {"url": "https://creativecommons.org/licenses/by-sa/4.0/", "text": "CC BY-SA 4.0"},
}


def siteinfo(asked: Mapping[str, str]) -> dict[str, Any]:
    assert asked["meta"] == "siteinfo"
    return {"batchcomplete": True, "query": LAMPS}


def at(paths: Mapping[str, Behaviour]) -> Behaviour:
    """Behave by the path that is asked for; elsewhere is nothing."""

    def behave(handler: Handler) -> None:
        paths.get(handler.path.partition("?")[0], page(404, "nothing"))(handler)

    return behave


@pytest.fixture
def new(tmp_path: Path) -> Holocron:
    return Holocron(tmp_path)


@pytest.fixture
def wiki() -> Iterator[FakeWiki]:
    with FakeWiki(answer=siteinfo) as started:
        yield started


def add(new: Holocron, *arguments: str) -> Result:
    given = ["sources", "add", *arguments, "--contact", "me@example.org", "--private"]
    return CliRunner().invoke(main, given, env={**new.environment, "COLUMNS": "120"})


def test_the_api_that_a_page_names_is_asked_once_and_a_source_is_written(
    new: Holocron, wiki: FakeWiki
) -> None:
    link = '<link rel="EditURI" type="application/rsd+xml" href="/engine/api.php?action=rsd">'
    start = page(301, "", Location="/wiki/Main")
    paths = {"/": start, "/wiki/Main": page(200, f"<html>{link}</html>"), "/engine/api.php": api(siteinfo)}
    wiki.behave = at(paths)
    wiki.robots = page(200, "User-agent: *\nCrawl-delay: 4\n")
    result = add(new, f"http://{wiki.host}/", "--name", "lamps")
    assert result.exit_code == 0, result.output
    source = load_source(new.sources_folder / "lamps.yaml")
    assert source.address == f"http://{wiki.host}/engine/api.php"
    assert (source.enabled, source.namespaces, source.seeds.all_pages) == (False, (0, 3000), True)
    assert (source.politeness.contact, source.politeness.requests_per_second) == ("me@example.org", 0.25)
    assert source.private_hosts == ("127.0.0.1",)
    text = (new.sources_folder / "lamps.yaml").read_text()
    assert "20,000 articles, in ru" in text
    assert "CC BY-SA 4.0 https://creativecommons.org/licenses/by-sa/4.0/" in text
    assert len(wiki.requests) == 3, "a page, where it leads, and the API"


def test_what_the_wiki_says_in_its_own_words_cannot_change_the_file(new: Holocron, wiki: FakeWiki) -> None:
    name = "Lamps\nenabled: true\n# and more"
    wiki.answer = lambda _: {"query": {**LAMPS, "general": {"sitename": name, "lang": "x\nkind: other"}}}
    assert add(new, wiki.api_url, "--name", "lamps").exit_code == 0
    assert load_source(new.sources_folder / "lamps.yaml").enabled is False


def test_it_says_what_a_crawl_and_an_export_would_take(new: Holocron, wiki: FakeWiki) -> None:
    wiki.robots = page(200, "User-agent: *\nCrawl-delay: 4\n")
    said = " ".join(add(new, wiki.api_url, "--name", "lamps").stdout.split())
    assert "Лампы (MediaWiki 1.43.1)" in said
    assert "20,000 articles; 30,000 pages and 7 files in all" in said
    assert "Cargo, ParserFunctions" in said
    assert "0.25 requests a second" in said
    assert "a crawl 440 0.50 60 to 1,000 MB of lake" in said, "40 lists and 400 times 50 pages, 4 s apart"
    assert "an export 1" in said
    assert "`holocron sources enable lamps`" in said


def test_the_requests_are_recorded_like_all_others(new: Holocron, wiki: FakeWiki) -> None:
    add(new, wiki.api_url, "--name", "lamps")
    with connect(new.lake, relations=["http_attempts"]) as connection:
        rows = query(connection, "select url, outcome from http_attempts order by started_at")
    assert [row["outcome"] for row in rows] == ["client_error", "ok"], "robots.txt is not there"
    assert rows[1]["url"].startswith(f"{wiki.api_url}?action=query")


def test_without_a_name_the_source_has_the_wikis_or_its_hosts(new: Holocron, wiki: FakeWiki) -> None:
    add(new, wiki.api_url)
    assert [path.stem for path in new.sources_folder.glob("*.yaml")] == ["wiki"], "no Latin letter"
    wiki.answer = lambda _: {
        "batchcomplete": True,
        "query": {**LAMPS, "general": {"sitename": "The Lamp-Wiki 2"}},
    }
    result = add(new, wiki.api_url)
    assert (new.sources_folder / "the_lamp_wiki.yaml").exists(), result.output


def test_usual_places_are_tried_where_the_page_names_no_api(new: Holocron, wiki: FakeWiki) -> None:
    wiki.behave = at({"/": page(200, "<html>lamps</html>"), "/w/api.php": api(siteinfo)})
    assert add(new, f"http://{wiki.host}/", "--name", "lamps").exit_code == 0
    assert load_source(new.sources_folder / "lamps.yaml").address == f"http://{wiki.host}/w/api.php"


def test_an_api_that_moved_is_asked_where_it_is_now(new: Holocron, wiki: FakeWiki) -> None:
    with FakeWiki(answer=siteinfo) as other:
        other.robots = page(200, "User-agent: *\nCrawl-delay: 4\n")
        wiki.behave = at(
            {
                "/api.php": page(301, "moved", Location="/w/api.php?action=query&meta=siteinfo"),
                "/w/api.php": page(302, "moved", Location=f"{other.api_url}?x=y#z"),
            }
        )
        assert add(new, wiki.api_url, "--name", "lamps").exit_code == 0
        source = load_source(new.sources_folder / "lamps.yaml")
        assert source.address == other.api_url
        assert source.politeness.requests_per_second == 0.25, "the robots.txt of the new address counts"
        assert [len(wiki.requests), len(other.requests)] == [2, 1]


def test_a_moved_api_is_not_asked_where_robots_txt_forbids_it(new: Holocron, wiki: FakeWiki) -> None:
    with FakeWiki(answer=siteinfo) as other:
        other.robots = page(200, "User-agent: *\nDisallow: /\n")
        wiki.behave = page(301, "moved", Location=other.api_url)
        assert add(new, wiki.api_url).exit_code == 1
        assert other.requests == []


def test_a_moved_api_is_not_asked_in_a_private_network_that_no_person_named(
    new: Holocron, wiki: FakeWiki
) -> None:
    elsewhere = wiki.api_url.replace("127.0.0.1", "127.0.0.2")
    wiki.behave = page(301, "moved", Location=elsewhere)
    result = add(new, wiki.api_url)
    assert result.exit_code == 1
    assert "private_hosts" in " ".join(result.stderr.split())
    assert len(wiki.requests) == 1


@pytest.mark.parametrize(
    "location",
    [
        "/login?returnto=api.php",
        "ftp://wiki.example.org/api.php",
        "http://[::1/api.php",
        "http://h:0/api.php",
    ],
)
def test_an_api_that_leads_elsewhere_is_said_to_do_so(new: Holocron, wiki: FakeWiki, location: str) -> None:
    wiki.behave = page(302, "moved", Location=location)
    result = add(new, wiki.api_url)
    assert result.exit_code == 1
    assert f"(which leads on to '{location}')" in " ".join(result.stderr.split())
    assert len(wiki.requests) == 1


def test_apis_that_lead_to_each_other_are_each_asked_once(new: Holocron, wiki: FakeWiki) -> None:
    paths = {
        "/api.php": page(302, "", Location="/w/api.php"),
        "/w/api.php": page(302, "", Location="/api.php"),
    }
    wiki.behave = at(paths)
    assert add(new, wiki.api_url).exit_code == 1
    assert len(wiki.requests) == 2


def test_what_is_no_wiki_is_said_so_with_what_was_tried(new: Holocron, wiki: FakeWiki) -> None:
    wiki.behave = page(200, "<html>a shop</html>")
    result = add(new, f"http://{wiki.host}/shop")
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert f"no MediaWiki answers for http://{wiki.host}/shop" in said
    assert f"http://{wiki.host}/w/api.php" in said
    assert "Special:Version" in said
    assert not list(new.sources_folder.glob("*.yaml"))


def test_a_private_wiki_is_said_to_be_one(new: Holocron, wiki: FakeWiki) -> None:
    wiki.answer = lambda _: {"error": {"code": "readapidenied", "info": "You need read permission."}}
    result = add(new, wiki.api_url)
    assert result.exit_code == 1
    assert "is the API of a private wiki" in " ".join(result.stderr.split())


def test_a_wiki_whose_robots_txt_forbids_it_is_left_alone(new: Holocron, wiki: FakeWiki) -> None:
    wiki.robots = page(200, "User-agent: *\nDisallow: /\n")
    result = add(new, f"http://{wiki.host}/", "--name", "lamps")
    assert result.exit_code == 1
    assert "forbids 'Holocron'" in " ".join(result.stderr.split())
    assert wiki.requests == []
    assert not list(new.sources_folder.glob("*.yaml"))


def test_a_name_that_is_taken_is_refused_before_anything_is_asked(new: Holocron, wiki: FakeWiki) -> None:
    add(new, wiki.api_url, "--name", "lamps")
    asked = len(wiki.requests)
    result = add(new, wiki.api_url, "--name", "lamps")
    assert result.exit_code == 1
    assert "is there already: choose another name" in " ".join(result.stderr.split())
    assert len(wiki.requests) == asked


def test_an_address_of_the_own_network_is_refused_unless_a_person_says_so(
    new: Holocron, wiki: FakeWiki
) -> None:
    given = ["sources", "add", wiki.api_url, "--contact", "me@example.org"]
    result = CliRunner().invoke(main, given, env=new.environment)
    assert result.exit_code == 1
    assert wiki.requests == []


@pytest.mark.parametrize(
    "address",
    ["ftp://wiki.example.org", "http://", "https:///wiki", "http://[::1", "https://wiki.example.org:x"],
)
@pytest.mark.parametrize("private", [[], ["--private"]], ids=["public", "private"])
def test_what_is_no_address_is_refused(new: Holocron, address: str, private: list[str]) -> None:
    given = ["sources", "add", address, "--contact", "me@example.org", *private]
    result = CliRunner().invoke(main, given, env=new.environment)
    assert result.exit_code == 1
    assert "is no address of a web page" in " ".join(result.stderr.split())


@pytest.mark.parametrize("contact", ["me", "", "me@example.org\n", "me@b\u00fccher.example"])
def test_what_is_no_contact_is_refused_before_anything_is_asked(
    new: Holocron, wiki: FakeWiki, contact: str
) -> None:
    given = ["sources", "add", wiki.api_url, "--contact", contact, "--private"]
    result = CliRunner().invoke(main, given, env=new.environment)
    assert result.exit_code == 1
    assert f"contact {contact!r} must be an e-mail address or a web address" in " ".join(
        result.stderr.split()
    )
    assert wiki.requests == []


@pytest.mark.realwiki
def test_a_real_mediawiki_is_found_from_its_start(new: Holocron, tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    texts = {"Lamp": "A '''lamp''' gives light.", "Shade": "A '''shade''' is on a [[lamp]]."}
    with wiki_of(tmp_path / "wiki", texts) as real:
        assert isinstance(real, RealWiki)
        result = add(new, real.api_url.removesuffix("api.php"), "--name", "real")
    assert result.exit_code == 0, result.output
    assert load_source(new.sources_folder / "real.yaml").address == real.api_url
    assert "language en" in " ".join(result.stdout.split())
