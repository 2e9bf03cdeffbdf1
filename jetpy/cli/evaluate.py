"""``jetpy evaluate``: what a partition is worth, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import Command
from jetpy.cli.options import (
    INPUT_FILE,
    distance_option,
    graph_argument,
    hierarchy_option,
    json_option,
    repair_option,
)
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.cli.progress import progress_bars

if TYPE_CHECKING:
    from jetpy.graph import Graph
    from jetpy.mapping.machine import Machine
    from jetpy.metrics import Evaluation

MOST_ROWS = 32


@click.command("evaluate", cls=Command)
@graph_argument
@click.argument("parts", type=INPUT_FILE)
@click.option(
    "-k", type=int, metavar="K", help="Number of parts; by default the largest part id plus 1."
)
@hierarchy_option
@distance_option(required=False)
@repair_option
@json_option
def evaluate_command(
    graph: Path,
    parts: Path,
    k: int | None,
    hierarchy: str | None,
    distance: str | None,
    repair: bool,
    json_file: Path | None,
) -> None:
    """Compute cut, balance, communication and connectedness.

    GRAPH is a file in one of the formats of `jetpy partition`; PARTS has the part of each of its
    vertices, numbered from 0: one a line, or as .npy, .npz, .csv or .json. Given a machine, parts
    are its PEs, and what the mapping costs is computed as well.
    """
    from jetpy.io.distances import matrix_file

    matrix = matrix_file(distance or "")
    check_outputs(json_file=json_file, inputs=[graph, parts, matrix])

    from jetpy.io import read_graph, read_parts
    from jetpy.mapping.cost import communication_cost, cost_by_level
    from jetpy.metrics import evaluate
    from jetpy.report import cost_report, evaluation

    target = _machine(hierarchy, distance, k)
    with progress_bars() as bars:
        loaded = read_graph(graph, repair=repair, progress=bars.read)
        bars.busy("Evaluating")
        ids = read_parts(parts, loaded.n)
        result = evaluate(loaded, ids, k if target is None else target.k)
        costs = {}
        if target is not None:
            cost = communication_cost(loaded, ids, target)
            costs = cost_report(target, cost, cost_by_level(loaded, ids, target).tolist())
    if json_file is not None:
        write_json(json_file, {**evaluation(loaded, result), **costs})
    if json_file != STDOUT:
        _print(loaded, result, costs)


def _machine(hierarchy: str | None, distance: str | None, k: int | None) -> Machine | None:
    """Return the machine, if one is described."""
    from jetpy.io.distances import read_distances
    from jetpy.mapping.machine import machine

    if distance is None:
        if hierarchy is not None:
            raise click.UsageError("--hierarchy needs --distance")
        return None
    target = machine(hierarchy, read_distances(distance))
    if k not in (None, target.k):
        raise click.UsageError(f"-k is {k}, but the machine has {target.k} PEs")
    return target


def _print(graph: Graph, result: Evaluation, costs: Mapping[str, Any]) -> None:
    from jetpy.cli.tables import (
        columns,
        cost_rows,
        cut_text,
        facts,
        graph_text,
        pieces_text,
        stdout_console,
    )

    ideal = -(-graph.total_vertex_weight // result.k)
    weights = result.part_weights
    rows = [
        ("graph", graph_text(graph)),
        ("k", f"{result.k:,}"),
        *(cost_rows(costs["cost"], costs["cost_by_level"]) if costs else []),
        ("cut", cut_text(result.cut, graph)),
        ("imbalance", f"{result.imbalance:.4f}"),
        ("part weights", f"{weights.min():,} to {weights.max():,}; the average is {ideal:,}"),
        ("boundary vertices", f"{result.boundary_vertices:,}"),
        ("communication volume", f"{result.communication_volume:,}"),
        ("empty parts", f"{result.empty_parts:,}"),
        ("disconnected parts", pieces_text(result.components)),
        ("isolated vertices", f"{result.isolated_vertices:,}"),
    ]
    console = stdout_console()
    console.print(facts(rows))
    if result.k <= MOST_ROWS:
        cells = (
            (f"{part}", f"{weight:,}", f"{components:,}")
            for part, (weight, components) in enumerate(
                zip(weights, result.components, strict=True)
            )
        )
        console.print(columns(("part", "weight", "components"), cells))
