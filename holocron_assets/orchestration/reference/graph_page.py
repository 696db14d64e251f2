"""`docs/graph.md`: the graph as a page, with a table of what each stage requires and produces."""

from holocron_assets.lake.declaration.reference import code, markdown_table
from holocron_assets.orchestration.reference.graph import Graph
from holocron_assets.orchestration.reference.graph_drawing import mermaid

_HEAD = """\
# The graph

What each stage requires and produces, and what starts it: drawn from the definitions by `holocron graph`.
[graph.svg](graph.svg) is the same as a picture, in which the arrows that follow from others are faint. Solid
arrows lead from a stage to those that require it; dotted ones from a sensor or schedule to what its runs
make. Tables after a `+` are also read, as far as they exist. A test compares page and picture with the
definitions. After a change:

    holocron graph --format markdown > docs/graph.md
    holocron graph --format svg > docs/graph.svg
"""
_PRODUCTS = """\
Every stage is one asset and the table of its name, one file a partition ([lake.md](lake.md)); `views` is
`holocron.duckdb`. Its other products are logs and indexes.
"""


def graph_markdown(graph: Graph) -> str:
    """The page."""
    stages = [
        (
            f"`{stage.name}`",
            stage.of_one,
            code(stage.requires),
            code(stage.reads_too),
            code(table for table in stage.produces if table != stage.name),
            code(stage.made_by),
        )
        for stage in graph.stages
    ]
    triggers = [
        (f"`{trigger.name}`", trigger.when, code(trigger.looks_at), code(trigger.starts))
        for trigger in graph.triggers
    ]
    return "\n".join(
        [
            _HEAD,
            f"```mermaid\n{mermaid(graph)}```\n",
            "## Stages\n",
            _PRODUCTS,
            markdown_table(("stage", "one a", "requires", "reads too", "produces too", "made by"), stages),
            "## Sensors and schedules\n",
            markdown_table(("name", "when", "looks at", "starts"), triggers),
        ]
    )
