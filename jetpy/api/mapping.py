"""Map the tasks of an application to the PEs of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.plans import Solved
from jetpy.api.request import Request
from jetpy.api.run import Execution, run
from jetpy.engines.base import Backend
from jetpy.graph.csr import common_divisor
from jetpy.graph.validate import check_one_weight, check_small
from jetpy.io.graphs import as_graph
from jetpy.mapping.one_each import place_one_each
from jetpy.mapping.problem import bounded_steps, make_mapping_problem
from jetpy.multilevel.driver import partition_multilevel
from jetpy.multilevel.outcome import Outcome, trivial_outcome
from jetpy.problem.bounds import DEFAULT_IMBALANCE, Bounds
from jetpy.problem.machine import Levels, machine
from jetpy.problem.options import Options
from jetpy.problem.presets import MAPPING_METHODS
from jetpy.problem.problem import checked_imbalance
from jetpy.progress import Progress, ProgressOption
from jetpy.result.mapping import Mapping as ProcessMapping


def map_processes(
    graph: Any,
    hierarchy: Levels | None,
    distances: Levels | npt.ArrayLike,
    *,
    method: choices.Method = "im",
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    imbalance: float | None = None,
    large_imbalance: bool = False,
    lower_imbalance: float | None = None,
    min_weights: int | None = None,
    max_weights: int | None = None,
    seed: int = 0,
    options: Options | Mapping[str, Any] | None = None,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: ProgressOption = None,
    profile: bool = False,
) -> ProcessMapping:
    """Map the tasks of an application to the PEs of a machine with a small communication cost.

    The cost is the sum, over all ordered pairs of tasks, of their communication (edge weight) times
    the distance of their PEs. PEs get nearly equal vertex weight. The same input, seed and options
    give the same mapping on every back end. Source: Samoldekin, Schulz, Woydt, "GPU-Accelerated
    Algorithms for Process Mapping" (2025).

    If there are at most as many tasks as PEs, each PE gets at most one task, whatever its weight.
    The cost never exceeds that of putting task i on PE i. Source: Schulz, Träff, "Better Process
    Mapping and Sparse Quadratic Assignment", SEA 2017.

    Parameters
    ----------
    graph, vertex_weights, edge_weights, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`, with one weight per vertex. Vertices are tasks, and edge weights are the
        amounts of communication between them.
    large_imbalance, seed, backend, threads, device, progress, profile
        As for `partition`.
    hierarchy : str or sequence of int, or None
        a_1:...:a_l, as in "4:8:6": a_1 PEs per processor, a_2 processors per node and so on. PE p
        is in processor p // a_1, in node p // (a_1 a_2) and so on.
    distances : str or sequence of int, or array of int, shape (k, k)
        d_1:...:d_l, as in "1:10:100": d_1 is the distance of two PEs of one processor, d_2 the
        distance of two PEs of one node but different processors, and so on. Or a symmetric matrix
        of the distances of all PEs, with zeros on the diagonal; with a matrix, method `im` needs no
        hierarchy.
    method : {'im', 'hm', 'hm-ultra'}
        Both methods divide parts along the hierarchy, from the top, by the cut, and refine by the
        cost. `im`, integrated mapping, does both within one multilevel run. `hm`, hierarchical
        multisection, has a multilevel run per level of the hierarchy. It is slower and finds
        mappings of smaller cost, in particular `hm-ultra`, which uses the preset `ultra`. If each
        PE gets at most one task, `im` is the same as `hm`.
    options : Options or mapping, optional
        All options instead of the method's, or values of single options by name, such as
        ``{"refine.rebalance_by": "cut"}``. They have no effect if there are at most k tasks.
    imbalance : float, optional
        A PE may get at most ceil((1 + imbalance) * W / k), where W is the total vertex weight and k
        the number of PEs; 0.03 by default. If there are at most k tasks, a PE may always get one.
    lower_imbalance, min_weights, max_weights : optional
        As for `partition`, with one number for all PEs.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`. OptionError also if hierarchy and distances do not fit each other or
        the method.

    Examples
    --------
    >>> import jetpy
    >>> grid = jetpy.generators.grid(20, 20)
    >>> result = jetpy.map_processes(grid, "2:4", "1:10", threads=1)
    >>> result.feasible, result.pe.max()
    (True, np.int32(7))
    """
    target = machine(hierarchy, distances)
    checked = as_graph(
        graph,
        vertex_weights=vertex_weights,
        edge_weights=edge_weights,
        weight=weight,
        node_weight=node_weight,
        n=n,
        repair=repair,
        pattern=pattern,
        scale=scale,
    )
    usual = DEFAULT_IMBALANCE if imbalance is None else imbalance
    usual = checked_imbalance(usual, large=large_imbalance)
    check_small(checked, "map_processes")
    check_one_weight(checked, "map_processes")
    unit = common_divisor(checked.vertex_weights) or 1
    steps = make_mapping_problem(
        checked.total_vertex_weight, target, method, usual, seed, unit, options
    )
    bounds = Bounds(min_weights, max_weights, lower_imbalance)
    if bounds.are_given:
        steps = bounded_steps(steps, bounds, keeps_imbalance=imbalance is not None)
    problem = steps[-1]
    if checked.n <= target.k:
        heaviest = int(checked.vertex_weights.max(initial=0))
        problem = replace(problem, limit=max(problem.limit, heaviest))

    def work(engine: Backend, tell: Progress) -> Outcome:
        if target.k == 1 or checked.n == 0:
            return trivial_outcome(np.zeros(checked.n, np.int32), 0)
        if checked.n <= target.k:
            return place_one_each(engine, checked, target, method, problem.seed)
        return partition_multilevel(engine, checked, steps, tell)

    request = Request(checked, problem, MAPPING_METHODS[method])
    result, cost = run(
        lambda engine, tell: Solved.of(request, work(engine, tell)),
        request,
        Execution(backend, threads, device, progress, profile),
    )
    return ProcessMapping(result, target, method, 2 * cost)
