"""`holocron graph`: the dependency graph, drawn from the definitions."""

import click

from holocron_assets.cli.shared import clear_errors


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "svg", "markdown"]),
    default="mermaid",
    show_default=True,
    help="mermaid: text that GitHub and editors draw; markdown: the page docs/graph.md.",
)
@clear_errors
def graph(form: str) -> None:
    """Draw what each stage requires and produces, and who starts it, from the definitions as they are."""
    # Dagster takes seconds to import.
    from holocron_assets.orchestration.reference.graph import read_graph
    from holocron_assets.orchestration.reference.graph_drawing import mermaid, svg
    from holocron_assets.orchestration.reference.graph_page import graph_markdown

    draw = {"mermaid": mermaid, "svg": svg, "markdown": graph_markdown}[form]
    click.echo(draw(read_graph()), nl=False)
