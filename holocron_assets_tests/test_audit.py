"""`make audit` finds what is not locked or known to be vulnerable, and never pretends to know."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from audit import (
    PROJECT,
    AdvisoryError,
    advisories,
    not_as_locked,
    read_lock,
    unlocked,
    unsatisfied,
)

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
    ("asked", "problems"),
    [
        ("aiohttp>=3.1", 0),
        ("aiohttp>=4", 1),
        ("httpx", 1),
        ("httpx; python_version < '3'", 0),
        ("typing_extensions", 1),
    ],
)
def test_a_lock_that_does_not_give_what_the_project_asks_for_is_noticed(asked: str, problems: int) -> None:
    for project in (
        {"project": {"dependencies": [asked]}},
        {"project": {"dependencies": []}, "dependency-groups": {"dev": [asked]}},
    ):
        assert len(list(unsatisfied(project, read_lock(LOCK)))) == problems


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


def test_what_is_known_to_be_vulnerable_is_named_with_what_mends_it(tmp_path: Path) -> None:
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
