"""The units of deploy/systemd are what systemd takes, give little away, and start what they name."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from documented import commands
from systemd_units import SERVICES, UNITS, Installed, settings_of

from holocron_assets.settings import PROJECT_FOLDER, written_by_people

GUIDE = PROJECT_FOLDER / "docs" / "deploy.md"
MOST_EXPOSED = 25  # tenths; systemd calls up to 4.0 "OK"
DAEMON, WEBSERVER = "holocron-daemon.service", "holocron-webserver.service"
MODELS, REVIEW = "holocron-models.service", "holocron-review.service"
LONG_RUNNING = [DAEMON, WEBSERVER, MODELS, REVIEW]
SLOWER = ("RestartSteps", "RestartMaxDelaySec")
"""What systemd before 254 does not know, and can be without."""


def systemd_analyze(*words: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("needs systemd-analyze")
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)  # noqa: S603


@pytest.fixture
def installed() -> Iterator[Installed]:
    """What docs/deploy.md puts into its places; not below /tmp, which is the unit's own there."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        ports = {port: str(free_port()) for port in ("3000", "8001", "11434")}
        made = Installed(folder, Path(sys.executable).parent / "holocron", ports)
        for part in ("etc/infobox", "lib", "backups"):
            (folder / part).mkdir(parents=True)
        copied = [one.text for one in commands(GUIDE) if one.text.startswith("cp -r sources")]
        subprocess.run(  # noqa: S602 - the guide's own line
            made.here(*copied), shell=True, cwd=PROJECT_FOLDER / "data", check=True
        )
        environment = made.here((UNITS / "holocron.env").read_text(encoding="utf-8"))
        (folder / "etc" / "holocron.env").write_text(f"{environment}HOLOCRON_LLM=off\n", encoding="utf-8")
        yield made


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("unit", [*SERVICES, *UNITS.glob("*.timer")], ids=lambda path: path.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    made = Installed(tmp_path, Path(sys.executable), {})
    for one in [*SERVICES, *UNITS.glob("*.timer")]:  # they name each other
        (tmp_path / one.name).write_text(made.here(one.read_text(encoding="utf-8")), encoding="utf-8")
    done = systemd_analyze("verify", "--man=no", str(tmp_path / unit.name))
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "Unknown key" not in line or not any(f"'{name}'" in line for name in SLOWER)
    ]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("unit", SERVICES, ids=lambda path: path.name)
def test_a_unit_gives_little_away(unit: Path) -> None:
    done = systemd_analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(unit))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("unit", SERVICES, ids=lambda path: path.name)
def test_a_unit_is_bounded_and_says_where_its_words_go(unit: Path) -> None:
    settings = settings_of(unit)
    for name in ("MemoryMax", "CPUWeight", "LimitNOFILE", "LogNamespace", "User", "EnvironmentFile"):
        assert settings["Service", name], f"{unit.name} sets no {name}"
    if unit.name in LONG_RUNNING:
        assert settings["Service", "Restart"][0] in ("on-failure", "always")
        assert settings["Service", "KillMode"] == ["mixed"], (
            "others are asked to stop by the one that started them"
        )


@pytest.mark.parametrize("service", [DAEMON, WEBSERVER])
def test_what_needs_a_database_is_started_again_however_late_that_comes_up(service: str) -> None:
    settings = settings_of(UNITS / service)
    assert settings["Unit", "StartLimitIntervalSec"] == ["0"]
    assert settings["Service", "Restart"] == ["on-failure"]
    assert settings["Service", "RestartSec"] == ["10s"], "else it would be tried each tenth of a second"


def test_all_that_people_write_is_where_the_settings_say(installed: Installed) -> None:
    lines = (installed.folder / "etc" / "holocron.env").read_text(encoding="utf-8").splitlines()
    variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    for name, path in written_by_people(variables).items():
        shipped = written_by_people({})[name]
        assert path.is_relative_to(installed.folder / "etc"), name
        assert path.exists() or not shipped.exists(), f"{name}: {path} is not there"


