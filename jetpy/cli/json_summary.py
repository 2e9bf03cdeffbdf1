"""Results as dictionaries, ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import jetpy

if TYPE_CHECKING:
    from jetpy.distributed import DistributedPartition
    from jetpy.evaluation.evaluate import Evaluation
    from jetpy.evaluation.levels import Level
    from jetpy.graph.csr import Graph
    from jetpy.incremental.partitioner import IncrementalPartitioner, Update
    from jetpy.problem.machine import Machine
    from jetpy.profiling.profile import Profile
    from jetpy.result.mapping import Mapping
    from jetpy.result.ordering import Ordering
    from jetpy.result.ordering_choice import OrderingChoice
    from jetpy.result.partition import Partition
    from jetpy.result.separator_tree import SeparatorTree
    from jetpy.result.symbolic import Symbolic

STAGES = ("compile", "coarsen", "initial", "refine", "total")


def stats(partition: Partition, read_seconds: float) -> dict[str, Any]:
    """Describe a partitioning run.

    Parameters
    ----------
    partition : Partition
    read_seconds : float
        Wall seconds for reading the graph.

    Returns
    -------
    dict
        The fields listed in ``docs/guide/json.md``. ``seconds["total"]`` includes neither reading
        nor compiling. ``profile`` is present if the run has one.

    Examples
    --------
    >>> import jetpy
    >>> result = jetpy.partition(jetpy.generators.grid(4, 4), 1, threads=1)
    >>> stats(result, 0.0)["part_weights"]
    [16]
    """
    return {
        **_header(partition.graph, partition.k),
        "preset": partition.preset,
        "coarsening": partition.coarsening,
        "refinement": partition.refinement,
        "options": partition.options.values(),
        "objective": partition.objective,
        "generations": partition.generations,
        **_run(partition),
        "cut": partition.cut,
        "communication_volume": partition.communication_volume,
        **_balance(partition),
        **_migration(partition),
        "empty_parts": partition.empty_parts,
        "disconnected_parts": partition.disconnected_parts,
        "components": partition.pieces.tolist(),
        "isolated_vertices": partition.isolated_vertices,
        "disconnected": {str(p): why for p, why in partition.disconnected.items()},
        "levels": [_level(level) for level in partition.levels],
        **_effort(partition, read_seconds),
    }


def mapping_stats(mapping: Mapping, read_seconds: float) -> dict[str, Any]:
    """Describe a mapping run, with the fields listed in ``docs/guide/json.md``."""
    partition = mapping.partition
    return {
        **_header(partition.graph, partition.k),
        "method": mapping.method,
        "options": partition.options.values(),
        **_run(partition),
        **cost_report(mapping.machine, mapping.cost, mapping.cost_by_level.tolist()),
        "cut": mapping.cut,
        **_balance(partition),
        "empty_pes": mapping.empty_pes,
        **_effort(partition, read_seconds),
    }


def together_stats(result: DistributedPartition, name: str, read_seconds: float) -> dict[str, Any]:
    """Describe a run of several processes, with the fields listed in ``docs/guide/json.md``."""
    return {
        "version": jetpy.__version__,
        "graph": name,
        **result.stats(),
        "seconds": {"read": read_seconds, **{s: result.seconds[s] for s in STAGES}},
        "levels": [_level(level) for level in result.levels],
    }


def update_stats(live: IncrementalPartitioner, updates: Sequence[Update]) -> dict[str, Any]:
    """Describe a session after batches, with the fields listed in ``docs/guide/json.md``."""
    return {
        "version": jetpy.__version__,
        "n": live.n,
        "m": live.m,
        "k": live.k,
        "preset": live.preset,
        "cut": live.cut,
        "limit": live.limit,
        "feasible": live.feasible,
        "part_weights": live.part_weights.tolist(),
        "updates": [{**asdict(update), "vertices": update.vertices.tolist()} for update in updates],
    }


def _run(partition: Partition) -> dict[str, Any]:
    return {
        "seed": partition.seed,
        "backend": partition.backend,
        "gpu": partition.gpu,
        "threads": partition.threads,
    }


def _balance(partition: Partition) -> dict[str, Any]:
    return {
        "imbalance": partition.imbalance,
        "limit": partition.limit,
        "limits": partition.limits.tolist(),
        "lower_limits": partition.lower_limits.tolist(),
        "feasible": partition.feasible,
        "part_weights": partition.part_weights.tolist(),
    }


def _migration(partition: Partition) -> dict[str, Any]:
    if partition.home is None:
        return {}
    return {"moved_vertices": len(partition.moved), "moved_weight": partition.moved_weight}


def _effort(partition: Partition, read_seconds: float) -> dict[str, Any]:
    effort = {
        "seconds": {"read": read_seconds, **{s: partition.seconds[s] for s in STAGES}},
        "launches": partition.launches,
    }
    if partition.profile is not None:
        effort["profile"] = _profile(partition.profile)
    return effort


def cost_report(machine: Machine, cost: int, by_level: list[int]) -> dict[str, Any]:
    """Describe a machine and the cost of a mapping."""
    return {
        "hierarchy": list(machine.hierarchy),
        "distances": list(machine.distances),
        "cost": cost,
        "cost_by_level": by_level,
    }


def evaluation(graph: Graph, result: Evaluation) -> dict[str, Any]:
    """Describe the metrics of a partition of `graph`."""
    costs = {}
    if result.machine is not None and result.cost is not None and result.cost_by_level is not None:
        costs = cost_report(result.machine, result.cost, result.cost_by_level.tolist())
    return {
        **_header(graph, result.k),
        "cut": result.cut,
        "imbalance": result.imbalance,
        "boundary_vertices": result.boundary_vertices,
        "communication_volume": result.communication_volume,
        "largest_volume": result.largest_volume,
        "empty_parts": result.empty_parts,
        "disconnected_parts": result.disconnected_parts,
        "isolated_vertices": result.isolated_vertices,
        "part_weights": result.part_weights.tolist(),
        "components": result.components.tolist(),
        "part_volumes": result.part_volumes.tolist(),
        "part_neighbours": result.part_neighbours.tolist(),
        "part_boundary_vertices": result.part_boundary_vertices.tolist(),
        "part_isolated_vertices": result.part_isolated_vertices.tolist(),
        **costs,
    }


def ordering_stats(
    graph: Graph, ordering: Ordering, asked: dict[str, Any], read_seconds: float
) -> dict[str, Any]:
    """Describe an ordering of a matrix, with the fields listed in ``docs/guide/json.md``.

    `asked` has the options of the run.
    """
    return {
        **about(graph),
        **asked,
        "backend": ordering.backend,
        "threads": ordering.threads,
        **structure_report(ordering.symbolic),
        **_tree_report(ordering.tree),
        **_choices_report(ordering.choices),
        **({} if ordering.update is None else {"update": ordering.update._asdict()}),
        "seconds": {"read": read_seconds, "total": ordering.seconds},
        **({} if ordering.profile is None else {"profile": _profile(ordering.profile)}),
    }


def _tree_report(tree: SeparatorTree | None) -> dict[str, Any]:
    """Describe a separator tree, if there is one."""
    if tree is None:
        return {}
    leaves = int(tree.is_leaf.sum())
    return {"separators": len(tree) - leaves, "leaves": leaves, "depth": tree.depth}


def _choices_report(choices: Sequence[OrderingChoice]) -> dict[str, Any]:
    """Describe what `jetpy.order` has chosen, if it was used."""
    rows = [{**choice._asdict(), "reason": choice.reason} for choice in choices]
    return {"choices": rows} if rows else {}


def structure_report(structure: Symbolic) -> dict[str, Any]:
    """Describe the factor of a matrix whose rows are in some order."""
    return {
        "fill": structure.fill,
        "operations": structure.operations,
        "height": structure.height,
        "critical_path": structure.critical_path,
    }


def about(graph: Graph) -> dict[str, Any]:
    """Return the name and size of a graph, and the version of jetpy."""
    return {"version": jetpy.__version__, "graph": graph.name, "n": graph.n, "m": graph.m}


def _header(graph: Graph, k: int) -> dict[str, Any]:
    return {**about(graph), "k": k}


def _level(level: Level) -> dict[str, Any]:
    return {
        "level": level.level,
        "n": level.n,
        "m": level.m,
        "cut_before": level.cut_before,
        "cut_after": level.cut_after,
        "iterations": level.iterations,
        "imbalance": level.imbalance,
        "seconds": {"coarsen": level.coarsen_seconds, "refine": level.refine_seconds},
        "launches": {"coarsen": level.coarsen_launches, "refine": level.refine_launches},
    }


def _profile(profile: Profile) -> dict[str, Any]:
    return {
        "steps": [asdict(step) for step in profile.steps],
        "kernels": [asdict(kernel) for kernel in profile.kernels],
    }
