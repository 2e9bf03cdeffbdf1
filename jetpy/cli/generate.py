"""``jetpy generate``: one subcommand per generator, derived from its signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import Command, Commands, Summarised, example
from jetpy.cli.options import OUTPUT_FILE, json_option, quiet_option
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.progress import progress_bars

if TYPE_CHECKING:
    from jetpy.graph.csr import Graph


EXAMPLES = {
    "grid": "1000 1000",
    "cube": "100 100 100",
    "tetrahedra": "40 40 40",
    "delaunay": "100000",
    "rgg": "100000",
    "rmat": "16",
    "road": "100000",
    "thinned": "100000 --keep 0.7",
}
"""Arguments of the example in the help, by kind of graph."""


class _Generators(Summarised, Commands):
    """The group of generator commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the kinds of graphs."""
        from jetpy.graph.generators import GENERATORS

        return list(GENERATORS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command for a kind of graph."""
        from jetpy.graph.generators import GENERATORS

        return _command(cmd_name, GENERATORS[cmd_name]) if cmd_name in GENERATORS else None


@click.group(
    "generate",
    cls=_Generators,
    epilog=example(
        "jetpy generate delaunay 100000 -o mesh.graph", "jetpy generate delaunay --help"
    ),
)
def generate_command() -> None:
    """Generate a graph and write it to a file."""


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
            help="Write the graph to this file; the suffix selects the format.",
        )
    )

    usage = example(f"jetpy generate {name} {EXAMPLES[name]} -o mesh.graph")
    summary = documentation.partition("\n")[0]

    @click.command(name, cls=Command, help=summary, epilog=usage)
    @json_option
    @quiet_option
    def command(output: Path, json_file: Path | None, quiet: bool, **arguments: Any) -> None:
        _generate(generator, output, json_file, quiet, arguments)

    command.params[:0] = parameters
    return command


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


def _generate(
    generator: Callable[..., Graph],
    output: Path,
    json_file: Path | None,
    quiet: bool,
    arguments: dict[str, Any],
) -> None:
    from jetpy.cli.json_summary import about
    from jetpy.evaluation.rows import graph_text
    from jetpy.io import FORMATS, write_graph
    from jetpy.io.compression import split_name

    if split_name(output)[1] not in FORMATS:
        raise click.UsageError(f"{output}: the suffix must be one of {', '.join(FORMATS)}")
    check_outputs([output], json_file)
    with progress_bars(quiet=quiet) as bars:
        bars.busy("Generating")
        graph = generator(**arguments)
        bars.busy("Writing")
        write_graph(output, graph)
    if json_file is not None:
        write_json(json_file, {"file": str(output), **about(graph)})
    if not quiet and json_file != STDOUT:
        click.echo(f"wrote {output}: {graph_text(graph)}")
