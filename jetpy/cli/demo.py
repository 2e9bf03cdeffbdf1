"""``jetpy demo``: see it work, beside METIS, without a file of one's own."""

from __future__ import annotations

import click

from jetpy import names
from jetpy.bars import progress_bars
from jetpy.cli.command import Command
from jetpy.cli.options import backend_option, device_option, threads_option

VERTICES = 40_000
PARTS = 8
IMBALANCE = 0.03


@click.command("demo", cls=Command)
@backend_option
@threads_option
@device_option
def demo_command(backend: names.Backend, threads: int | None, device: int | None) -> None:
    """Partition a small generated mesh, and compare with METIS."""
    from jetpy.api import partition
    from jetpy.beside import metis
    from jetpy.cli.tables import columns, levels, stdout_console
    from jetpy.generators import delaunay
    from jetpy.metrics import evaluate

    with progress_bars() as bars:
        bars.busy("Generating")
        graph = delaunay(VERTICES)
        bars.busy("Preparing")
        result = partition(
            graph,
            PARTS,
            imbalance=IMBALANCE,
            backend=backend,
            threads=threads,
            device=device,
            progress=bars.stage,
        )
        bars.busy("Comparing")
        other = metis(graph, PARTS, result.limit, result.seed)
        seconds = {"jetpy": result.seconds["total"], "METIS": other.seconds}
        found = {
            "jetpy": evaluate(graph, result.parts, PARTS),
            "METIS": evaluate(graph, other.parts, PARTS),
        }
    console = stdout_console()
    console.print(f"A mesh of {graph.n:,} vertices and {graph.m:,} edges, cut into {PARTS} parts.")
    console.print("The levels, coarsest first, as they were refined:")
    console.print(levels(result))
    rows = (
        (
            name,
            f"{value.cut:,}",
            f"{value.imbalance:.4f}",
            f"{value.part_weights.max():,}",
            f"{value.empty_parts}",
            f"{value.disconnected_parts}",
            f"{seconds[name]:.2f}",
        )
        for name, value in found.items()
    )
    headers = ("", "cut", "imbalance", "heaviest part", "empty", "disconnected", "seconds")
    console.print(columns(headers, rows, left=1))
    console.print(f"With a graph of your own: jetpy partition GRAPH -k {PARTS} -o PARTS")