def test_a_person_s_command_has_the_units_settings_as_they_are(tmp_path: Path) -> None:
    address = "postgresql://holocron:a$HOME'b\"c`d@db/holocron?sslmode=require&connect_timeout=5"
    lines = f"# told\n\nHOLOCRON_POSTGRES_URL={address}\nHOLOCRON_LLM=off"
    (tmp_path / "holocron.env").write_text(lines, encoding="utf-8")
    script = (UNITS / "holocron.sh").read_text(encoding="utf-8").replace("/etc/holocron", str(tmp_path))
    script = script.replace("cd /opt/holocron", f"cd {tmp_path}")
    script = script.replace("runuser -u holocron -- /opt/holocron/.venv/bin/holocron", "printenv")
    printed = subprocess.run(  # noqa: S603 - our own
        ["/bin/sh", "-c", script, "holocron", "HOLOCRON_POSTGRES_URL", "HOLOCRON_LLM"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.splitlines() == [address, "off"]


def test_whatever_is_to_be_installed_is_in_the_guide() -> None:
    text = "\n".join(command.text for command in commands(GUIDE))
    installed = [
        path for path in UNITS.rglob("*") if path.is_file() and path.suffix not in (".service", ".timer")
    ]
    assert len(installed) == 5
    for path in installed:
        assert str(path.relative_to(UNITS)) in text, f"docs/deploy.md does not install {path.name}"


@pytest.mark.parametrize("page", [GUIDE, GUIDE.with_name("upgrade.md")], ids=lambda page: page.name)
def test_code_that_units_may_not_write_to_is_compiled_each_time_it_changes(page: Path) -> None:
    said = [words for command in commands(page) for words in command.simple()]
    compiled = said.index([".venv/bin/python", "-m", "compileall", "-q", "holocron_assets"])
    assert said.index(["make", "-C", "/opt/holocron", "setup"]) < compiled
    assert [words for words in said[:compiled] if words[0] == "cd"][-1] == ["cd", "/opt/holocron"]
    assert not any(words[:2] == ["systemctl", "start"] for words in said[:compiled])


@contextmanager
def running(installed: Installed, service: str) -> Iterator["subprocess.Popen[bytes]"]:
    log = installed.folder / f"{service}.log"
    process = installed.start(service, log)
    try:
        yield process
    except BaseException:
        print(log.read_text(encoding="utf-8", errors="replace"))  # noqa: T201 - what went wrong
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(60)


def wait_for(is_so: Callable[[], bool], process: "subprocess.Popen[bytes]", *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < deadline, "it did not come up"
        time.sleep(0.5)


def answer_of(port: str, path: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data=body, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
            read: bytes = answer.read()
            return read
    except OSError:
        return b""


def end_as_systemd_does(process: "subprocess.Popen[bytes]", service: str) -> None:
    """SIGTERM to the main process alone. What is left after the unit's time is killed: a fault."""
    (span,) = settings_of(UNITS / service)["Service", "TimeoutStopSec"]
    process.send_signal(signal.SIGTERM)
    ended = process.wait(float(span.removesuffix("s")))
    assert ended in (0, -signal.SIGTERM), "systemd takes both for an end in order"


def asked(installed: Installed, query: str) -> bytes:
    """What Dagster's web UI answers to GraphQL."""
    return answer_of(installed.ports["3000"], "/graphql", json.dumps({"query": query}).encode())


def ends_a_run(installed: Installed) -> bool:
    """Whether the web UI could end one of the runs under way now; they are short."""
    under_way = asked(
        installed, "{ runsOrError(filter: {statuses: [STARTED]}) { ... on Runs { results { runId } } } }"
    )
    runs = json.loads(under_way)["data"]["runsOrError"]["results"] if under_way else []
    return any(
        b"TerminateRunSuccess"
        in asked(installed, f'mutation {{ terminateRun(runId: "{run["runId"]}") {{ __typename }} }}')
        for run in runs
    )


@pytest.mark.full
def test_the_daemon_and_the_web_ui_work_as_their_units_start_them(installed: Installed) -> None:
    """The sensors take the sample to promoted entities, with nothing to write to but the units' folders.

    The web UI, which sees neither the daemon's /tmp nor its processes, ends one of its runs meanwhile.
    """
    lake = installed.folder / "lib" / "data" / "lake"
    with running(installed, WEBSERVER) as web:
        wait_for(lambda: b"entity_facts" in asked(installed, "{ assetNodes { assetKey { path } } }"), web)
        with running(installed, DAEMON) as daemon:
            wait_for(lambda: ends_a_run(installed), daemon)
            wait_for(lambda: len(list(lake.glob("*/entities/*/data.parquet"))) == 12, daemon, seconds=900)
            end_as_systemd_does(daemon, DAEMON)
        end_as_systemd_does(web, WEBSERVER)
    assert list((installed.folder / "etc").rglob("*.lock")) == []


@pytest.mark.full
def test_the_other_services_answer_as_their_units_start_them(installed: Installed) -> None:
    with ExitStack() as stack:
        services = {name: stack.enter_context(running(installed, name)) for name in (MODELS, REVIEW)}
        wait_for(lambda: b"models" in answer_of(installed.ports["11434"], "/api/tags"), services[MODELS])
        wait_for(lambda: b"Review" in answer_of(installed.ports["8001"], "/"), services[REVIEW])
        for name, process in services.items():
            end_as_systemd_does(process, name)


@pytest.mark.full
def test_the_nightly_backup_writes_to_its_folder(installed: Installed) -> None:
    (installed.folder / "lib" / "data" / "lake").mkdir(parents=True)
    with running(installed, "holocron-backup.service") as process:
        assert process.wait(300) == 0
    (manifest,) = (installed.folder / "backups").glob("*/manifest.json")
    assert json.loads(manifest.read_text(encoding="utf-8"))["made_by"] == "holocron backup"
    assert (manifest.parent / "settings" / "sources" / "sample.yaml").is_file()
