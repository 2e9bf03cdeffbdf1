"""Rows of name and value that describe results, for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from jetpy.errors import count
from jetpy.problem.checked import value_text
from jetpy.problem.presets import CUSTOM, differences, mapping_options, preset

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jetpy.distributed import DistributedPartition
    from jetpy.evaluation.evaluate import Evaluation
    from jetpy.graph.csr import Graph
    from jetpy.multilevel.outcome import Level
    from jetpy.ordering.ordering import Ordering
    from jetpy.ordering.symbolic import Symbolic
    from jetpy.problem.options import Options
    from jetpy.result.mapping import Mapping
    from jetpy.result.partition import Partition

Rows = list[tuple[str, str]]

MAX_CHANGES = 4
"""Maximum number of changed options in the description of a run; with more, their number."""
MAX_PARTS = 32
"""Maximum number of parts in a table; with more parts, there is none."""
PART_HEADERS = (
    *("part", "weight", "components", "volume"),
    *("neighbours", "boundary", "isolated"),
)
"""Columns of `part_rows`."""
LEVEL_HEADERS = (
    *("level", "vertices", "edges", "cut before", "cut after"),
    *("imbalance", "iterations", "s"),
)
"""Columns of `level_rows`."""


def partition_rows(partition: Partition) -> Rows:
    """Describe a partitioning run: graph, options, cut and balance."""
    return [
        ("graph", graph_text(partition.graph)),
        ("run", run_text(partition)),
        ("cut", cut_text(partition.cut, partition.graph)),
        *_volume(partition),
        *_balance(partition, "part"),
        *_migration(partition),
    ]


def together_rows(result: DistributedPartition, name: str) -> Rows:
    """Describe a run of several processes, in the format of `partition_rows`."""
    run = f"k = {result.k}, seed {result.seed}, preset {result.preset}"
    engine = _engine(result)
    means = {
        "nccl": ", communicating through NCCL",
        "mpi": ", communicating through MPI",
        "none": "",
    }
    return [
        ("graph", f"{name}: {result.n:,} vertices, {result.m:,} edges"),
        ("run", f"{run}, each with {engine}"),
        ("processes", f"{result.processes}{means[result.transport]}"),
        ("cut", f"{result.cut:,}"),
        *_balance(result, "part"),
        ("empty parts", f"{result.empty_parts:,}"),
    ]


def run_text(partition: Partition) -> str:
    """Return the options and the back end of a run."""
    run = f"k = {partition.k}, seed {partition.seed}, preset {partition.preset}"
    base = None if partition.preset == CUSTOM else preset(partition.preset)
    run += _changes(partition.options, base)
    if partition.generations > 1:
        run += f", {count(partition.generations, 'generation')}"
    return f"{run}, {_engine_text(partition)}"


def _changes(options: Options, base: Options | None) -> str:
    """Return the options that differ from `base`, each after a comma."""
    changes = differences(options, base)
    text = ""
    for name in ("coarsening", "refinement"):
        group = "coarsen" if name == "coarsening" else "refine"
        if f"{group}.method" in changes:
            text += f", {name} {changes[f'{group}.method']}"
            changes = {o: v for o, v in changes.items() if not o.startswith(f"{group}.")}
    if len(changes) > MAX_CHANGES:
        return f"{text}, {len(changes)} other options"
    return text + "".join(f", {option} {value_text(value)}" for option, value in changes.items())


def mapping_rows(mapping: Mapping) -> Rows:
    """Describe a mapping run: graph, machine, options, cost and balance."""
    partition, method = mapping.partition, mapping.method
    changes = _changes(partition.options, mapping_options(method))
    return [
        ("graph", graph_text(partition.graph)),
        ("machine", f"{mapping.machine}, {count(partition.k, 'PE')}"),
        ("run", f"{method}, seed {partition.seed}{changes}, {_engine_text(partition)}"),
        *cost_rows(mapping.cost, mapping.cost_by_level.tolist()),
        ("cut", cut_text(mapping.cut, partition.graph)),
        *_balance(partition, "PE"),
        ("empty PEs", f"{mapping.empty_pes:,}"),
    ]


def evaluation_rows(result: Evaluation) -> Rows:
    """Describe the metrics of a partition, except k and cut."""
    volumes = result.part_volumes
    most = f"; part {volumes.argmax()} sends most, {volumes.max():,}" if volumes.any() else ""
    return [
        ("imbalance", f"{result.imbalance:.4f}"),
        *_weight_rows(result.part_weights),
        ("boundary vertices", f"{result.boundary_vertices:,}"),
        ("communication volume", f"{result.communication_volume:,}{most}"),
        ("neighbouring parts", _range(result.part_neighbours)),
        ("empty parts", f"{result.empty_parts:,}"),
        ("disconnected parts", f"{result.disconnected_parts:,}"),
    ]


def _weight_rows(weights: npt.NDArray[np.int64]) -> Rows:
    """Describe weights of parts, (k,) or (k, c)."""
    table = weights.reshape(len(weights), -1).T
    averages = -(-table.sum(axis=1) // len(weights))
    return [
        (
            "part weights" if weights.ndim == 1 else f"part weights, weight {j}",
            f"{own.min():,} to {own.max():,}; the average is {average:,}",
        )
        for j, (own, average) in enumerate(zip(table, averages, strict=True))
    ]


def ordering_rows(graph: Graph, ordering: Ordering, run: str) -> Rows:
    """Describe an ordering of a matrix; `run` has its options."""
    rows = [
        ("matrix", matrix_text(graph)),
        ("run", f"{run}, {ordering.backend}, {count(ordering.threads, 'thread')}"),
        *symbolic_rows(graph, ordering.symbolic),
    ]
    tree = ordering.tree
    if tree is not None:
        leaves = int(tree.is_leaf.sum())
        separators = count(len(tree) - leaves, "separator")
        noun = "leaf" if leaves == 1 else "leaves"
        rows.append(("tree", f"{separators}, {leaves:,} {noun}, depth {tree.depth}"))
    return rows


def symbolic_rows(graph: Graph, structure: Symbolic) -> Rows:
    """Describe the factor of a matrix whose rows are in some order."""
    times = structure.fill / max(graph.n + graph.m, 1)
    return [
        ("fill", f"{structure.fill:,} ({times:.2f} times the lower triangle of the matrix)"),
        ("operations", f"{structure.operations:.4g}"),
        ("height", f"{structure.height:,}"),
        ("critical path", f"{structure.critical_path:.4g} operations"),
    ]


def matrix_text(graph: Graph) -> str:
    """Return the name and size of a matrix, given its graph."""
    return f"{graph.name}: {count(graph.n, 'row')}, {2 * graph.m:,} entries off the diagonal"


def part_rows(result: Evaluation) -> list[tuple[str, ...]]:
    """Describe each part; `PART_HEADERS` names the columns."""
    numbers = zip(
        result.components,
        result.part_volumes,
        result.part_neighbours,
        result.part_boundary_vertices,
        result.part_isolated_vertices,
        strict=True,
    )
    weights = result.part_weights.reshape(result.k, -1).tolist()
    return [
        (f"{p:,}", "; ".join(f"{weight:,}" for weight in own), *(f"{number:,}" for number in row))
        for p, (own, row) in enumerate(zip(weights, numbers, strict=True))
    ]


def level_rows(levels: Iterable[Level]) -> list[tuple[str, ...]]:
    """Describe levels in their order; `LEVEL_HEADERS` names the columns."""
    return [
        (
            f"{level.level}",
            f"{level.n:,}",
            f"{level.m:,}",
            f"{level.cut_before:,}",
            f"{level.cut_after:,}",
            f"{level.imbalance:.4f}",
            f"{level.iterations}",
            f"{level.coarsen_seconds + level.refine_seconds:.3f}",
        )
        for level in levels
    ]


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as text, with right-aligned columns.

    >>> print(text_table(("n", "cut"), [("1,000", "7"), ("10", "12")]))
        n  cut
    1,000    7
       10   12
    """
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in (headers, *rows)
    )


