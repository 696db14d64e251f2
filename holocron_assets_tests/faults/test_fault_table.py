"""The table of faults, made from reports of real tests."""

import pytest
from fault_table import Fault, faults_of, table

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.fault(2, "two daemons")
def test_holds(): pass

@pytest.mark.fault(1, "a kill")
@pytest.mark.parametrize("where", ["in a write", "in a call"])
def test_kills(where): assert where == "in a call"

@pytest.fixture
def broken():
    yield
    raise OSError

@pytest.mark.fault(1, "a loss")
def test_ends_badly(broken): pass

def test_of_something_else(): pass
"""


def test_the_table_names_each_fault_once_with_the_worst_that_came_of_it(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers = fault(kind, what): one")
    pytester.makepyfile(TESTS)
    pytester.makeconftest(
        "from fault_table import note_faults\ndef pytest_collection_modifyitems(items): note_faults(items)"
    )
    run = pytester.inline_run("-p", "no:cacheprovider")
    faults = faults_of(report for report in run.getreports() if isinstance(report, pytest.TestReport))
    assert faults == [
        Fault(1, "a kill: in a call", "survived"),
        Fault(1, "a kill: in a write", "FAILED"),
        Fault(1, "a loss", "FAILED"),
        Fault(2, "two daemons", "survived"),
    ]
    assert table(faults)[-1] == "2 of 4 faults survived"
