"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from jetpy.backends import BACKENDS

INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(path_type=Path)

graph_argument = click.argument("graph", type=INPUT_FILE)

backend_option = click.option(
    "--backend",
    type=click.Choice(["auto", *BACKENDS]),
    default="auto",
    show_default=True,
    help="What runs the kernels; auto takes the first that works.",
)

threads_option = click.option(
    "--threads", type=int, help="CPU threads; all that the process may use by default."
)

repair_option = click.option(
    "--repair",
    is_flag=True,
    help="Mend self-loops, duplicate and one-directional edges rather than refuse them.",
)

json_option = click.option(
    "--json",
    "json_file",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the result as JSON; with - to standard output, instead of the summary.",
)
