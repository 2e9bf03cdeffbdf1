"""Mt-KaHyPar's k-way FM refinement on the levels of a given hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.child import run_module
from bench.kway_fm import PARTS, level_file, map_file
from jetpy import write_graph
from jetpy.graph.levels import GraphLevel


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

    Mt-KaHyPar runs in a new process, so that a crash ends only this refinement.

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
    Unavailable
        If Mt-KaHyPar is not installed.
    subprocess.CalledProcessError
        If Mt-KaHyPar crashes.
    """
    for depth, level in enumerate(levels):
        write_graph(level_file(folder, depth), level.graph)
        if depth < len(levels) - 1:
            np.save(map_file(folder, depth), level.coarse_of)
    np.save(folder / PARTS, parts)
    answer = run_module("bench.kway_fm", folder.resolve(), len(levels), k, imbalance, seed, threads)
    return Refined(np.load(folder / PARTS), answer["seconds"])
