"""``jetpy generate``: one sub-command per generator, made from the generator's signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.bars import progress_bars
from jetpy.cli.command import Command
from jetpy.cli.options import OUTPUT_FILE
from jetpy.cli.output import check_outputs

if TYPE_CHECKING:
    from jetpy.graph import Graph


class _Generators(click.Group):
    """The group whose commands are the generators."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the kinds of graphs."""
        from jetpy.generators import GENERATORS

        return list(GENERATORS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command for a kind of graph."""
        from jetpy.generators import GENERATORS

        return _command(cmd_name, GENERATORS[cmd_name]) if cmd_name in GENERATORS else None


@click.group("generate", cls=_Generators)
def generate_command() -> None:
    """Make a graph of a given kind and write it to a file."""


def _command(name: str, generator: Callable[..., Graph]) -> click.Command:
    """Make a command whose arguments and options are the parameters of `generator`."""
    documentation = inspect.getdoc(generator) or ""
    helps = dict(re.findall(r"^(\w+) : .*\n((?: {4}.*\n?)+)", documentation, re.MULTILINE))
    parameters: list[click.Parameter] = []
    for parameter in inspect.signature(generator, eval_str=True).parameters.values():
        if parameter.default is parameter.empty:
            parameters.append(click.Argument([parameter.name], type=parameter.annotation))
        else:
            parameters.append(_option(parameter, helps.get(parameter.name)))
    parameters.append(
        click.Option(
            ["-o", "--output"],
            type=OUTPUT_FILE,
            required=True,
            metavar="FILE",
            help="Where to write the graph; the name tells the format.",
        )
    )

    def callback(output: Path, **arguments: Any) -> None:
        _generate(generator, output, arguments)

    summary = documentation.partition("\n")[0]
    return Command(name, params=parameters, callback=callback, help=summary)


def _option(parameter: inspect.Parameter, text: str | None) -> click.Option:
    flag = f"--{parameter.name.replace('_', '-')}"
    description = " ".join((text or "").split()).replace("``", "")
    if parameter.annotation is bool:
        return click.Option([flag], is_flag=True, help=description)
    return click.Option(
        [flag],
        type=int if parameter.annotation is int else float,
        default=parameter.default,
        show_default=parameter.default is not None,
        help=description,
    )


def _generate(generator: Callable[..., Graph], output: Path, arguments: dict[str, Any]) -> None:
    from jetpy.io import FORMATS, write_graph
    from jetpy.io.compression import split_name
    from jetpy.summary import graph_text

    if split_name(output)[1] not in FORMATS:
        raise click.UsageError(f"{output}: the name must end in one of {', '.join(FORMATS)}")
    check_outputs([output])
    with progress_bars() as bars:
        bars.busy("Generating")
        graph = generator(**arguments)
        bars.busy("Writing")
        write_graph(output, graph)
    click.echo(f"wrote {output}: {graph_text(graph)}")
