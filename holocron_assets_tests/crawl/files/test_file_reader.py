"""Artifacts become rows: through their resolvers, with what is held, and without blame for their hosts."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asked_lake import ask_lake
from fetching_rig import SwiftClock
from file_rows import put_list
from file_server import Behaviour, FileServer, answer, cut, file, raw
from reading_rig import BATCH, POLITE, a_list, a_wiki, attempts, imageinfo, read_one, reading, wanted

from holocron_assets.crawl.errors import HostBusy, WikiUnavailable
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.files.artifact import Artifact
from holocron_assets.crawl.files.resolvers import ResolverError
from holocron_assets.crawl.frontier.file_batches import FILES_OF_A_BATCH
from holocron_assets.crawl.sources.file_source import Resolver
from holocron_assets.crawl.sources.settings import QuietHours
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 1000
SHA1 = hashlib.sha1(PNG).hexdigest()  # noqa: S324 - what wikis state
SHA256 = hashlib.sha256(PNG).hexdigest()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SwiftClock:
    return SwiftClock(monkeypatch)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def in_the_api(server: FileServer, *answers: bytes) -> str:
    """Serve answers of a wiki's API, and give its address."""
    return server.serve("/api.php", *[answer(200, body, Content_Type="application/json") for body in answers])


def with_nobody(port_of: FileServer) -> str:
    """An address where nobody listens: of a server that has ended."""
    with FileServer() as ended:
        return ended.url("/a.png").replace(str(port_of.port), str(ended.port))


def held(folder: Path, **known: Any) -> dict[str, Any]:
    """What a manifest says of bytes that the store holds, after they were put there."""
    store = FileStore(Lake(folder / "data"))
    store.parts.mkdir(parents=True, exist_ok=True)
    aside = store.parts / "aside"
    aside.write_bytes(PNG)
    store.adopt(aside, SHA256)
    return {"held_sha256": SHA256, **{f"held_{name}": value for name, value in known.items()}}


def test_an_artifact_becomes_a_row_that_names_its_bytes(server: FileServer, tmp_path: Path) -> None:
    url = server.serve(
        "/a.png?size=1", file(PNG, Content_Type="image/png", Last_Modified="Mon, 02 Nov 2026 10:00:00 GMT")
    )
    row = read_one(tmp_path, a_list(), wanted("a picture", url))
    assert (row["status"], row["reason"], row["attempts"], row["error"]) == ("ok", "http-200", 1, None)
    assert (row["sha256"], row["sha1"], row["size_bytes"]) == (SHA256, SHA1, len(PNG))
    assert (row["url"], row["resolver"], row["http_status"], row["etag"]) == (url, "direct", 200, '"v1"')
    assert (row["mime"], row["stated_mime"], row["fresh_until"]) == ("image/png", "image/png", None)
    assert row["last_modified"] == "Mon, 02 Nov 2026 10:00:00 GMT"
    assert FileStore(Lake(tmp_path / "data")).bring(SHA256).read_bytes() == PNG
    (request,) = attempts(tmp_path)
    assert (request["verb"], request["reason"], request["resolver"], request["bytes"]) == (
        "GET",
        "http-200",
        "direct",
        len(PNG),
    )


def test_the_next_resolver_is_tried_when_one_gives_nothing_or_its_address_fails_for_good(
    server: FileServer, tmp_path: Path
) -> None:
    url = server.serve("/file/a%2Fb.png", file(PNG))
    chain = (
        Resolver(use="template", name="by_doi", template=server.url("/doi/{doi}")),
        Resolver(use="direct"),
        Resolver(use="template", name="by_field", template=server.url("/file/{place}")),
    )
    row = read_one(
        tmp_path,
        a_list(resolvers=chain),
        wanted("a", server.url("/gone"), fields=json.dumps({"place": "a/b.png"})),
    )
    assert (row["status"], row["resolver"], row["url"]) == ("ok", "by_field", url)
    found = [
        (one["resolver"], one["outcome"], one["reason"], one["http_status"]) for one in row["candidates"]
    ]
    assert found == [("direct", "missing", "http-404", 404), ("by_field", "ok", "http-200", 200)]


