"""Whether what is installed is what was locked, and nothing in it is known to be vulnerable.

Run: python tools/audit.py, as `make audit` does. Exit codes: 0 all is well; 1 something is wrong, and said;
2 the rest is well, but no advisories could be had, so that nothing is known of vulnerabilities.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[1]
WHOLE = "requirements-dev.lock"
"""What is installed for tests: what running needs, every extra, and what development needs."""

PARTS = ("requirements.lock", "requirements-scale.lock", "requirements-traces.lock")
"""What is installed for less; each is a part of the whole."""

OPTIONAL = "requirements-fuzz.lock"
"""Installed only on request."""

NOT_LOCKED = frozenset({"holocron-assets", "pip", "setuptools"})
"""Installed though not locked: ourselves, and what made the environment."""

_CANARY = "jinja2==2.11.2"
"""Known to be vulnerable since 2021. A service that does not report it proves nothing about others."""

_WELL, _WRONG, _UNKNOWN = 0, 1, 2


class Locked(NamedTuple):
    """A line of a lock.

    Attributes:
        requirement: name, version and where it is needed.
        hashes: of the files that may be installed.
    """

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def name(self) -> str:
        """As all spell it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str | None:
        """The one version that it allows; None if it allows several."""
        pins = [pin.version for pin in self.requirement.specifier if pin.operator == "=="]
        return pins[0] if len(pins) == len(self.requirement.specifier) == 1 and "*" not in pins[0] else None

    @property
    def is_for_this(self) -> bool:
        """Whether it is for this Python on this machine."""
        return self.requirement.marker is None or self.requirement.marker.evaluate()


class AdvisoryError(Exception):
    """No advisories can be had; the message says why."""


def main() -> int:
    """Audit, and say what was found."""
    locks = {name: _read(PROJECT / name) for name in (WHOLE, *PARTS, OPTIONAL)}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    installed = {str(canonicalize_name(found.name)): found.version for found in distributions()}
    problems = [
        f"{name}: {problem}"
        for name, locked in locks.items()
        for problem in (*unlocked(locked), *unsatisfied(asked(project, name), locked))
    ]
    for name in PARTS:
        problems += [f"{name}: {problem}" for problem in not_a_part(locks[name], locks[WHOLE])]
    problems += not_as_locked(installed, locks[WHOLE], locks[OPTIONAL])
    unknown = None
    try:
        problems += advisories([PROJECT / WHOLE, PROJECT / OPTIONAL], ask_pip_audit)
    except AdvisoryError as error:
        unknown = f"NOT CHECKED for known vulnerabilities: {error}"
    for line in [*problems, *([unknown] if unknown else [])]:
        print(line)
    print(f"{len(locks[WHOLE])} locked, {len(installed)} installed, {len(problems)} problems")
    return _WRONG if problems else _UNKNOWN if unknown else _WELL


def _read(file: Path) -> list[Locked]:
    return read_lock(file.read_text(encoding="utf-8"))


def read_lock(text: str) -> list[Locked]:
    """The lines of a lock, as uv and pip-compile write them."""
    lines = text.replace("\\\n", " ").splitlines()
    stated = [
        line.partition(" #")[0].split(" --hash=") for line in lines if line.strip() and line[0] not in " #"
    ]
    return [Locked(Requirement(name.strip()), frozenset(map(str.strip, hashes))) for name, *hashes in stated]


def unlocked(locked: Iterable[Locked]) -> Iterator[str]:
    """What a lock leaves open."""
    for one in locked:
        if one.version is None:
            yield f"{one.name}: the lock names no single version"
        if not one.hashes or not all(text.startswith("sha256:") for text in one.hashes):
            yield f"{one.name}: the lock has no SHA-256 of its files"


