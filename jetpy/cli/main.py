"""The command group ``jetpy``; each command's module is imported when the command is used."""

from __future__ import annotations

from importlib import import_module

import click

from jetpy.choices import DISTRIBUTION
from jetpy.cli.command import Program, example

__all__ = ["main"]

COMMANDS = (
    "partition",
    "update",
    "map",
    "mesh",
    "order",
    "evaluate",
    "report",
    "study",
    "generate",
    "compile",
    "doctor",
    "demo",
)


class _Jetpy(Program):
    """A group that imports the module of a command on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(
            import_module(f"jetpy.cli.{cmd_name}"), f"{cmd_name}_command"
        )
        return command


@click.group(
    cls=_Jetpy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success; 1 an error, printed on standard error; 2 an error in the "
    "command line; 3 the result was written, but it is not balanced; 130 interrupted by "
    "Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.\n\n"
    + example(
        "jetpy demo",
        "jetpy generate delaunay 100000 -o mesh.graph",
        "jetpy partition mesh.graph -k 16 -o mesh.part",
    ),
)
@click.version_option(package_name=DISTRIBUTION, message="%(prog)s %(version)s")
def main() -> None:
    """Partition graphs into balanced parts with few cut edges, on CPUs and NVIDIA GPUs."""
