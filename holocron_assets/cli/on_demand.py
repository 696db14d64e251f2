"""A group of commands whose modules are imported when they are called, and not for the list of commands."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class CommandsOnDemand(click.Group):
    """A group that knows its commands by a table.

    A command is what its module calls by the command's name, or by that name and `_command` where Python has
    a meaning for the name itself.
    """

    def __init__(
        self,
        *arguments: Any,
        package: str,
        table: Mapping[str, Mapping[str, Mapping[str, str]]],
        **options: Any,
    ) -> None:
        """Take a table of commands.

        Args:
            arguments: those of a `click.Group`.
            package: the package that the modules are in.
            table: by heading and module, the commands, each with its summary.
            options: those of a `click.Group`.
        """
        super().__init__(*arguments, **options)
        self._summaries = {
            heading: {name: text for names in modules.values() for name, text in names.items()}
            for heading, modules in table.items()
        }
        self._modules = {
            name: f"{package}.{module}"
            for modules in table.values()
            for module, names in modules.items()
            for name in names
        }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """Names of all commands; nothing is imported."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, from its module, which is imported the first time."""
        if cmd_name in self._modules and cmd_name not in self.commands:
            module = import_module(self._modules[cmd_name])
            named = f"{cmd_name}_command" if hasattr(module, f"{cmd_name}_command") else cmd_name
            self.add_command(getattr(module, named), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries under their headings; nothing is imported."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, summaries in self._summaries.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), summaries[name]) for name in sorted(summaries)])
