"""Secrets are planted wherever one may be, things fail loudly, and then no file and no output holds one."""

import json
from pathlib import Path

import pytest
from fake_mediawiki import Handler, page
from fake_ollama import Chat
from fake_ollama import Handler as ModelHandler
from secret_search import found_in
from whole_holocron import WholeHolocron, whole_holocron

from holocron_assets.crawl.sources.files import SourceError, load_source
from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.derive.server.process.connection import running_server
from holocron_assets.errors import PermanentError
from holocron_assets.lake.tables import LLM_ATTEMPTS, PAGES
from holocron_assets.orchestration.internals.instance import prepare_home

CANARY = "canary-of-"
SECRET = f"{CANARY}someone"
COOKIE = f"{CANARY}the-cookie"
PLANTED = {
    "OLLAMA_API_KEY": f"{CANARY}the-model-server",
    "HF_TOKEN": f"{CANARY}the-model-hub",
    "HF_ENDPOINT": f"http://someone:{CANARY}the-endpoint@127.0.0.1:9",
    "PIP_INDEX_URL": f"http://someone:{CANARY}the-index@127.0.0.1:9/simple",
    "PIP_RETRIES": "0",
    "HTTP_PROXY": f"http://someone:{CANARY}the-proxy@127.0.0.1:9",
    "HTTPS_PROXY": f"http://someone:{CANARY}the-proxy@127.0.0.1:9",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}something-else",
}


@pytest.mark.full
def test_no_file_and_no_output_of_a_whole_holocron_holds_a_secret(tmp_path: Path) -> None:
    with whole_holocron(tmp_path, pages=4, interrogations=("entity_facts",)) as whole:
        whole.environment |= {**PLANTED, "HOLOCRON_MODELS": str(tmp_path / "models")}
        remember_everybody(whole)
        whole.ollama.script.append(refuse_and_repeat)
        for command in (("run",), ("run",), ("status",), ("models", "fetch", "smollm2:135m")):
            done = whole.command(*command)
            assert CANARY not in done.stdout + done.stderr, command
        with whole.instance() as instance:
            assert CANARY not in instance.info_str()
        # what was planted was met: pages were read, and a model refused us and then answered
        assert whole.rows(PAGES)
        outcomes = {row["outcome"] for row in whole.rows(LLM_ATTEMPTS)}
        assert outcomes >= {"ok", "refused"}
        assert found_in(tmp_path, [CANARY]) == {}


def remember_everybody(whole: WholeHolocron) -> None:
    """Let the wiki set a cookie with each answer, and fail once."""
    answer = whole.wiki.answer

    def with_cookie(handler: Handler) -> None:
        body = json.dumps(answer(handler.parameters)).encode()
        said = {"Content-Type": "application/json", "Set-Cookie": f"session={COOKIE}; Path=/"}
        handler.reply(200, body, said)

    whole.wiki.script.extend([page(503, "busy", Set_Cookie=f"session={COOKIE}"), *[with_cookie] * 40])


def refuse_and_repeat(handler: ModelHandler, _chat: Chat) -> None:
    """Refuse, as some proxies do: with all that was sent."""
    handler.send(401, {"error": f"invalid key: {dict(handler.headers.items())}"})


@pytest.mark.parametrize("rest", ["@127.0.0.1:port/holocron", "", "@"])
def test_what_is_no_address_of_a_database_is_refused_without_repeating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", f"postgresql://someone:{SECRET}{rest}")
    with pytest.raises(PermanentError, match="HOLOCRON_POSTGRES_URL is no address") as refused:
        prepare_home()
    assert CANARY not in str(refused.value)
    assert refused.value.__context__ is None
    assert found_in(tmp_path, [CANARY]) == {}


@pytest.mark.full
def test_the_error_about_an_unreachable_database_shows_no_password(tmp_path: Path) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        whole.environment["HOLOCRON_POSTGRES_URL"] = f"postgresql://someone:{SECRET}@127.0.0.1:9/holocron"
        done = whole.command("run")
        assert done.returncode != 0
        assert CANARY not in done.stdout + done.stderr
        assert found_in(tmp_path, [CANARY]) == {}


def test_secrets_are_found_where_they_are_hidden(tmp_path: Path) -> None:
    """The search itself: a secret that is packed in a table or a database is found."""
    import sqlite3  # noqa: PLC0415
    import zlib  # noqa: PLC0415

    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    (tmp_path / "run.log").write_text(f"said {SECRET}")
    pq.write_table(pa.table({"error": [SECRET] * 100}), tmp_path / "data.parquet", compression="zstd")
    with sqlite3.connect(tmp_path / "index.db") as database:
        database.execute("create table snapshots (body blob)")
        database.execute("insert into snapshots values (?)", [zlib.compress(SECRET.encode() * 9)])
    (tmp_path / "clean.txt").write_text("nothing")
    assert sorted(found_in(tmp_path, [CANARY])) == ["data.parquet", "index.db", "run.log"]


@pytest.mark.parametrize(
    "address",
    [
        f"https://someone:{SECRET}@wiki.example.org/api.php",
        f"https://wiki.example.org/api.php?token={SECRET}",
        f"https://wiki.example.org/api.php#{SECRET}",
        f"https://someone:{SECRET}@wiki.example.org:port/api.php",
        f"[https://someone:{SECRET}@wiki.example.org]",
        f'"https://someone:{SECRET}@wiki.example.org',
    ],
)
def test_a_source_with_a_secret_in_its_address_is_refused_without_repeating_it(
    tmp_path: Path, address: str
) -> None:
    file = tmp_path / "wiki.yaml"
    file.write_text(f"name: wiki\nenabled: true\nkind: mediawiki_api\naddress: {address}\n")
    with pytest.raises(SourceError, match=r"wiki\.yaml, line \d") as refused:
        load_source(file)
    error: BaseException | None = refused.value
    while error is not None:  # Dagster writes down the causes too
        assert CANARY not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("host", [f"http://someone:{SECRET}@127.0.0.1:11434", f"{SECRET}@localhost:abc"])
def test_a_model_server_with_a_password_in_its_address_is_refused_without_repeating_it(host: str) -> None:
    with pytest.raises(ModelServerError, match="OLLAMA_API_KEY") as refused:
        running_server({"OLLAMA_HOST": host})
    assert CANARY not in str(refused.value)
