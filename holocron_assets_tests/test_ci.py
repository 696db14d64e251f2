"""What CI runs leaves nothing running."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from holocron_assets.settings import PROJECT_FOLDER

MAKE = """#!/bin/sh
case $1 in
    test-browser) echo > "$NOTES/begun"; sleep 60 & wait ;;
    test) while ! [ -e "$NOTES/begun" ]; do sleep 0.05; done; exit 3 ;;
esac
"""


@pytest.mark.system
def test_tests_that_fail_end_those_that_run_beside_them(tmp_path: Path) -> None:
    ci, programs = tmp_path / ".ci" / "run", tmp_path / "programs"
    ci.parent.mkdir()
    programs.mkdir()
    shutil.copy(PROJECT_FOLDER / ".ci" / "run", ci)
    for name, text in {"make": MAKE, "chromium": "#!/bin/sh\n", "initdb": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "NOTES": str(tmp_path)}
    # This waits until the last process that has its output is gone.
    ended = subprocess.run([str(ci)], env=environment, timeout=30, check=False, capture_output=True)  # noqa: S603 - our own
    assert ended.returncode == 3
