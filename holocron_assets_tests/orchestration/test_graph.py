"""The drawn graph is the one that is defined, and what is kept of it in docs/ is not stale."""

import re
from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.cli.main import main
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.tables import (
    ALERTS,
    ALL_TABLES,
    CONTROLS,
    DECISIONS,
    GROUP_STEPS,
    NOTICES,
    REPEAT_ANSWERS,
    RUN_TAGS,
    TRIALS,
)
from holocron_assets.orchestration.reference.graph import Graph, Stage, read_graph
from holocron_assets.orchestration.reference.graph_drawing import dot, drawn_from, mermaid, svg
from holocron_assets.orchestration.reference.graph_page import graph_markdown
from holocron_assets.planning.batch_steps import BATCH_STEPS
from holocron_assets.settings import PROJECT_FOLDER

DOCS = PROJECT_FOLDER / "docs"
STALE = (
    "the definitions changed; draw the graph anew: `holocron graph --format markdown > docs/graph.md` "
    "and `holocron graph --format svg > docs/graph.svg`"
)
OF_NO_STAGE = (DECISIONS, CONTROLS, GROUP_STEPS, REPEAT_ANSWERS, TRIALS, NOTICES, ALERTS, RUN_TAGS)
"""Tables that people's commands and notifications write."""
_ARROW = re.compile(r'\s*(-->|-- "[^"]*" -->|-\.[^>]*\.?->)\s*')


@pytest.fixture(scope="module")
def graph() -> Graph:
    return read_graph()


def drawn_by_hand(text: str) -> Iterator[tuple[str, str]]:
    """The solid arrows of a Mermaid text, from one name to another."""
    derivations = re.search(r'derivations\["([^"]*)"\]', text)
    assert derivations
    several = {"derivations": re.findall(r"\w+", derivations[1])}
    for line in text.replace(derivations[0], "derivations").splitlines():
        parts = _ARROW.split(line.strip())
        nodes = [[name.strip() for name in part.split("&")] for part in parts[::2]]
        for arrow, (before, after) in zip(parts[1::2], pairwise(nodes), strict=True):
            if arrow.endswith("-->"):
                yield from (
                    (one, other)
                    for left in before
                    for one in several.get(left, [left])
                    for right in after
                    for other in several.get(right, [right])
                )


def test_the_page_and_the_picture_in_docs_are_of_the_definitions(graph: Graph) -> None:
    assert (DOCS / "graph.md").read_text(encoding="utf-8") == graph_markdown(graph), STALE
    assert drawn_from(dot(graph)) in (DOCS / "graph.svg").read_text(encoding="utf-8"), STALE


def test_a_picture_shows_every_stage_and_every_arrow(graph: Graph) -> None:
    picture = ET.fromstring(svg(graph))  # noqa: S314 - our own
    titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert {stage.name for stage in graph.stages} <= set(titles)
    assert {f"{before}->{after}" for before, after in graph.edges} <= set(titles)


def test_mermaid_shows_every_stage_and_every_arrow(graph: Graph) -> None:
    lines = {line.strip() for line in mermaid(graph).splitlines()}
    assert {f"{before} --> {after}" for before, after in graph.edges} <= lines
    for stage in graph.stages:
        assert any(line.startswith(f'{stage.name}["{stage.name}') for line in lines)
    assert 'starts_settle -. "settle_batch" .-> job_crawl_batch' in lines


def test_what_files_say_that_they_were_made_from_is_in_the_graph(
    graph: Graph, finished_sample: Holocron
) -> None:
    stages = {stage.name: stage for stage in graph.stages}
    for step in BATCH_STEPS:
        footer = read_footer(finished_sample.lake, step.table, SAMPLE_BATCH)
        assert footer
        stage = stages[step.table.name]
        assert set(footer.inputs) <= {*stage.requires, *stage.reads_too}, stage.name


def test_for_every_table_it_is_known_what_writes_it(graph: Graph) -> None:
    produced = {name for stage in graph.stages for name in stage.produces}
    missing = {table.name for table in ALL_TABLES} - produced - {table.name for table in OF_NO_STAGE}
    assert missing == set(), "say in orchestration/reference/graph.py, or here, who writes it"


def test_every_stage_is_made_by_something_and_every_sensor_reads_something(graph: Graph) -> None:
    assert [stage.name for stage in graph.stages if not stage.made_by] == []
    blind = [one.name for one in graph.triggers if one.when.startswith("every") and not one.looks_at]
    assert blind == ["lost_runs", "read_schedules"], "these read runs, and a file"


def test_the_graph_at_a_glance_shows_no_arrow_that_is_not_there(graph: Graph) -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    arrows = set(drawn_by_hand(text.partition("```mermaid")[2].partition("```")[0]))
    # Of all derivations the overview has one box: an arrow stands if it does for any of them.
    wrong = {
        (before, after) for before, after in arrows - set(graph.edges) if "derived_" not in before + after
    }
    assert len(arrows) > 30
    assert wrong == set()


@pytest.mark.parametrize(("form", "start"), [("mermaid", "flowchart"), ("markdown", "# The graph")])
def test_the_command_writes_what_it_is_asked_for(form: str, start: str) -> None:
    result = CliRunner().invoke(main, ["graph", "--format", form])
    assert result.exit_code == 0
    assert result.stdout.startswith(start)


def test_a_graph_that_cannot_be_drawn_says_why() -> None:
    impossible = Stage('a"b', "crawl", "batch", (), (), ('a"b',), ("a_job",))
    with pytest.raises(PermanentError, match=r"Graphviz did not draw the graph: .*syntax error"):
        svg(Graph((impossible,), ()))
