"""Mt-KaHyPar's k-way FM refinement on the levels of a given hierarchy, in a process of its own.

Mt-KaHyPar's package takes no hierarchy, but it improves a given partition by a V-cycle. If its
limit for coarsening is above the number of vertices, the V-cycle only refines the given graph. The
levels are therefore given one by one, coarsest first. `refine` starts the process.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.child import apart, only
from jetpy import Hierarchy, read_hierarchy, write_graph

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
HIERARCHY, PARTS = "levels.npz", "parts.npy"
"""Files with the levels, and with the given partition, later with the refined one."""


class Refined(NamedTuple):
    """Parts of the finest graph, int32, shape (n,), and the seconds of refinement on all levels."""

    parts: npt.NDArray[np.int32]
    seconds: float


def refine(
    hierarchy: Hierarchy,
    depth: int,
    parts: npt.NDArray[np.int32],
    k: int,
    *,
    seed: int,
    threads: int,
) -> Refined:
    """Refine a balanced partition of the level `depth` on this level and every finer one.

    Mt-KaHyPar runs in a new process, so that a crash ends only this refinement.

    Raises
    ------
    Unavailable
        If Mt-KaHyPar is not installed.
    subprocess.CalledProcessError
        If Mt-KaHyPar crashes.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        hierarchy.save(folder / HIERARCHY)
        np.save(folder / PARTS, parts)
        answer = only(apart(refined, folder, depth, k, hierarchy.imbalance, seed, threads))
        return Refined(np.load(folder / PARTS), answer["seconds"])


def refined(
    folder: str, depth: int, k: int, imbalance: float, seed: int, threads: int
) -> dict[str, float]:
    """Refine the partition in the file `PARTS` from the level `depth` on; return the seconds.

    They include what Mt-KaHyPar does to set up each V-cycle, but not the conversion of graphs and
    parts. A first run on the coarsest level, which loads its code and starts its threads, does not
    count.
    """
    import mtkahypar

    own = Path(folder)
    levels = read_hierarchy(own / HIERARCHY).levels
    library = mtkahypar.initialize(threads, False)
    config = own / "context.ini"
    config.write_text("".join(f"{name}={value}\n" for name, value in CONTEXT.items()))
    context = library.context_from_file(str(config))
    context.logging = False
    context.set_partitioning_parameters(k, imbalance, mtkahypar.Objective.CUT)
    mtkahypar.set_seed(seed)

    def improved(level: int, parts: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], float]:
        file = own / "level.graph"
        write_graph(file, levels[level].graph)
        graph = library.graph_from_file(str(file), context)
        partitioned = graph.create_partitioned_hypergraph(context, k, parts.tolist())
        start = perf_counter()
        partitioned.improve_partition(context, 1)
        elapsed = perf_counter() - start
        return np.array(partitioned.get_partition(), np.int32), elapsed

    parts, seconds = np.load(own / PARTS), 0.0
    improved(depth, parts)
    for level in reversed(range(depth + 1)):
        parts, elapsed = improved(level, parts)
        seconds += elapsed
        if level:
            parts = parts[levels[level - 1].coarse_of]
    np.save(own / PARTS, parts)
    return {"seconds": seconds}
