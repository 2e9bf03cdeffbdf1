"""Mt-KaHyPar's k-way FM refinement on the levels of a given hierarchy.

Mt-KaHyPar's package takes no hierarchy, but it improves a given partition by a V-cycle. If its
limit for coarsening is above the number of vertices, the V-cycle only refines the given graph. The
levels are therefore given one by one, coarsest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy import write_graph
from jetpy.graph.levels import GraphLevel

CONTEXT = {
    "preset-type": "default",
    "c-type": "multilevel_coarsener",
    "c-t": 10_000_000,
    "r-lp-type": "label_propagation",
    "r-fm-type": "kway_fm",
    "r-fm-obey-minimal-parallelism": "true",
    "r-fm-time-limit-factor": 0.25,
    "r-fm-iter-moves-on-recalc": "true",
}
"""Options of Mt-KaHyPar: no coarsening below 10,000,000 k vertices, and the refinement of the
paper's version (label propagation, then k-way FM). Newer versions have unconstrained FM instead."""


class Refined(NamedTuple):
    """Parts of the finest graph, int32, shape (n,), and the seconds of refinement on all levels."""

    parts: npt.NDArray[np.int32]
    seconds: float


def refine(
    levels: Sequence[GraphLevel],
    parts: npt.NDArray[np.int32],
    k: int,
    *,
    imbalance: float,
    seed: int,
    threads: int,
    folder: Path,
) -> Refined:
    """Refine a partition of the last level on this level and every finer one.

    The seconds include what Mt-KaHyPar does to set up each V-cycle, but not the conversion of
    graphs and parts.

    Parameters
    ----------
    levels : sequence of GraphLevel
        Finest first; the last one has the partition.
    parts : int32, shape (n of the last level,)
        A balanced partition, 0-based.
    k : int
    imbalance : float
    seed : int
    threads : int
    folder : Path
        For the files that Mt-KaHyPar reads.

    Raises
    ------
    ImportError
        If Mt-KaHyPar is not installed.
    """
    import mtkahypar

    library = mtkahypar.initialize(threads, False)
    config, file = folder / "context.ini", folder / "level.graph"
    config.write_text("".join(f"{name}={value}\n" for name, value in CONTEXT.items()))
    context = library.context_from_file(str(config))
    context.logging = False
    context.set_partitioning_parameters(k, imbalance, mtkahypar.Objective.CUT)
    mtkahypar.set_seed(seed)
    seconds = 0.0
    for depth in reversed(range(len(levels))):
        write_graph(file, levels[depth].graph)
        graph = library.graph_from_file(str(file), context)
        partitioned = graph.create_partitioned_hypergraph(context, k, parts.tolist())
        start = perf_counter()
        partitioned.improve_partition(context, 1)
        seconds += perf_counter() - start
        parts = np.array(partitioned.get_partition(), np.int32)
        if depth:
            parts = parts[levels[depth - 1].coarse_of]
    return Refined(parts, seconds)