def asked(project: Mapping[str, Any], lock: str) -> Iterator[Requirement]:
    """What the project asks of a lock.

    Args:
        project: what pyproject.toml says.
        lock: its file's name.
    """
    extras = project["project"].get("optional-dependencies", {})
    groups = project.get("dependency-groups", {})
    kind = lock.removesuffix(".lock").removeprefix("requirements").removeprefix("-")
    texts = [*groups.get(kind, ()), *extras.get(kind, ())]
    if lock == WHOLE:
        texts += [text for extra in extras.values() for text in extra]
    if lock != OPTIONAL:
        texts += project["project"]["dependencies"]
    yield from map(Requirement, texts)


def not_a_part(part: Iterable[Locked], whole: Iterable[Locked]) -> Iterator[str]:
    """What would be installed that is not tested: `make lock` was not given to its end."""
    tested = {(one.name, one.version) for one in whole}
    for one in part:
        if (one.name, one.version) not in tested:
            yield f"{one.name}: {one.version} is locked, and not in {WHOLE}; run `make lock`"


def unsatisfied(requirements: Iterable[Requirement], locked: Iterable[Locked]) -> Iterator[str]:
    """What is asked of a lock that it does not give: `make lock` was forgotten."""
    versions = {one.name: one.version for one in locked if one.is_for_this}
    for wanted in requirements:
        if wanted.marker and not wanted.marker.evaluate():
            continue
        version = versions.get(canonicalize_name(wanted.name))
        if version is None:
            yield f"{wanted.name}: pyproject.toml asks for it, and it is not locked; run `make lock`"
        elif not wanted.specifier.contains(version, prereleases=True):
            yield f"{wanted.name}: pyproject.toml asks for {wanted.specifier}, and {version} is locked"


def not_as_locked(
    installed: Mapping[str, str], needed: Iterable[Locked], also: Iterable[Locked]
) -> Iterator[str]:
    """What is installed otherwise than it is locked, or without being locked.

    Args:
        installed: versions by name.
        needed: locked, and to be installed.
        also: locked, and installed only if somebody wanted it, as the fuzzer.
    """
    wanted = {one.name: one.version for one in needed if one.is_for_this}
    versions = {one.name: one.version for one in also if one.is_for_this} | wanted
    for name in sorted(installed.keys() | wanted.keys()):
        if name not in installed:
            yield f"{name}: {wanted[name]} is locked, and not installed"
        elif name in versions and versions[name] != installed[name]:
            yield f"{name}: {installed[name]} is installed, and {versions[name]} is locked"
        elif name not in versions and name not in NOT_LOCKED:
            yield f"{name}: {installed[name]} is installed, and not locked"


def advisories(locks: Iterable[Path], ask: Callable[[Path], Any]) -> Iterator[str]:
    """What is known of vulnerabilities in what is locked.

    Args:
        locks: the files.
        ask: gives what is known of a file of requirements, as `pip-audit` tells it.

    Raises:
        AdvisoryError: nobody can be asked, or who was asked does not know all of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "requirements.txt"
        canary.write_text(f"{_CANARY}\n", encoding="utf-8")
        if not any(known.get("vulns") for known in ask(canary)["dependencies"]):
            raise AdvisoryError(
                f"the advisory service knows nothing of {_CANARY}, which is known to be vulnerable"
            )
    for lock in locks:
        packages = ask(lock)["dependencies"]
        for known in packages:
            for hole in known.get("vulns", ()):
                fixed = ", ".join(hole["fix_versions"]) or "no version yet"
                yield f"{known['name']} {known['version']}: {hole['id']}, mended by {fixed}"
        if skipped := [known["name"] for known in packages if "skip_reason" in known]:
            raise AdvisoryError(f"the advisory service does not know {', '.join(skipped)}")


def ask_pip_audit(requirements: Path) -> Any:
    """What `pip-audit` knows of a file of requirements, all of them pinned.

    Raises:
        AdvisoryError: it could not ask.
    """
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(requirements),
        "--progress-spinner",
        "off",
    ]
    asked = subprocess.run(  # noqa: S603 - our own command
        [*command, "--disable-pip", "--no-deps", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return json.loads(asked.stdout)
    except json.JSONDecodeError:
        last = asked.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise AdvisoryError(f"pip-audit failed: {last[0]}") from None


if __name__ == "__main__":
    sys.exit(main())