def seconds_row(partition: Partition | DistributedPartition) -> tuple[str, str]:
    """Return the total time of a run and the times of its stages."""
    seconds = partition.seconds
    stages = ", ".join(
        f"{stage} {seconds[stage]:.2f}" for stage in ("coarsen", "initial", "refine")
    )
    return "seconds", f"{seconds['total']:.2f} ({stages})"


def graph_text(graph: Graph) -> str:
    """Return the name and size of a graph."""
    return f"{graph.name}: {graph.n:,} vertices, {graph.m:,} edges"


def cut_text(cut: int, graph: Graph) -> str:
    """Return a cut and its percentage of the total edge weight."""
    total = graph.total_edge_weight
    return f"{cut:,} ({100 * cut / total:.2f} % of the edge weight)" if total else "0"


def cost_rows(cost: int, by_level: Sequence[int]) -> Rows:
    """Return rows for the cost of a mapping and the cost of each level, lowest first."""
    rows = [("cost", f"{cost:,}")]
    if by_level:
        rows.append(("cost by level", " + ".join(f"{share:,}" for share in by_level)))
    return rows


def _engine_text(partition: Partition) -> str:
    """Return the engine, and why it is not a GPU if CuPy is installed."""
    if partition.gpu_skipped and find_spec("cupy") is not None:
        return f"{_engine(partition)} (small graph: starting a GPU would take longer)"
    return _engine(partition)


