"""Arguments and options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from jetpy import choices

INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(path_type=Path)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _GraphPath(click.Path):
    """A file, or a folder with the arrays of a graph."""

    def convert(self, *given: Any) -> Path:
        """Return the path."""
        path = Path(str(super().convert(*given)))
        if path.is_dir():
            from jetpy.io.folder import is_graph

            if not is_graph(path):
                self.fail(f"'{path}' is a directory without indptr.npy and indices.npy", *given[1:])
        return path


graph_argument = click.argument("graph", type=_GraphPath(exists=True, path_type=Path))


class _BackendName(click.Choice[str]):
    """Name of a back end; for an old name, the error gives the current one."""

    def convert(self, value: Any, *where: Any) -> str:
        if value in choices.RENAMED:
            self.fail(f"the back end {value} is called {choices.RENAMED[value]} now", *where)
        return super().convert(value, *where)


backend_option = click.option(
    "--backend",
    type=_BackendName(get_args(choices.Backend)),
    default="auto",
    show_default=True,
    help="What runs the kernels; auto takes a GPU if one works and the graph is not small, else "
    "the CPU.",
)

threads_option = click.option(
    "--threads", type=int, help="CPU threads; all that the process may use by default."
)

device_option = click.option(
    "--device",
    type=int,
    metavar="N",
    help="Number of the GPU, as CUDA counts them; the first by default.",
)

repair_option = click.option(
    "--repair",
    is_flag=True,
    help="Mend self-loops, duplicate and one-directional edges rather than refuse them.",
)

pattern_option = click.option(
    "--pattern",
    is_flag=True,
    help="Take where the entries of a matrix are, whatever they are: edges of weight 1.",
)

scale_option = click.option(
    "--scale",
    is_flag=True,
    help="Turn positive weights that are no integers, or too large, into integers.",
)

vertex_weights_option = click.option(
    "--vertex-weights",
    type=INPUT_FILE,
    metavar="FILE",
    help="Weights of the vertices, instead of the graph's: a line each, or .npy.",
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading a graph."""
    for option in (scale_option, pattern_option, repair_option):
        command = option(command)
    return command


json_option = click.option(
    "--json",
    "json_file",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the result as JSON; with - to standard output, instead of the summary.",
)

targets_option = click.option(
    "--targets",
    metavar="SHARES",
    help="What parts should weigh relative to each other, as in 2:1:1:1; or a file of such "
    "numbers, one a line, or .npy.",
)

seed_option = click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Chooses among equally good decisions; the same seed gives the same result.",
)

objective_option = click.option(
    "--objective",
    type=click.Choice(get_args(choices.Objective)),
    default="cut",
    show_default=True,
    help="What is to become small: the weight of cut edges, or the communication volume.",
)

fixed_option = click.option(
    "--fixed",
    type=INPUT_FILE,
    metavar="PARTS",
    help="Parts in which vertices have to be, in a file of any format of --output; -1 of others.",
)

home_option = click.option(
    "--home",
    type=INPUT_FILE,
    metavar="PARTS",
    help="Parts so far, in such a file; leaving them costs as much as --migration says.",
)

migration_option = click.option(
    "--migration",
    type=float,
    default=1.0,
    show_default=True,
    help="What it costs to move a unit of vertex weight away from --home, in units of edge weight.",
)

profile_option = click.option(
    "--profile",
    "trace_file",
    type=OUTPUT_FILE,
    metavar="TRACE",
    help="Tell where the time goes, and write a trace that Perfetto and chrome://tracing open. "
    "The result stays the same, the run takes longer.",
)

quiet_option = click.option("--quiet", is_flag=True, help="No progress bars and no summary.")

hierarchy_option = click.option(
    "--hierarchy",
    metavar="A1:A2:...",
    help="The machine: A1 PEs a processor, A2 processors a node and so on, as in 4:8:6.",
)


def parts_option(metavar: str, meaning: str) -> Decorator:
    """Return the option for the file of parts; `meaning` begins its help."""
    return click.option(
        "-o",
        "--output",
        type=OUTPUT_FILE,
        metavar=metavar,
        help=f"{meaning} One a line, unless the name ends in .npy, .npz, .csv or .json.",
    )


def _numbers(text: str) -> float | list[float]:
    """Parse a number, or several numbers separated by commas."""
    try:
        numbers = [float(part) for part in str(text).split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a valid float, nor several with commas between them"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def imbalance_option(meaning: str, *, several: bool = False) -> Decorator:
    """Return the options for the imbalance; `several` allows a list of numbers."""
    imbalance = click.option(
        "--imbalance",
        type=_numbers if several else float,
        metavar="E1,E2,..." if several else None,
        default=0.03,
        show_default=True,
        help=meaning,
    )
    large = click.option(
        "--large-imbalance", is_flag=True, help="Let the imbalance be 1, that is 100 %, or more."
    )
    return lambda command: imbalance(large(command))


def distance_option(*, required: bool) -> Decorator:
    """Return the option for the distances between PEs."""
    return click.option(
        "--distance",
        metavar="D1:D2:...",
        required=required,
        help="Distance of PEs of one processor, of different processors of one node and so on, as "
        "in 1:10:100; or a file with the distances of all PEs: a matrix as text, or .npy.",
    )
