"""Arguments and options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from jetpy import choices

INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(path_type=Path)

N = TypeVar("N")
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


input_argument = click.argument("graph", type=click.Path(exists=True, path_type=Path))
"""A graph, a mesh or a session, for `read_input`."""
graph_argument = click.argument("graph", type=_GraphPath(exists=True, path_type=Path))
matrix_argument = click.argument("matrix", type=_GraphPath(exists=True, path_type=Path))


backend_option = click.option(
    "--backend",
    type=click.Choice(get_args(choices.Backend)),
    default="auto",
    show_default=True,
    help="Back end that runs the kernels; auto selects a GPU if one works and the graph is not "
    "small, otherwise the CPU.",
)

threads_option = click.option(
    "--threads", type=int, help="Number of CPU threads; by default all that the process may use."
)

device_option = click.option(
    "--device",
    type=int,
    metavar="N",
    help="Index of the GPU in CUDA's order, from 0; the default is the first.",
)

repair_option = click.option(
    "--repair",
    is_flag=True,
    help="Repair the graph instead of refusing it: drop self-loops, merge duplicate edges, add "
    "missing reverse edges.",
)

pattern_option = click.option(
    "--pattern",
    is_flag=True,
    help="Read only the positions of a matrix's entries and ignore their values: each is an "
    "edge of weight 1.",
)

scale_option = click.option(
    "--scale",
    is_flag=True,
    help="Scale weights that are not integers, or are too large, to integers; 0 stays 0.",
)

symmetrize_option = click.option(
    "--symmetrize",
    is_flag=True,
    help="Add missing reverses of entries, so that the pattern of the matrix becomes symmetric.",
)

base_option = click.option(
    "--base",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="Number of the first row in files of rows.",
)

vertex_weights_option = click.option(
    "--vertex-weights",
    type=INPUT_FILE,
    metavar="FILE",
    help="Vertex weights, which replace those in the graph: one line for each vertex, or .npy.",
)


region_option = click.option(
    "--region",
    metavar="NAME",
    help="Region of an OpenFOAM case, whose mesh is in constant/NAME/polyMesh.",
)


def together(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in the order of the help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


reading_options = together(repair_option, pattern_option, scale_option)
"""The options for reading a graph."""
engine_options = together(backend_option, threads_option, device_option)
"""The options for the back end."""


json_option = click.option(
    "--json",
    "json_file",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the result as JSON; - writes it to standard output in place of the summary.",
)

targets_option = click.option(
    "--targets",
    metavar="SHARES",
    help="Target part weights relative to each other, for example 2:1:1:1; or a file with one "
    "number on each line, or .npy.",
)

lower_imbalance_option = click.option(
    "--lower-imbalance",
    type=float,
    metavar="E",
    help="A part must weigh at least (1 - E) times its share, rounded up; by default, parts have "
    "no minimum weight.",
)

weights_options = together(
    *(
        click.option(
            f"--{bound}-weights",
            metavar="WEIGHTS",
            help=f"A part must weigh at {use} this, instead of the limit of the default "
            "imbalance: one number, one for each part as in 100:50:50, or a file with one line "
            "for each part, or .npy.",
        )
        for bound, use in (("min", "least"), ("max", "most"))
    )
)
"""The options for the minimum and maximum weights of parts."""

together_option = click.option(
    "--together",
    type=INPUT_FILE,
    metavar="GROUPS",
    help="Group of each vertex, -1 for none, in the format of --fixed; all vertices of a group get "
    "the same part.",
)

within_option = click.option(
    "--within",
    type=INPUT_FILE,
    metavar="PARTS",
    help="A partition that no new part may cross, in a format of --output; -k is then the number "
    "of parts within each of its parts.",
)

seed_option = click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed for choosing among equally good decisions; the same seed gives the same result.",
)

objective_option = click.option(
    "--objective",
    type=click.Choice(get_args(choices.Objective)),
    default="cut",
    show_default=True,
    help="Quantity to minimize: the weight of cut edges, or the communication volume.",
)

connected_option = click.option(
    "--connected",
    is_flag=True,
    help="Make every part connected where jetpy can within the balance; a warning lists the other "
    "parts.",
)

preset_option = click.option(
    "--preset",
    type=click.Choice(get_args(choices.Preset)),
    default="default",
    show_default=True,
    help="Trade-off between running time and cut (fast, default, ultra, max), or the algorithm of "
    "a paper, as published (jet, jet-ultra, gkway, gkway-journal, igkway).",
)

fixed_option = click.option(
    "--fixed",
    type=INPUT_FILE,
    metavar="PARTS",
    help="Part of each fixed vertex, and -1 for each other vertex, in a format of --output.",
)

home_option = click.option(
    "--home",
    type=INPUT_FILE,
    metavar="PARTS",
    help="Previous partition, in the format of --fixed. Each unit of vertex weight that leaves it "
    "costs --migration.",
)

migration_option = click.option(
    "--migration",
    type=float,
    default=1.0,
    show_default=True,
    help="Cost of moving a unit of vertex weight away from --home, in units of edge weight.",
)

profile_option = click.option(
    "--profile",
    "trace_file",
    type=OUTPUT_FILE,
    metavar="TRACE",
    help="Print where the time goes, and write a trace for Perfetto and chrome://tracing. The "
    "result stays the same, but the run takes longer.",
)

quiet_option = click.option(
    "--quiet", is_flag=True, help="Print neither progress bars nor the summary."
)

hierarchy_option = click.option(
    "--hierarchy",
    metavar="A1:A2:...",
    help="Machine hierarchy: A1 PEs in each processor, A2 processors in each node and so on, for "
    "example 4:8:6.",
)


def parts_option(metavar: str, meaning: str) -> Decorator:
    """Return the option for the file of parts; `meaning` begins its help."""
    return click.option(
        "-o",
        "--output",
        type=OUTPUT_FILE,
        metavar=metavar,
        help=f"{meaning} The file is text with one id on each line, unless the suffix is .npy, "
        ".npz, .csv or .json.",
    )


def read_numbers(text: str, kind: Callable[[str], N], one: str = "a number") -> list[N]:
    """Parse numbers of a kind separated by commas; `one` describes one in messages."""
    try:
        return [kind(part) for part in str(text).split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither {one} nor a list of {one.split()[1]}s separated by commas"
        ) from None


def _numbers(text: str) -> float | list[float]:
    """Parse a number, or several numbers separated by commas."""
    numbers = read_numbers(text, float)
    return numbers[0] if len(numbers) == 1 else numbers


def imbalance_option(meaning: str, *, several: bool = False) -> Decorator:
    """Return the options for the imbalance; `several` allows a list of numbers, and None."""
    imbalance = click.option(
        "--imbalance",
        type=_numbers if several else float,
        metavar="E1,E2,..." if several else None,
        default=None if several else 0.03,
        show_default="0.03" if several else True,
        help=meaning,
    )
    large = click.option(
        "--large-imbalance", is_flag=True, help="Allow an imbalance of 1 (100 %) or more."
    )
    return together(imbalance, large)


def distance_option(*, required: bool) -> Decorator:
    """Return the option for the distances between PEs."""
    return click.option(
        "--distance",
        metavar="D1:D2:...",
        required=required,
        help="Distances: D1 between PEs of the same processor, D2 between different processors "
        "of the same node and so on, for example 1:10:100; or a file with the distances of "
        "all PEs as a matrix, text or .npy.",
    )