def _engine(partition: Partition | DistributedPartition) -> str:
    if partition.gpu is None:
        return f"{partition.backend}, {count(partition.threads, 'thread')}"
    threads = count(partition.threads, "host thread")
    return f"{partition.backend} (GPU {partition.gpu}), {threads}"


def _balance(partition: Partition | DistributedPartition, noun: str) -> Rows:
    weights, limits = partition.part_weights, partition.limits
    if weights.ndim == 1:
        rows = [("limit", _limit(weights, limits, noun))]
    else:
        columns = enumerate(zip(weights.T, limits.T, strict=True))
        rows = [(f"limit, weight {j}", _limit(*both, noun)) for j, both in columns]
    return [
        ("imbalance", f"{partition.imbalance:.4f}"),
        *rows,
        *_lower_limits(partition, noun),
        ("feasible", "yes" if partition.feasible else "NO"),
    ]


def _limit(weights: npt.NDArray[np.int64], limits: npt.NDArray[np.int64], noun: str) -> str:
    p = int((weights / limits.clip(1)).argmax())
    if (limits == limits[0]).all():
        return f"{limits[p]:,}; the heaviest {noun} weighs {weights[p]:,}"
    range_of = f"{limits.min():,} to {limits.max():,}"
    return f"{range_of}; {noun} {p} weighs {weights[p]:,} of {limits[p]:,}"


def _lower_limits(partition: Partition | DistributedPartition, noun: str) -> Rows:
    """Return a row for the lower limits of each weight that has any."""
    if not partition.lower_limits.any():
        return []
    weights, limits = partition.part_weights, partition.lower_limits
    if weights.ndim == 1:
        return [("lower limit", _lower_limit(weights, limits, noun))]
    columns = enumerate(zip(weights.T, limits.T, strict=True))
    return [(f"lower limit, weight {j}", _lower_limit(*both, noun)) for j, both in columns]


def _lower_limit(weights: npt.NDArray[np.int64], limits: npt.NDArray[np.int64], noun: str) -> str:
    p = int((weights - limits).argmin())
    if (limits == limits[0]).all():
        return f"{limits[p]:,}; the lightest {noun} weighs {weights[p]:,}"
    range_of = f"{limits.min():,} to {limits.max():,}"
    return f"{range_of}; {noun} {p} weighs {weights[p]:,} of {limits[p]:,}"


def _volume(partition: Partition) -> Rows:
    """Return a row with the communication volume if it was the objective."""
    if partition.objective != "volume":
        return []
    return [("communication volume", f"{partition.communication_volume:,}")]


def _migration(partition: Partition) -> Rows:
    if partition.home is None:
        return []
    total = partition.graph.total_vertex_weight
    share = 100 * partition.moved_weight / max(total, 1)
    weight = f"weight {partition.moved_weight:,} ({share:.1f} % of the total)"
    return [("moved vertices", f"{len(partition.moved):,}; {weight}")]


def _range(numbers: npt.NDArray[np.int64]) -> str:
    low, high = numbers.min(), numbers.max()
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"
