"""`holocron mcp`: answers assistants by the Model Context Protocol."""

import click

from holocron_assets.cli.shared import clear_errors, opened_lake


@click.command()
@clear_errors
def mcp() -> None:
    """Answer an assistant by the Model Context Protocol, on standard input and output, until they close.

    The assistant starts this command itself. Its tools search, read pages, entities and facts, and explain.
    They change nothing.
    """
    from holocron_assets.doors.assistants import make_server
    from holocron_assets.retrieval.asking import server_in_background

    server = make_server(opened_lake())
    with server_in_background():
        server.run()
