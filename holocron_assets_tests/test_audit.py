"""`make audit` finds what is not locked or known to be vulnerable, and never pretends to know."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from audit import (
    OPTIONAL,
    PARTS,
    PROJECT,
    WHOLE,
    AdvisoryError,
    advisories,
    asked,
    not_a_part,
    not_as_locked,
    read_lock,
    unlocked,
    unsatisfied,
)
from packaging.requirements import Requirement

LOCK = """\
# made by hand
aiohttp==3.14.5 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via somebody
Typing.Extensions==4.0 ; python_version < '3' \\
    --hash=sha256:cc
"""
HOLE = {"id": "PYSEC-1", "fix_versions": ["3.0"]}
OLD_JINJA = {"name": "jinja2", "version": "2.11.2", "vulns": [HOLE]}


def test_a_lock_is_read_with_its_hashes_and_markers() -> None:
    one, other = read_lock(LOCK)
    assert (one.name, one.version) == ("aiohttp", "3.14.5")
    assert one.hashes == {"sha256:aa", "sha256:bb"}
    assert one.is_for_this
    assert (other.name, other.is_for_this) == ("typing-extensions", False)


def test_what_is_locked_whole_gives_no_problem() -> None:
    assert list(unlocked(read_lock(LOCK))) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("rich==15.0", "rich: the lock has no SHA-256 of its files"),
        ("rich==15.0 --hash=md5:aa", "rich: the lock has no SHA-256 of its files"),
        ("rich>=15.0 --hash=sha256:aa", "rich: the lock names no single version"),
        ("rich==15.* --hash=sha256:aa", "rich: the lock names no single version"),
        ("rich==15.0,!=15.1 --hash=sha256:aa", "rich: the lock names no single version"),
        ("rich --hash=sha256:aa", "rich: the lock names no single version"),
    ],
)
def test_what_a_lock_leaves_open_is_named(line: str, problem: str) -> None:
    assert list(unlocked(read_lock(line))) == [problem]


@pytest.mark.parametrize(
    ("wanted", "problems"),
    [
        ("aiohttp>=3.1", 0),
        ("aiohttp>=4", 1),
        ("httpx", 1),
        ("httpx; python_version < '3'", 0),
        ("typing_extensions", 1),
    ],
)
def test_a_lock_that_does_not_give_what_is_asked_of_it_is_noticed(wanted: str, problems: int) -> None:
    assert len(list(unsatisfied([Requirement(wanted)], read_lock(LOCK)))) == problems


@pytest.mark.parametrize(
    ("lock", "names"),
    [
        ("requirements.lock", {"duckdb"}),
        ("requirements-scale.lock", {"duckdb", "s3fs"}),
        ("requirements-traces.lock", {"duckdb", "sdk"}),
        (WHOLE, {"duckdb", "s3fs", "sdk", "pytest"}),
        (OPTIONAL, {"atheris"}),
    ],
)
def test_each_lock_is_asked_for_what_it_is_for(lock: str, names: set[str]) -> None:
    project = {
        "project": {
            "dependencies": ["duckdb>=2"],
            "optional-dependencies": {"scale": ["s3fs"], "traces": ["sdk"]},
        },
        "dependency-groups": {"dev": ["pytest"], "fuzz": ["atheris"]},
    }
    assert {one.name for one in asked(project, lock)} == names


def test_what_would_be_installed_in_another_version_than_is_tested_is_noticed() -> None:
    whole = read_lock(LOCK)
    assert list(not_a_part(read_lock("aiohttp==3.14.5 --hash=sha256:aa"), whole)) == []
    for line in ("aiohttp==3.14.4 --hash=sha256:aa", "rich==15.0 --hash=sha256:aa"):
        assert len(list(not_a_part(read_lock(line), whole))) == 1


def test_the_locks_give_what_pyproject_asks_for_and_agree() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    locks = {
        name: read_lock((PROJECT / name).read_text(encoding="utf-8")) for name in (WHOLE, *PARTS, OPTIONAL)
    }
    assert set(locks) == {file.name for file in PROJECT.glob("*.lock")}
    for name, locked in locks.items():
        assert [*unlocked(locked), *unsatisfied(asked(project, name), locked)] == [], name
    for name in PARTS:
        assert list(not_a_part(locks[name], locks[WHOLE])) == [], name


def test_running_needs_nothing_that_only_tests_or_extras_do() -> None:
    needed = {one.name for one in read_lock((PROJECT / "requirements.lock").read_text(encoding="utf-8"))}
    only_for_others = {"dagster-celery", "dagster-k8s", "moto", "mypy", "opentelemetry-sdk", "playwright"}
    assert not (only_for_others | {"kubernetes", "pytest", "redis", "ruff", "s3fs", "scrapy", "uv"}) & needed


@pytest.mark.parametrize(
    ("installed", "problem"),
    [
        ({"aiohttp": "3.14.5", "pip": "1", "holocron-assets": "0"}, None),
        ({"aiohttp": "3.14.5", "atheris": "3.0"}, None),
        ({"aiohttp": "3.14.4"}, "aiohttp: 3.14.4 is installed, and 3.14.5 is locked"),
        ({"aiohttp": "3.14.5", "atheris": "2"}, "atheris: 2 is installed, and 3.0 is locked"),
        ({}, "aiohttp: 3.14.5 is locked, and not installed"),
        ({"aiohttp": "3.14.5", "extra": "1"}, "extra: 1 is installed, and not locked"),
    ],
)
def test_what_is_installed_is_what_is_locked(installed: Mapping[str, str], problem: str | None) -> None:
    also = read_lock("atheris==3.0 --hash=sha256:aa")
    assert list(not_as_locked(installed, read_lock(LOCK), also)) == ([problem] if problem else [])


def test_a_known_vulnerability_is_named_with_the_version_that_repairs_it(tmp_path: Path) -> None:
    def ask(_: Path) -> Any:
        return {"dependencies": [OLD_JINJA]}

    assert list(advisories([tmp_path], ask)) == ["jinja2 2.11.2: PYSEC-1, mended by 3.0"]


def test_a_service_that_does_not_know_an_old_hole_is_not_believed(tmp_path: Path) -> None:
    def ask(_: Path) -> Any:
        return {"dependencies": [{"name": "jinja2", "skip_reason": "not found"}]}

    with pytest.raises(AdvisoryError, match="knows nothing of jinja2"):
        list(advisories([tmp_path], ask))


def test_what_the_service_does_not_know_does_not_count_as_well(tmp_path: Path) -> None:
    def ask(_: Path) -> Any:
        return {"dependencies": [OLD_JINJA, {"name": "unheard-of", "skip_reason": "not found"}]}

    found = advisories([tmp_path], ask)
    assert next(found).startswith("jinja2")
    with pytest.raises(AdvisoryError, match="does not know unheard-of"):
        next(found)


def test_where_nobody_can_be_asked_the_audit_says_so_and_ends_otherwise_than_well() -> None:
    """Through a proxy that nothing listens at, `pip-audit` reaches nobody."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(PROJECT / "tools" / "audit.py")],
        env={"HTTPS_PROXY": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "NOT CHECKED for known vulnerabilities" in done.stdout