def test_a_candidate_that_fails_for_now_is_tried_again_before_the_next_one(
    server: FileServer, tmp_path: Path
) -> None:
    server.serve("/b.png", file(PNG))
    chain = (Resolver(use="direct"), Resolver(use="template", template=server.url("/b.png")))
    page = answer(200, b"<html>", Content_Type="text/html")
    manifest = wanted("a", server.serve("/a.png", page))
    row = read_one(tmp_path, a_list(resolvers=chain), manifest)
    assert (row["status"], row["reason"], row["attempts"]) == ("failed", "html", 1)
    last = read_one(tmp_path, a_list(resolvers=chain), {**manifest, "failures": 3})
    assert (last["status"], last["resolver"]) == ("ok", "template")


def test_an_artifact_that_nobody_has_is_missing(server: FileServer, tmp_path: Path) -> None:
    assert read_one(tmp_path, a_list(), wanted("a"))["reason"] == "nothing"
    row = read_one(tmp_path, a_list(), wanted("a", server.serve("/a", answer(410))))
    assert (row["status"], row["reason"]) == ("missing", "http-410")
    assert row["error"] == f"a: HTTP 410 ({server.url('/a')})"


@pytest.mark.parametrize(
    ("behaviour", "settings", "reason"),
    [
        (answer(401), {}, "http-401"),
        (answer(403, b"no"), {}, "http-403"),
        (file(PNG), {"max_bytes": 100}, "too-large"),
        (file(PNG), {"expect": ("application/pdf",)}, "type-excluded"),
        (answer(302, Location="http://10.0.0.1/a.png"), {}, "private-address"),
        (answer(302, Location="ftp://example.org/a.png"), {}, "redirect-unusable"),
        (answer(302, Location="/a.png"), {}, "redirect-loop"),
    ],
)
def test_what_is_refused_for_good_says_why(
    behaviour: Behaviour, settings: dict[str, Any], reason: str, server: FileServer, tmp_path: Path
) -> None:
    row = read_one(tmp_path, a_list(**settings), wanted("a", server.serve("/a.png", behaviour)))
    assert (row["status"], row["reason"], row["sha256"]) == ("refused", reason, None)
    assert row["error"].startswith("a: ")


def test_a_file_that_its_source_states_to_be_too_large_is_not_asked_for(
    server: FileServer, tmp_path: Path
) -> None:
    row = read_one(tmp_path, a_list(max_bytes=10), wanted("a", server.url("/a"), size_bytes=11))
    assert (row["status"], row["reason"], server.asked) == ("refused", "too-large", [])


def test_robots_txt_is_obeyed_for_each_host(server: FileServer, tmp_path: Path) -> None:
    server.robots = "User-agent: *\nDisallow: /private/"
    server.serve("/private/a.png", file(PNG))
    row = read_one(tmp_path, a_list(), wanted("a", server.url("/private/a.png")))
    assert (row["status"], row["reason"], server.asked) == ("refused", "robots", [])
    moved = server.serve("/b.png", answer(302, Location="/private/a.png"))
    assert read_one(tmp_path, a_list(), wanted("b", moved))["reason"] == "robots"
    assert server.robots_asked == 1


