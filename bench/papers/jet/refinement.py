"""Refinement of the same hierarchies by Jet and by others: cuts (Table 4) and time (Table 5).

Section 5.1 of the paper compares refinements on hierarchies of Jet, mt-KaHIP and Mt-KaHyPar. Here,
Jet and k-way FM refine the same partition on the same hierarchy of jetpy. The hierarchies of
Mt-KaHyPar cannot be had, because its package does not return them.
"""

from __future__ import annotations

from functools import partial
from statistics import geometric_mean, median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import jetpy
from bench import kway_fm
from bench.child import Unavailable, failures_noted
from bench.instances import Instance
from bench.papers.classes import GRAPHS, all_row, class_rows
from bench.papers.experiment import PEER_MISSING, Values, experiment
from bench.papers.jet.partitioners import PRESET
from bench.papers.setting import Setting, or_missing
from jetpy.choices import Backend
from jetpy.problem.metrics import edge_cut

K, IMBALANCE = 64, 0.03
BACKEND: Backend = "cpu"
"""Section 5.1: the CPU, for a fair comparison of time."""
NEEDS = "Mt-KaHyPar; mt-KaHIP cannot be had; Mt-KaHyPar's package does not return hierarchies"
NO_HIERARCHY = "hierarchy not exported"
"""Stands for a number on a hierarchy of Mt-KaHyPar."""
PEER_FAILED = "peer failed"
"""Stands for a number of graphs, if Mt-KaHyPar crashed on each of them."""
FAILED = "left out, because the peer failed"
"""Row with the graphs that no other row counts."""
MLS_COLUMNS = ("MLS vs Jet, Mt-KaHIP backend", "MLS vs Jet, our backend")
EXPORTED, OURS = (f"K-way FM vs Jet, {name} backend" for name in ("Mt-KaHyPar-D", "our"))


class Ratios(NamedTuple):
    """Cut and seconds of k-way FM divided by those of Jet."""

    cut: float
    seconds: float


@experiment("jet.table4", NEEDS, 10)
def table4(setting: Setting) -> Values:
    """Return the cuts of other refinements over Jet's (section 7.1)."""
    return _table(setting, "cut")


@experiment("jet.table5", NEEDS, 10)
def table5(setting: Setting) -> Values:
    """Return the uncoarsening times of other refinements over Jet's (section 7.1.3)."""
    return _table(setting, "seconds")


def _table(setting: Setting, quantity: str) -> Values:
    def mean(instances: list[Instance]) -> float | str:
        compared = [found for instance in instances if (found := compare(setting, instance))]
        ratios = [median(getattr(run, quantity) for run in found) for found in compared]
        return geometric_mean(ratios) if ratios else PEER_FAILED

    def ours(instances: list[Instance]) -> float | str:
        return or_missing(partial(mean, instances), PEER_MISSING)

    def failed() -> str:
        return ", ".join(each.name for each in setting.instances if not compare(setting, each))

    columns = {
        **dict.fromkeys(MLS_COLUMNS, lambda _: PEER_MISSING),
        EXPORTED: lambda _: NO_HIERARCHY,
        OURS: ours,
    }
    return {
        **all_row("All", setting.instances, columns),
        **class_rows(setting.instances, columns),
        (FAILED, GRAPHS): or_missing(failed, PEER_MISSING) or "none",
    }


def compare(setting: Setting, instance: Instance) -> list[Ratios]:
    """Refine a hierarchy of jetpy by k-way FM and by Jet; return a ratio for each seed.

    Seeds with which Mt-KaHyPar crashes are left out. Both tables share the result.

    Raises
    ------
    Unavailable
        If Mt-KaHyPar is not installed.
    """

    def measure() -> list[Ratios]:
        found = []
        for seed in range(setting.seeds):
            with failures_noted("Mt-KaHyPar", f"{instance.name} seed={seed}") as outcome:
                found.append(_compare(setting, instance, seed))
            if outcome.unavailable:
                raise Unavailable
        return found

    return setting.keep(("k-way FM", instance.name, K), measure)


def _compare(setting: Setting, instance: Instance, seed: int) -> Ratios:
    graph, threads = setting.graph(instance), setting.threads
    hierarchy = jetpy.coarsen(
        graph, K, imbalance=IMBALANCE, preset=PRESET, seed=seed, backend=BACKEND, threads=threads
    )
    depth, start = balanced_start(hierarchy, threads)
    theirs = kway_fm.refine(hierarchy, depth, start, K, seed=seed, threads=threads)
    ours = hierarchy.refine(start, level=depth, backend=BACKEND, threads=threads)
    cut = edge_cut(graph, theirs.parts)
    return Ratios(cut / ours.cut, theirs.seconds / ours.seconds["refine"])


def balanced_start(hierarchy: jetpy.Hierarchy, threads: int) -> tuple[int, npt.NDArray[np.int32]]:
    """Return a balanced partition of the coarsest possible level, and the level's index.

    As in the paper, refinement starts on the coarsest level with a balanced partition.
    """
    for depth in reversed(range(len(hierarchy))):
        found = jetpy.partition(
            hierarchy.levels[depth].graph,
            K,
            imbalance=hierarchy.imbalance,
            preset=PRESET,
            seed=hierarchy.seed,
            backend=BACKEND,
            threads=threads,
        )
        if found.feasible:
            break
    return depth, found.parts


EXPERIMENTS = [table4, table5]
