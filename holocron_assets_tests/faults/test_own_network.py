"""A source whose wiki stands in Holocron's own network: refused once a run, and all else is done."""

from pathlib import Path

import pytest
from whole_holocron import whole_holocron

from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGES

pytestmark = pytest.mark.full


@pytest.mark.fault(5, "a source at a loopback address, in a whole run with a good source")
def test_a_source_of_the_own_network_is_reported_and_not_asked_until_its_file_allows_it(
    tmp_path: Path,
) -> None:
    with whole_holocron(tmp_path, pages=4) as whole:
        file = whole.holocron.sources_folder / "tiny.yaml"
        allowed = file.read_text(encoding="utf-8")
        file.write_text(allowed.replace("private_hosts: [127.0.0.1]\n", ""), encoding="utf-8")
        refused = whole.command("run")
        assert refused.returncode == 1
        output = " ".join((refused.stdout + refused.stderr).split())
        assert "127.0.0.1 is a loopback address" in output
        assert "private_hosts" in output
        assert whole.wiki.connections == set()
        assert whole.wiki.robots_requests == 0
        outcomes = [row["outcome"] for row in whole.rows(HTTP_ATTEMPTS)]
        assert set(outcomes) == {"private_address"}
        assert len(outcomes) <= 2  # its site, and no more: nothing of it can be asked
        assert {page["source"] for page in whole.rows(PAGES)} == {"small"}
        file.write_text(allowed, encoding="utf-8")
        whole.finish()
        assert {page["source"] for page in whole.rows(PAGES)} == {"small", "tiny"}
