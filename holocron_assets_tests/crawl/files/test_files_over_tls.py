"""Files over TLS: the certificates that the operator trusts count, and no others."""

import hashlib
import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from file_server import FileServer, cut, file
from reading_rig import a_list, attempts, read_one, wanted

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")

PNG = b"\x89PNG\r\n\x1a\n" + os.urandom(3_000_000)


def certificate(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate for a name or address, and what a server with it needs."""
    made, key = folder / "made.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tests"
    places = ["-keyout", str(key), "-out", str(made), "-addext", f"subjectAltName={name}"]
    subprocess.run([*command.split(), *places], check=True, capture_output=True)  # noqa: S603 - ours
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return made, context


def test_a_file_comes_whole_from_a_server_that_the_operator_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, context = certificate(tmp_path, "IP:127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with FileServer(tls=context) as server:
        row = read_one(tmp_path, a_list(), wanted("a", server.serve("/a.png", file(PNG))))
    assert (row["status"], row["sha256"]) == ("ok", hashlib.sha256(PNG).hexdigest())


def test_a_file_that_breaks_off_under_tls_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trusted, context = certificate(tmp_path, "IP:127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with FileServer(tls=context) as server:
        row = read_one(
            tmp_path, a_list(), wanted("a", server.serve("/a.png", cut(PNG, 2_000_000), file(PNG)))
        )
        second = server.asked_for("/a.png")[1]
    assert (row["status"], row["sha256"]) == ("ok", hashlib.sha256(PNG).hexdigest())
    assert 0 < second.start <= 2_000_000


@pytest.mark.system
@pytest.mark.parametrize("fault", ["another certificate is trusted", "the certificate is of another host"])
def test_no_request_goes_to_a_server_whose_certificate_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    (tmp_path / "other").mkdir()
    of_another_host = fault == "the certificate is of another host"
    trusted, context = certificate(tmp_path, "DNS:files.example.org" if of_another_host else "IP:127.0.0.1")
    other, _ = certificate(tmp_path / "other", "IP:127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted if of_another_host else other))
    source = a_list(politeness=a_list().politeness.model_copy(update={"obey_robots": False}))
    with FileServer(tls=context) as server:
        row = read_one(tmp_path, source, wanted("a", server.serve("/a.png", file(PNG))))
        asked = server.asked
    assert (row["status"], asked) == ("failed", [])
    assert "certificate verify failed" in attempts(tmp_path)[0]["error"]
