"""Results as plain dictionaries, ready for JSON."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from jetpy.graph import Graph
from jetpy.metrics import Evaluation
from jetpy.partition import Level, Partition
from jetpy.profile import Profile

STAGES = ("compile", "coarsen", "initial", "refine", "total")


def stats(partition: Partition, read_seconds: float) -> dict[str, Any]:
    """Describe a partitioning run.

    Parameters
    ----------
    partition : Partition
    read_seconds : float
        Wall seconds that reading the graph took.

    Returns
    -------
    dict
        The fields that the README lists under "JSON". ``seconds["total"]`` is partitioning
        alone: neither reading nor compiling. ``profile`` is there if the run has one.

    Examples
    --------
    >>> import jetpy
    >>> result = jetpy.partition(jetpy.generators.grid(4, 4), 1, threads=1)
    >>> stats(result, 0.0)["part_weights"]
    [16]
    """
    report = {
        **_header(partition.graph, partition.k),
        "seed": partition.seed,
        "preset": partition.preset,
        "backend": partition.backend,
        "threads": partition.threads,
        "cut": partition.cut,
        "imbalance": partition.imbalance,
        "limit": partition.limit,
        "feasible": partition.feasible,
        "empty_parts": partition.empty_parts,
        "disconnected_parts": partition.disconnected_parts,
        "part_weights": partition.part_weights.tolist(),
        "levels": [_level(level) for level in partition.levels],
        "seconds": {"read": read_seconds, **{s: partition.seconds[s] for s in STAGES}},
        "launches": partition.launches,
    }
    if partition.profile is not None:
        report["profile"] = _profile(partition.profile)
    return report


def evaluation(graph: Graph, result: Evaluation) -> dict[str, Any]:
    """Describe the evaluation of a partition of `graph`."""
    return {
        **_header(graph, result.k),
        "cut": result.cut,
        "imbalance": result.imbalance,
        "boundary_vertices": result.boundary_vertices,
        "communication_volume": result.communication_volume,
        "empty_parts": result.empty_parts,
        "disconnected_parts": result.disconnected_parts,
        "part_weights": result.part_weights.tolist(),
        "components": result.components.tolist(),
    }


def _header(graph: Graph, k: int) -> dict[str, Any]:
    return {"version": version("jetpy"), "graph": graph.name, "n": graph.n, "m": graph.m, "k": k}


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
