"""No redirect and no name server leads Holocron into its own network: real sockets see no connection."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import pytest
from crawl_rows import wiki_source
from fake_crawl import page_object
from fake_mediawiki import Behaviour, FakeWiki, page
from lying_names import NOBODY, PUBLIC, PUBLIC_V6, Wire, listening, lying_names

from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.http import polite_requests
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.readers import wiki_client
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS

AGENT = "Holocron-tests/1 (tests@example.org)"


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


@pytest.fixture
def wiki() -> Iterator[FakeWiki]:
    with FakeWiki() as wiki:
        wiki.answer = lambda _: {"batchcomplete": True, "query": {"pages": [page_object("A")]}}
        yield wiki


class Reader:
    """Reads page "A" of a source into a lake, as a run does."""

    def __init__(self, folder: Path) -> None:
        self.lake, self.state = Lake(folder / "lake"), folder / "state"

    def read(self, address: str, *private_hosts: str, obey_robots: bool = False) -> None:
        source = source_at(address, *private_hosts, obey_robots=obey_robots)
        with wiki_client(self.lake, source, "wiki-000001", self.state) as client:
            client.fetch_pages(["A"], with_links=False)

    def attempts(self) -> Sequence[Row]:
        return read_partition(self.lake, HTTP_ATTEMPTS, "wiki-000001")


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def source_at(address: str, *private_hosts: str, obey_robots: bool) -> Source:
    polite = Politeness(contact="tests@example.org", requests_per_second=100.0, obey_robots=obey_robots)
    return wiki_source(address=address, private_hosts=private_hosts, politeness=polite)


@pytest.mark.fault(5, "a name that leads to an address of the own network")
@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["0.0.0.0"],  # noqa: S104 - the system takes it for itself
        ["::"],
        ["169.254.169.254"],
        ["fe80::1%lo"],
        ["10.1.2.3"],
        ["192.168.0.1"],
        ["172.16.0.1"],
        ["fd00::1"],
        ["100.64.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["224.0.0.1"],
        [PUBLIC, "127.0.0.1"],
        [PUBLIC_V6, PUBLIC, "10.0.0.1"],
    ],
    ids=" and ".join,
)
def test_a_name_that_leads_into_the_own_network_is_not_connected_to(
    addresses: list[str], wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying_names(monkeypatch, {"wiki.example": [addresses]})
    wire = Wire(monkeypatch, {PUBLIC: "127.0.0.1", PUBLIC_V6: "127.0.0.1"})
    with HttpClient(AGENT, deadline_seconds=5) as client:
        answer = client.send("GET", f"http://wiki.example:{port_of(wiki.api_url)}/api.php", {})
    assert answer.private_host == "wiki.example"
    assert str(answer.error).startswith(f"wiki.example leads to {addresses[-1]}, a")
    assert (wire.connected, wiki.connections) == ([], set())


@pytest.mark.fault(5, "an address of the own network, however it is written")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "127.0.0.1.",
        "\uff11\uff12\uff17.0.0.1",
        "\u2460\u2461\u2466.0.0.1",
    ],
)
def test_an_address_of_the_own_network_is_refused_however_it_is_written(host: str) -> None:
    with listening() as v4, listening("::1") as v6, HttpClient(AGENT, deadline_seconds=5) as client:
        for listener in (v4, v6):
            answer = client.send("GET", f"http://{host}:{listener.port}/api.php", {})
            assert answer.status is None
            # Some spellings are no host to begin with.
            assert (
                answer.private_host
                or "InvalidURL" in str(answer.error)
                or "cannot be looked up" in str(answer.error)
            )
        assert v4.came == v6.came == []


@pytest.mark.fault(5, "DNS rebinding: public when first asked, loopback when connected again")
def test_a_name_that_changes_its_mind_is_checked_at_each_connection(
    wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = lying_names(monkeypatch, {"wiki.example": [[PUBLIC], ["127.0.0.1"]]})
    wire = Wire(monkeypatch, {PUBLIC: "127.0.0.1"})
    url = f"http://wiki.example:{port_of(wiki.api_url)}/api.php"
    with HttpClient(AGENT, deadline_seconds=5) as client:
        wiki.will(page(200, "kept"), page(200, "closed", Connection="close"))
        assert [client.send("GET", url, {}).body for _ in range(2)] == [b"kept", b"closed"]
        assert names.asked == ["wiki.example"]  # a connection that is kept goes where it went
        refused = client.send("GET", url, {})
    assert refused.error == "wiki.example leads to 127.0.0.1, a loopback address"
    # What was checked is what was connected to: the name was not looked up a second time for that.
    assert (names.asked, wire.connected) == (["wiki.example"] * 2, [PUBLIC])


@pytest.mark.fault(5, "a proxy of the environment that would connect for us")
def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as proxy, listening() as inside:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        with HttpClient(AGENT, deadline_seconds=5) as client:
            answer = client.send("GET", f"http://127.0.0.1:{inside.port}/", {})
        assert answer.private_host == "127.0.0.1"
        assert proxy.came == inside.came == []


def test_each_host_that_may_be_private_allows_itself_alone(
    wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {name: [["127.0.0.1"]] for name in ("wiki.lan", "other.lan", "xn--mnchen-3ya.lan")}
    lying_names(monkeypatch, names)
    port = port_of(wiki.api_url)
    with HttpClient(AGENT, private_hosts=["wiki.lan", "münchen.lan"]) as client:
        statuses = {
            host: client.send("GET", f"http://{host}:{port}/api.php", {}).status
            for host in ("wiki.lan", "WIKI.lan", "münchen.lan", "other.lan", "127.0.0.1", "sub.wiki.lan.")
        }
    assert statuses == {"wiki.lan": 200, "WIKI.lan": 200, "münchen.lan": 200} | dict.fromkeys(
        ["other.lan", "127.0.0.1", "sub.wiki.lan."]
    )


def test_tls_is_spoken_with_the_name_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lying_names(monkeypatch, {"wiki.example": [[PUBLIC]]})
    wire = Wire(monkeypatch, {PUBLIC: "127.0.0.1"})
    with listening() as server, HttpClient(AGENT, deadline_seconds=5) as client:
        answer = client.send("GET", f"https://wiki.example:{server.port}/", {})
        assert answer.error is not None
        assert wire.connected == [PUBLIC]
        assert b"wiki.example" in server.came[0]  # the ClientHello names it


def test_an_address_that_leads_nowhere_costs_a_head_start_not_the_deadline(
    wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying_names(monkeypatch, {"wiki.example": [[PUBLIC_V6, "2606:2800:220:1::2", PUBLIC]]})
    wire = Wire(monkeypatch, {PUBLIC: "127.0.0.1", PUBLIC_V6: NOBODY})
    with HttpClient(AGENT, deadline_seconds=20) as client:
        started = monotonic()
        answer = client.send("GET", f"http://wiki.example:{port_of(wiki.api_url)}/api.php", {})
        assert (answer.status, monotonic() - started < 10) == (200, True)
    assert wire.connected == [PUBLIC_V6, PUBLIC]


@pytest.mark.fault(5, "a redirect's host that no name can be")
@pytest.mark.parametrize("host", ["a" * 64 + ".example", "..", ".example", "a..b"])
def test_a_host_that_cannot_be_is_an_error_not_a_crash(host: str) -> None:
    with HttpClient(AGENT, deadline_seconds=5) as client:
        assert client.send("GET", f"http://{host}/robots.txt", {}).error


@pytest.mark.fault(5, "a source whose wiki is at an address of the own network")
def test_a_source_at_a_private_address_is_refused_for_good_with_what_to_add(
    reader: Reader, wiki: FakeWiki
) -> None:
    for obey_robots in (False, True):
        with pytest.raises(WikiRefused) as caught:
            reader.read(wiki.api_url, obey_robots=obey_robots)
        assert isinstance(caught.value, PermanentError)
        assert caught.value.outcome == "private_address"
        for part in (
            "source 'wiki' may not ask",
            "127.0.0.1 is a loopback address",
            'private_hosts: ["127.0.0.1"]',
            "wiki.yaml",
        ):
            assert part in str(caught.value)
    assert wiki.connections == set()
    first, second = reader.attempts()
    assert (first["outcome"], first["status"], first["decision"]) == ("private_address", None, "not sent")
    assert second["url"].endswith("/robots.txt")
    # Nothing is held against the host, and no robots.txt was taken to be absent: once allowed, it is asked.
    wiki.robots = page(200, "User-agent: *\nDisallow: /")
    with pytest.raises(WikiRefused, match=r"robots\.txt forbids"):
        reader.read(wiki.api_url, "127.0.0.1", obey_robots=True)
    assert wiki.robots_requests == 1


@pytest.mark.fault(5, "robots.txt that redirects to an address of the own network")
@pytest.mark.parametrize("target", ["http://localhost:{port}/", "//localhost:{port}/x", "http://metadata/"])
def test_a_robots_txt_that_redirects_into_the_own_network_is_not_followed(
    target: str, reader: Reader, wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying_names(monkeypatch, {"metadata": [["169.254.169.254"]]})
    with listening() as inside:
        wiki.robots = leads_to(target.format(port=inside.port))
        with pytest.raises(WikiRefused, match=r"localhost|metadata") as caught:
            reader.read(wiki.api_url, "127.0.0.1", obey_robots=True)
        assert caught.value.outcome == "private_address"
        assert (inside.came, wiki.requests, wiki.robots_requests) == ([], [], 1)


@pytest.mark.fault(5, "an API that redirects to an address of the own network")
def test_an_api_that_redirects_into_the_own_network_is_not_followed(
    reader: Reader, wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polite_requests, "_MOST_TRIES", 1)
    with listening() as inside:
        wiki.will(leads_to(f"http://127.0.0.1:{inside.port}/api.php"))
        with pytest.raises(WikiUnavailable, match="it points to"):
            reader.read(wiki.api_url, "127.0.0.1")
        assert inside.came == []


def leads_to(location: str) -> Behaviour:
    return page(302, "", Location=location)
