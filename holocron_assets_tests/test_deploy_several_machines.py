"""What is shipped for several machines fits what it is given to, as far as one machine can show."""

import importlib.util
import json
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster._config import process_config
from dagster_k8s import K8sRunLauncher
from dagster_k8s.job import DagsterK8sJobConfig, UserDefinedDagsterK8sConfig, construct_dagster_k8s_job

from holocron_assets.cli.main import main
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.orchestration.internals.instance import prepare_home
from holocron_assets.settings import PROJECT_FOLDER, crawlers, written_by_people

DEPLOY = PROJECT_FOLDER / "deploy"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
ONLY_WITH_WORKERS = {"run_launcher", "concurrency"}
OF_EVERY_DEBIAN = ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "ld-linux", "libgcc_s.", "libstdc++.")
SHT_DYNAMIC, DT_NEEDED = 6, 1


def parsed(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = load_yaml(path.read_text(encoding="utf-8"))
    return found


def steps(kind: str) -> list[str]:
    """The Dockerfile's steps of a kind, without the word."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8"))
    return [line.partition(" ")[2] for line in text.splitlines() if line.startswith(f"{kind} ")]


def copied() -> Iterator[str]:
    for step in steps("COPY"):
        if not step.startswith("--from"):
            yield from step.split()[:-1]


def test_workers_have_the_same_instance_as_postgresql_alone_but_for_what_makes_them_many() -> None:
    ours, other = parsed(DEPLOY / "celery" / "dagster.yaml"), parsed(DEPLOY / "postgres" / "dagster.yaml")
    starts = [one["run_monitoring"].pop("start_timeout_seconds") for one in (ours, other)]
    assert starts == [86400, 300], "a run may wait in the broker"
    assert {key: value for key, value in ours.items() if key not in ONLY_WITH_WORKERS} == {
        key: value for key, value in other.items() if key != "concurrency"
    }
    limited = [limit["key"] for limit in ours["concurrency"]["runs"]["tag_concurrency_limits"]]
    assert limited == [limit["key"] for limit in other["concurrency"]["runs"]["tag_concurrency_limits"]]


def test_a_broker_makes_dagsters_home_one_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dagster_celery", reason="needs extra `scale`")
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", "postgresql://holocron:secret@127.0.0.1:1/holocron")
    monkeypatch.setenv("HOLOCRON_LAKE", "s3://bucket/prefix")
    monkeypatch.setenv("HOLOCRON_BROKER", "redis://127.0.0.1:1/0")
    ref = dg._core.instance.InstanceRef.from_dir(str(prepare_home()))  # noqa: SLF001 - it alone checks the file
    assert type(ref.run_launcher).__name__ == "CeleryRunLauncher"


@pytest.mark.parametrize("lacking", ["HOLOCRON_LAKE", "HOLOCRON_POSTGRES_URL"])
def test_workers_without_a_lake_that_they_share_are_refused_by_name(tmp_path: Path, lacking: str) -> None:
    variables = {
        "HOLOCRON_DATA": str(tmp_path),
        "HOLOCRON_BROKER": "redis://127.0.0.1:1/0",
        "HOLOCRON_POSTGRES_URL": "postgresql://holocron@127.0.0.1:1/holocron",
        "HOLOCRON_LAKE": "s3://bucket/prefix",
    }
    asked = CliRunner(env={**variables, lacking: None, "DAGSTER_HOME": None}).invoke(main, ["home"])
    assert asked.exit_code == 1
    assert "HOLOCRON_BROKER needs HOLOCRON_LAKE and HOLOCRON_POSTGRES_URL too" in asked.output


def test_a_worker_without_a_broker_is_refused() -> None:
    asked = CliRunner(env={"HOLOCRON_BROKER": None}).invoke(main, ["worker"])
    assert asked.exit_code == 1
    assert "HOLOCRON_BROKER is not set" in asked.output


def test_crawlers_are_a_number_that_dagster_can_have() -> None:
    assert crawlers({}) == 3
    assert crawlers({"HOLOCRON_CRAWLERS": "16"}) == 16
    for wrong in ("0", "65", "many", "-1"):
        with pytest.raises(ValueError, match="HOLOCRON_CRAWLERS must be a number from 1 to 64"):
            crawlers({"HOLOCRON_CRAWLERS": wrong})


def test_the_image_holds_what_running_needs_and_nothing_that_only_development_does() -> None:
    installed = [step for step in steps("RUN") if "--require-hashes" in step]
    locks = [name for step in installed for name in re.findall(r"-r (\S+)", step)]
    assert locks
    assert set(locks) <= set(copied())
    lock = "".join((PROJECT_FOLDER / name).read_text(encoding="utf-8") for name in locks)
    pinned = set(re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==", lock, re.MULTILINE))
    wanted = {"dagster", "dagster-celery", "duckdb", "opentelemetry-sdk", "psycopg2-binary", "redis", "s3fs"}
    assert wanted <= pinned
    assert not {"pytest", "mypy", "ruff", "moto", "playwright", "hypothesis"} & pinned


def test_what_the_image_is_made_of_is_there_and_let_in() -> None:
    allowed = [line[1:] for line in _ignore_file() if line.startswith("!")]
    for source in copied():
        assert (PROJECT_FOLDER / source).exists(), source
        assert any(source == name or name.startswith(f"{source}/") for name in allowed), source


def test_the_image_holds_what_people_write_and_no_lake() -> None:
    allowed = [line[1:] for line in _ignore_file() if line.startswith("!data")]
    for name, path in written_by_people({}).items():
        shipped = path.relative_to(PROJECT_FOLDER).as_posix()
        assert any(fnmatch(shipped, pattern) for pattern in allowed), name
    for kept_out in ("data/lake", "data/locks", "data/dagster", "data/holocron.duckdb", "data/quarantine"):
        assert not any(fnmatch(kept_out, pattern) for pattern in allowed), kept_out


def test_the_image_holds_its_code_compiled_since_nobody_may_write_beside_it() -> None:
    assert "/opt/venv/bin/python -m compileall -q holocron_assets" in steps("RUN")
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert text.index("COPY holocron_assets") < text.index("compileall") < text.rindex("FROM")


def test_the_image_runs_as_nobody_in_particular_and_keeps_no_secret() -> None:
    assert steps("USER") == ["10001"]
    assert len(steps("FROM")) == 2
    assert not re.search(r"(?i)(password|secret|token|_key)\s*=", DOCKERFILE.read_text(encoding="utf-8"))
    assert any("--require-hashes" in step for step in steps("RUN"))


def test_the_image_has_no_entry_point_since_dagster_names_the_program_of_a_run() -> None:
    build: Any = construct_dagster_k8s_job  # it has no types
    config = DagsterK8sJobConfig(job_image="registry.example.org/holocron:0.1.0", dagster_home="/home")
    job = build(config, args=["dagster", "api", "execute_run", "{}"], job_name="run").to_dict()
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert (container["command"], container["args"][0]) == (None, "dagster")
    assert steps("ENTRYPOINT") == []
    assert json.loads(steps("CMD")[-1])[0] == "holocron"
    assert "/opt/venv/bin:" in " ".join(steps("ENV")), "both programs are found by name"


@pytest.mark.skipif(sys.platform != "linux", reason="reads how Linux's programs name their libraries")
def test_the_image_has_the_libraries_that_llama_cpp_needs() -> None:
    package = importlib.util.find_spec("xllamacpp")
    assert package
    assert package.origin
    [llama] = Path(package.origin).parent.glob("*.so")
    lacking = {name for name in needed(llama) if not name.startswith(OF_EVERY_DEBIAN)}
    assert "libgomp.so.1" in lacking
    packages = {name.replace(".so.", "") for name in lacking}
    [installed] = [step for step in steps("RUN") if "apt-get install" in step]
    assert packages <= set(installed.split())
    for page in ("README.md", "docs/deploy.md"):
        said = (PROJECT_FOLDER / page).read_text(encoding="utf-8")
        assert all(f"`{name}`" in said for name in packages), page


def needed(library: Path) -> Iterator[str]:
    """The libraries that an ELF file of 64 bits names as needed."""
    file = library.read_bytes()
    [table] = struct.unpack_from("<Q", file, 40)
    size, number = struct.unpack_from("<HH", file, 58)
    sections = [struct.unpack_from("<IIQQQQII", file, table + size * at) for at in range(number)]
    [(begin, length, names)] = [(each[4], each[5], each[6]) for each in sections if each[1] == SHT_DYNAMIC]
    for tag, name in struct.iter_unpack("<QQ", file[begin : begin + length]):
        if tag == DT_NEEDED:
            yield file[sections[names][4] + name :].partition(b"\0")[0].decode()


def test_kubernetes_limits_runs_as_workers_do() -> None:
    coordinator = parsed(DEPLOY / "k8s" / "values.yaml")["dagsterDaemon"]["runCoordinator"]["config"]
    queued = coordinator["queuedRunCoordinator"]
    runs = parsed(DEPLOY / "celery" / "dagster.yaml")["concurrency"]["runs"]
    assert queued["maxConcurrentRuns"] == runs["max_concurrent_runs"]
    assert queued["tagConcurrencyLimits"] == runs["tag_concurrency_limits"]


def test_kubernetes_keeps_watch_and_forgets_as_workers_do() -> None:
    values = parsed(DEPLOY / "k8s" / "values.yaml")
    ours = parsed(DEPLOY / "celery" / "dagster.yaml")
    for theirs, section in (("runMonitoring", "run_monitoring"), ("runRetries", "run_retries")):
        assert in_snake_case(values["dagsterDaemon"][theirs]) == ours[section]
    forgets = {key: values["retention"][key]["purgeAfterDays"] for key in ("sensor", "schedule")}
    assert forgets == {key: ours["retention"][key]["purge_after_days"] for key in ("sensor", "schedule")}


def test_each_disk_that_a_pod_claims_is_made_before_the_chart_is_installed() -> None:
    said = (DEPLOY / "k8s" / "values.yaml").read_text(encoding="utf-8")
    [code_server] = load_yaml(said)["dagster-user-deployments"]["deployments"]
    claim = parsed(DEPLOY / "k8s" / "mirror.yaml")
    assert [volume["persistentVolumeClaim"]["claimName"] for volume in code_server["volumes"]] == [
        claim["metadata"]["name"]
    ]
    assert claim["kind"] == "PersistentVolumeClaim"
    assert said.index("kubectl apply -f deploy/k8s/mirror.yaml") < said.index("helm install holocron")


def test_a_run_of_kubernetes_is_configured_as_its_launcher_takes_it() -> None:
    launcher = parsed(DEPLOY / "k8s" / "values.yaml")["runLauncher"]["config"]["k8sRunLauncher"]
    chart_adds = {"service_account_name": "a", "dagster_home": "/b", "instance_config_map": "c"}
    config = {
        **chart_adds,
        **in_snake_case(launcher),
        "env_secrets": [secret["name"] for secret in launcher["envSecrets"]],
        "run_k8s_config": in_snake_case(launcher["runK8sConfig"]),  # the rest of it is Kubernetes' own
    }
    run_launcher: Any = K8sRunLauncher  # neither has types
    pods: Any = UserDefinedDagsterK8sConfig
    checked = process_config(run_launcher.config_type(), config)
    assert checked.success, checked.errors
    of_pod = pods.from_dict(config["run_k8s_config"])
    assert of_pod.container_config["resources"]["limits"] == {"memory": "4Gi"}


def in_snake_case(section: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower(): value for key, value in section.items()}


def _ignore_file() -> list[str]:
    file = DOCKERFILE.with_name(f"{DOCKERFILE.name}.dockerignore")
    return file.read_text(encoding="utf-8").splitlines()