def test_a_check_of_a_held_file_costs_a_304(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", file(PNG, Cache_Control="max-age=60"))
    row = read_one(tmp_path, a_list(), wanted("a", url, **held(tmp_path, url=url, etag='"v1"')))
    assert (row["status"], row["reason"], row["sha256"]) == ("ok", "http-304", SHA256)
    assert (row["etag"], row["mime"], row["size_bytes"]) == ('"v1"', "image/png", len(PNG))
    assert row["fresh_until"] is not None
    assert server.asked[0].headers["if-none-match"] == '"v1"'
    assert attempts(tmp_path)[0]["bytes"] == 0


def test_a_changed_file_comes_with_the_same_request(server: FileServer, tmp_path: Path) -> None:
    newer = PNG + b"more"
    url = server.serve("/a.png", file(newer, '"v2"'))
    row = read_one(tmp_path, a_list(), wanted("a", url, **held(tmp_path, url=url, etag='"v1"')))
    assert (row["reason"], row["sha256"]) == ("http-200", hashlib.sha256(newer).hexdigest())
    assert len(server.asked) == 1


def test_a_file_that_is_fresh_by_its_servers_word_is_not_asked_for(
    server: FileServer, tmp_path: Path
) -> None:
    url, until = server.serve("/a.png", file(PNG)), datetime.now(UTC) + timedelta(hours=1)
    row = read_one(tmp_path, a_list(), wanted("a", url, **held(tmp_path, url=url, fresh_until=until)))
    assert (row["status"], row["reason"], row["sha256"], server.asked) == ("ok", "cache-hit", SHA256, [])
    assert [one["reason"] for one in attempts(tmp_path)] == ["cache-hit"]


def test_a_validator_is_sent_only_to_the_address_that_it_came_from(
    server: FileServer, tmp_path: Path
) -> None:
    url = server.serve("/a.png", file(PNG))
    read_one(tmp_path, a_list(), wanted("a", url, **held(tmp_path, url=url + "?old", etag='"v1"')))
    assert "if-none-match" not in server.asked[0].headers


def test_bytes_that_are_gone_from_the_store_are_fetched_anew(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", file(PNG))
    row = read_one(tmp_path, a_list(), wanted("a", url, held_sha256=SHA256, held_url=url, held_etag='"v1"'))
    assert (row["reason"], row["sha256"]) == ("http-200", SHA256)


@pytest.mark.parametrize("stated", [{"sha256": SHA256}, {"sha1": SHA1}])
def test_nothing_is_asked_where_the_stated_checksum_is_held(
    stated: dict[str, str], server: FileServer, tmp_path: Path
) -> None:
    row = read_one(tmp_path, a_list(), wanted("a", server.url("/a"), **stated, **held(tmp_path)))
    assert (row["status"], row["reason"], row["sha256"], server.asked) == ("ok", "held", SHA256, [])


def test_another_stated_checksum_than_the_held_one_is_fetched(server: FileServer, tmp_path: Path) -> None:
    newer = PNG + b"more"
    sha1 = hashlib.sha1(newer).hexdigest()  # noqa: S324
    row = read_one(
        tmp_path, a_list(), wanted("a", server.serve("/a.png", file(newer)), sha1=sha1, **held(tmp_path))
    )
    assert (row["reason"], row["sha1"]) == ("http-200", sha1)


def test_head_is_sent_only_where_a_source_asks_for_it(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", file(PNG, Content_Type="image/png"))
    read_one(tmp_path, a_list(), wanted("a", url))
    read_one(tmp_path, a_list(resolvers=(Resolver(use="direct", head=True),)), wanted("a", url))
    assert [one.verb for one in server.asked] == ["GET", "HEAD", "GET"]
    only_pdf = a_list(resolvers=(Resolver(use="direct", head=True),), expect=("application/pdf",))
    assert read_one(tmp_path, only_pdf, wanted("a", url))["reason"] == "type-excluded"
    assert [one.verb for one in server.asked][3:] == ["HEAD"]


def test_a_server_that_answers_no_head_is_asked_for_the_file(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", answer(405), file(PNG))
    assert (
        read_one(tmp_path, a_list(resolvers=(Resolver(use="direct", head=True),)), wanted("a", url))["status"]
        == "ok"
    )


def test_a_wiki_is_asked_for_the_present_address_of_its_file(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/images/a.png", file(PNG))
    api = in_the_api(server, imageinfo("File:A.png", url=url, size=len(PNG), sha1=SHA1, mime="image/png"))
    row = read_one(tmp_path, a_wiki(api, resolvers=(Resolver(use="imageinfo"),)), wanted("File:A.png"))
    assert (row["status"], row["resolver"], row["url"]) == ("ok", "imageinfo", url)
    query = server.asked_for_start("/api.php?")[0].path
    assert "prop=imageinfo" in query
    assert "iiprop=url%7Csize%7Csha1%7Cmime%7Ctimestamp" in query


def test_what_a_wiki_states_of_its_file_is_checked(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/images/a.png", file(PNG))
    api = in_the_api(server, imageinfo("File:A.png", url=url, sha1="0" * 40))
    row = read_one(tmp_path, a_wiki(api, resolvers=(Resolver(use="imageinfo"),)), wanted("File:A.png"))
    assert (row["status"], row["reason"]) == ("failed", "checksum-mismatch")


def test_a_file_that_its_wiki_does_not_have_is_missing(server: FileServer, tmp_path: Path) -> None:
    source = a_wiki(in_the_api(server, imageinfo("File:A.png")), resolvers=(Resolver(use="imageinfo"),))
    assert read_one(tmp_path, source, wanted("File:A.png"))["status"] == "missing"


def by_name(artifact: Artifact) -> list[str]:
    """A resolver as a person writes one."""
    return [artifact.name]


def out_of_order(artifact: Artifact) -> list[str]:
    raise LookupError(artifact.name)


def test_a_function_may_be_a_resolver(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", file(PNG))
    source = a_list(resolvers=(Resolver(use="python", function=f"{__name__}:by_name"),))
    assert read_one(tmp_path, source, wanted(url))["resolver"] == "python"
    row = read_one(tmp_path, source, wanted("no address"))
    assert (row["status"], row["reason"]) == ("refused", "no-address")


def test_a_function_that_fails_is_named(tmp_path: Path) -> None:
    source = a_list(resolvers=(Resolver(use="python", function=f"{__name__}:out_of_order"),))
    row = read_one(tmp_path, source, wanted("a"))
    assert (row["status"], row["reason"]) == ("failed", "resolver-error")
    assert "out_of_order failed (LookupError: a)" in row["error"]
    assert "in out_of_order" in row["traceback"]
    assert row["traceback"].index("LookupError: a") < row["traceback"].index("ResolverError")


def test_a_failed_file_of_a_batch_has_its_traceback_beside_its_row(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "data")
    source = a_list(resolvers=(Resolver(use="python", function=f"{__name__}:out_of_order"),))
    names = [{**wanted(name), "position": place} for place, name in enumerate(["a", "b"])]
    put_list(lake, "a", "b", artifact_id=[row["artifact_id"] for row in names])
    write_partition(lake, FILE_BATCHES, BATCH, names)
    with reading(tmp_path, source) as reader:
        rows = fetch_batch(lake, BATCH, reader, "a-run", FILES_OF_A_BATCH)
    assert [(row["name"], row["status"], "\n" in row["error"]) for row in rows] == [
        ("a", "failed", False),
        ("b", "failed", False),
    ]
    shown = ask_lake(lake, "from tracebacks order by title")
    assert [(row["stage"], row["source"], row["title"], row["error"]) for row in shown] == [
        ("files", "files", row["name"], row["error"]) for row in rows
    ]
    assert "LookupError: b" in shown[1]["traceback"]


def test_a_function_that_cannot_be_loaded_stops_the_reading(tmp_path: Path) -> None:
    source = a_list(resolvers=(Resolver(use="python", function="no_such_module:f"),))
    with pytest.raises(ResolverError, match="put the module on PYTHONPATH"), reading(tmp_path, source):
        pass


def test_a_host_of_a_list_that_may_not_be_asked_costs_no_attempt_and_stops_no_other(
    server: FileServer, tmp_path: Path
) -> None:
    quiet = POLITE.model_copy(update={"requests_per_day": 2})  # robots.txt, and one file
    with FileServer() as other, reading(tmp_path, a_list(politeness=quiet)) as reader:
        for path in ("/a.png", "/b.png"):
            server.serve(path, file(PNG))
        rows = [
            *reader.read([wanted("a", server.url("/a.png"))], "a-run"),
            *reader.read([wanted("b", server.url("/b.png"))], "a-run"),
            *reader.read([wanted("c", other.serve("/c.png", file(PNG)))], "a-run"),
        ]
    assert [(row["status"], row["reason"], row["attempts"]) for row in rows] == [
        ("ok", "http-200", 1),
        ("failed", "host-daily-limit", 0),
        ("ok", "http-200", 1),
    ]
    assert rows[1]["due_at"] > datetime.now(UTC)


def test_a_host_of_a_list_that_asks_for_rest_costs_no_attempt(server: FileServer, tmp_path: Path) -> None:
    row = read_one(tmp_path, a_list(), wanted("a", server.serve("/a", answer(429, Retry_After="600"))))
    assert (row["status"], row["reason"], row["attempts"]) == ("failed", "http-429", 0)
    assert row["due_at"] > datetime.now(UTC) + timedelta(seconds=500)


def test_a_host_of_a_list_that_is_gone_costs_an_attempt(server: FileServer, tmp_path: Path) -> None:
    row = read_one(tmp_path, a_list(), wanted("a", with_nobody(server)))
    assert (row["status"], row["reason"], row["attempts"]) == ("failed", "robots-unreachable", 1)
    assert row["traceback"].index("httpcore") < row["traceback"].index("WikiUnavailable")


def test_the_traceback_of_a_file_goes_back_to_what_the_network_did(
    server: FileServer, tmp_path: Path
) -> None:
    row = read_one(tmp_path, a_list(), wanted("a", server.serve("/a.png", cut(PNG, 100, None))))
    assert (row["status"], row["reason"]) == ("failed", "size-mismatch")
    assert "httpcore" in row["traceback"]


@pytest.mark.parametrize(
    ("answered", "status"),
    [
        (answer(404), "missing"),
        (answer(500), "failed"),
        (answer(403), "refused"),
        (answer(429, Retry_After="600"), "failed"),
        (file(PNG), "ok"),
    ],
)
def test_what_a_server_answered_has_no_traceback(
    answered: Behaviour, status: str, server: FileServer, tmp_path: Path
) -> None:
    row = read_one(tmp_path, a_list(), wanted("a", server.serve("/a.png", answered)))
    assert row["status"] == status
    assert "traceback" not in row


def test_a_wiki_that_may_not_be_asked_ends_the_reading(server: FileServer, tmp_path: Path) -> None:
    quiet = POLITE.model_copy(update={"quiet_hours": QuietHours(start="00:00", end="23:59")})
    with pytest.raises(HostBusy):
        read_one(
            tmp_path,
            a_wiki(server.url("/api.php"), politeness=quiet),
            wanted("File:A.png", server.url("/a.png")),
        )


def test_a_wiki_that_does_not_work_ends_the_reading(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(WikiUnavailable):
        read_one(tmp_path, a_wiki(server.url("/api.php")), wanted("File:A.png", with_nobody(server)))


def test_a_file_of_a_wiki_that_works_otherwise_is_at_fault_itself(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", cut(PNG, 100, None))
    row = read_one(tmp_path, a_wiki(server.url("/api.php")), wanted("File:A.png", url))
    assert (row["status"], row["reason"], row["attempts"]) == ("failed", "size-mismatch", 1)


def test_the_request_log_says_which_try_repeats_another(server: FileServer, tmp_path: Path) -> None:
    read_one(tmp_path, a_list(), wanted("a", server.serve("/a.png", cut(PNG, 100), file(PNG))))
    assert [one["reason"] for one in attempts(tmp_path)] == ["size-mismatch", "retry-http-206"]


def test_a_permission_in_a_redirect_is_shown_nowhere(server: FileServer, tmp_path: Path) -> None:
    server.serve("/signed", raw(b""))
    row = read_one(
        tmp_path, a_list(), wanted("a", server.serve("/a", answer(302, Location="/signed?token=secret")))
    )
    assert "secret" in server.asked[1].path
    assert "secret" not in json.dumps([row, attempts(tmp_path)], default=str)
