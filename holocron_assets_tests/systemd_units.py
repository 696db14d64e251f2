"""The units of deploy/systemd, read as systemd reads them, and run here in folders of a test."""

import os
import resource
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holocron_assets.settings import PROJECT_FOLDER

UNITS = PROJECT_FOLDER / "deploy" / "systemd"
SERVICES = sorted(UNITS.glob("*.service"))

Setting = tuple[str, str]


def settings_of(unit: Path) -> Mapping[Setting, list[str]]:
    """Every setting of a unit by section and name; one that is given twice has two values."""
    found: dict[Setting, list[str]] = {}
    section = ""
    for line in unit.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found.setdefault((section, name), []).append(value)
    return found


@dataclass(frozen=True)
class Installed:
    """What docs/deploy.md installs, below a folder of a test instead of the machine's.

    Attributes:
        folder: stands for `/etc/holocron`, `/var/lib/holocron` and `/var/backups/holocron`.
        program: stands for `/opt/holocron/.venv/bin/holocron`.
        ports: which port stands for which: those of the machine may be taken.
    """

    folder: Path
    program: Path
    ports: Mapping[str, str]

    def here(self, text: str) -> str:
        """A text of a unit with the places and ports of the test."""
        places = {
            "/opt/holocron/.venv/bin/holocron": str(self.program),
            "/opt/holocron": str(PROJECT_FOLDER),
            "/etc/holocron": str(self.folder / "etc"),
            "/var/lib/holocron": str(self.folder / "lib"),
            "/var/backups/holocron": str(self.folder / "backups"),
            **self.ports,
        }
        for there, here in places.items():
            text = text.replace(there, here)
        return text

    def start(self, service: str, log: Path) -> "subprocess.Popen[bytes]":
        """Run a unit's ExecStart as systemd would: its words, working folder, environment and limits.

        What a unit may not write to is read-only here too, and it has no capabilities: that is done by the
        tools of Linux, and wants root. Filters of system calls and limits of memory are systemd's alone.
        """
        unit = settings_of(UNITS / service)
        command = shlex.split(self.here(unit["Service", "ExecStart"][0]))
        files = unit.get(("Service", "LimitNOFILE"), ["1024"])[0]
        shown = [self.folder / "run" / name for name in unit.get(("Service", "RuntimeDirectory"), [])]
        environment = self._environment(Path(self.here(unit["Service", "EnvironmentFile"][0])))
        for path in shown:
            path.mkdir(parents=True, exist_ok=True)
            environment["RUNTIME_DIRECTORY"] = str(path)
        writable = [self.folder / "lib", *shown, *self._more_to_write(unit)]
        with log.open("ab") as said:
            return subprocess.Popen(  # noqa: S603 - our own command
                [*_bounded(writable, Path(environment["TMPDIR"]), files), *command],
                cwd=self.here(unit["Service", "WorkingDirectory"][0]),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def _environment(self, file: Path) -> dict[str, str]:
        """What systemd gives: little, and the file's."""
        (self.folder / "lib" / "tmp").mkdir(exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines()
        variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
            "LANG": "C.UTF-8",
            "USER": "holocron",
            "HOME": str(self.folder / "lib"),
            "TMPDIR": str(self.folder / "lib" / "tmp"),  # stands for PrivateTmp
            **variables,
        }

    def _more_to_write(self, unit: Mapping[Setting, list[str]]) -> list[Path]:
        paths = unit.get(("Service", "ReadWritePaths"), [])
        return [Path(self.here(path)) for path in paths]


def _bounded(writable: list[Path], own: Path, files: str) -> list[str]:
    """The words before a command that leave it the folders to write to, so many files, and no rights.

    One of the folders is its own: what it puts there nobody else sees.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # no more than this machine lets anybody have
    limit = min(int(files), most) if most != resource.RLIM_INFINITY else int(files)
    limited = ["prlimit", f"--nofile={limit}:{limit}"]
    if os.geteuid():
        return limited
    binds = "; ".join(f"mount --bind {shlex.quote(str(path))} {shlex.quote(str(path))}" for path in writable)
    hidden = f"mount -t tmpfs holocron {shlex.quote(str(own))}"
    script = f'set -e; {binds}; {hidden}; mount -o remount,bind,ro /; exec "$@"'
    rights = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    return [*limited, "unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh", *rights]
