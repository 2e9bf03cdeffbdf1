"""``jetpy evaluate``: metrics of a partition from any tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetpy.cli.changes import changes_told
from jetpy.cli.command import Command, example, options_given
from jetpy.cli.given import is_session_file, read_input
from jetpy.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    base_option,
    distance_option,
    hierarchy_option,
    input_argument,
    json_option,
    quiet_option,
    reading_options,
    region_option,
    symmetrize_option,
    vertex_weights_option,
)
from jetpy.cli.output import (
    STDOUT,
    check_name,
    check_outputs,
    write_json,
)
from jetpy.cli.results import read_timed
from jetpy.progress import progress_bars

if TYPE_CHECKING:
    from jetpy.evaluation.evaluate import Evaluation
    from jetpy.graph.csr import Graph
    from jetpy.result.symbolic import Symbolic

OF_PARTITIONS = (
    *("k", "hierarchy", "distance", "region", "repair", "pattern", "scale"),
    *("vertex_weights", "cut_matrix"),
)
"""Parameters that are refused with an ordering."""
OF_ORDERINGS = ("base", "symmetrize")
"""Parameters that are refused without an ordering."""


@click.command(
    "evaluate",
    cls=Command,
    epilog=example(
        "jetpy evaluate mesh.graph mesh.part",
        "jetpy evaluate mesh.graph mesh.pe --hierarchy 4:8:2 --distance 1:10:100",
        "jetpy evaluate mesh.npz",
        "jetpy evaluate matrix.mtx --ordering perm.txt",
    ),
)
@input_argument
@click.argument("parts", type=INPUT_FILE, required=False)
@click.option(
    "-k", type=int, metavar="K", help="Number of parts; the default is the largest part id plus 1."
)
@hierarchy_option
@distance_option(required=False)
@region_option
@reading_options
@vertex_weights_option
@click.option(
    "--cut-matrix",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the weight of the edges between each pair of parts, as .npy, .mtx or .csv.",
)
@click.option(
    "--ordering",
    type=INPUT_FILE,
    metavar="PERM",
    help="Measure an ordering of the rows of a matrix instead: text with one row on each line, in "
    "the order of elimination, or .npy.",
)
@base_option
@symmetrize_option
@json_option
@quiet_option
@click.pass_context
def evaluate_command(
    ctx: click.Context,
    graph: Path,
    parts: Path | None,
    k: int | None,
    hierarchy: str | None,
    distance: str | None,
    region: str | None,
    repair: bool,
    pattern: bool,
    scale: bool,
    vertex_weights: Path | None,
    cut_matrix: Path | None,
    ordering: Path | None,
    base: int,
    symmetrize: bool,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Measure the cut, balance, communication and connectedness of a partition from any tool.

    GRAPH is a file in one of the formats of `jetpy partition`, a mesh or an OpenFOAM case as for
    `jetpy mesh`, or a session of `jetpy update`. PARTS contains the part of each vertex, from 0:
    one id on each line, or .npy, .npz, .csv or .json, or a cellDecomposition of OpenFOAM. PARTS is
    optional for a session, which contains its parts. If a machine is given, the parts are its PEs,
    and the command also prints the cost of the mapping.
    With --ordering, GRAPH is a matrix, and the command prints the fill of its Cholesky factor.
    """
    _check_combination(ctx, parts, ordering)
    if ordering is not None:
        _evaluate_ordering(graph, ordering, base, symmetrize, json_file, quiet)
        return
    from jetpy.io.cut_matrix import check_cut_matrix_name, write_cut_matrix
    from jetpy.io.distances import matrix_file, read_distances

    matrix = matrix_file(distance or "")
    check_outputs([cut_matrix], json_file, inputs=[graph, parts, matrix, vertex_weights])
    if cut_matrix is not None:
        check_name(cut_matrix, check_cut_matrix_name)
    if hierarchy is not None and distance is None:
        raise click.UsageError("--hierarchy needs --distance")

    from jetpy.cli.json_summary import evaluation
    from jetpy.evaluation.evaluate import evaluate
    from jetpy.problem.machine import described

    distances = None if distance is None else read_distances(distance)
    described(hierarchy, distances, k)  # refuse wrong numbers before reading
    if parts is None and not is_session_file(graph):
        raise click.UsageError("Missing argument 'PARTS', which is optional for a session only")
    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        given = read_input(graph, bars, region, repair=repair, pattern=pattern, scale=scale)
        given = given.with_weights(vertex_weights, scale=scale)
        bars.busy("Evaluating")
        ids, count = given.partition(parts, k)
        result = evaluate(given.graph, ids, count, hierarchy=hierarchy, distances=distances)
    if cut_matrix is not None:
        write_cut_matrix(cut_matrix, result.cut_matrix)
    if json_file is not None:
        write_json(json_file, evaluation(given.graph, result))
    if not quiet and json_file != STDOUT:
        _print(given.graph, result)


def _check_combination(ctx: click.Context, parts: Path | None, ordering: Path | None) -> None:
    """Refuse options for partitions with an ordering, and the other way around."""
    if ordering is not None and parts is not None:
        raise click.UsageError("--ordering cannot be combined with PARTS")
    refused = OF_ORDERINGS if ordering is None else OF_PARTITIONS
    for name, option in options_given(ctx).items():
        if name in refused:
            rule = "needs" if ordering is None else "cannot be combined with"
            raise click.UsageError(f"{option} {rule} --ordering")


def _evaluate_ordering(
    matrix: Path,
    ordering: Path,
    base: int,
    symmetrize: bool,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Measure an ordering of a matrix."""
    from jetpy.api.ordering import symbolic
    from jetpy.cli.json_summary import about, structure_report
    from jetpy.io.permutations import check_permutation_name, read_permutation

    check_name(ordering, check_permutation_name)
    check_outputs([], json_file, inputs=[matrix, ordering])

    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        graph, _ = read_timed(matrix, bars, pattern=True if symmetrize else "symmetric")
        bars.busy("Evaluating")
        result = symbolic(graph, read_permutation(ordering, graph.n, base=base))
    if json_file is not None:
        write_json(json_file, {**about(graph), **structure_report(result)})
    if not quiet and json_file != STDOUT:
        _print_structure(graph, result)


def _print_structure(graph: Graph, result: Symbolic) -> None:
    from jetpy.cli.tables import facts, stdout_console
    from jetpy.evaluation.rows import matrix_text
    from jetpy.result.symbolic import symbolic_rows

    rows = [("matrix", matrix_text(graph)), *symbolic_rows(graph, result)]
    stdout_console().print(facts(rows))


def _print(graph: Graph, result: Evaluation) -> None:
    from jetpy.cli.tables import columns, facts, stdout_console
    from jetpy.evaluation.evaluate import MAX_PARTS, PART_HEADERS, evaluation_rows, part_rows
    from jetpy.evaluation.rows import cost_rows, cut_text, graph_text

    console = stdout_console()
    costs: list[tuple[str, str]] = []
    if result.cost is not None and result.cost_by_level is not None:
        costs = cost_rows(result.cost, result.cost_by_level.tolist())
    rows = [
        ("graph", graph_text(graph)),
        ("k", f"{result.k:,}"),
        *costs,
        ("cut", cut_text(result.cut, graph)),
        *evaluation_rows(result),
    ]
    console.print(facts(rows))
    if result.k <= MAX_PARTS:
        console.print(columns(PART_HEADERS, part_rows(result)))
