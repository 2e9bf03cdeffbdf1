"""Coarsen a graph without partitioning it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from jetpy import choices
from jetpy.api.hierarchy import Hierarchy
from jetpy.api.request import make_request
from jetpy.api.run import Execution, backend_for
from jetpy.engines.base import Backend
from jetpy.graph.levels import GraphLevel
from jetpy.graph.validate import check_one_weight
from jetpy.io.graphs import as_graph
from jetpy.io.hierarchy import HierarchySettings
from jetpy.multilevel.given_hierarchy import coarsen_graph
from jetpy.problem.options import Options
from jetpy.progress import Progress, ProgressOption


def coarsen(
    graph: Any,
    k: int,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    imbalance: float = 0.03,
    large_imbalance: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
    coarsening: choices.Coarsening | None = None,
    options: Options | Mapping[str, Any] | None = None,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: ProgressOption = None,
) -> Hierarchy:
    """Coarsen a graph as for a partition into `k` parts, and return the hierarchy.

    The levels are those of `jetpy.partition` with the same arguments, without further hierarchies
    and V-cycles. The same arguments give the same maps and weights on every back end, with any
    number of threads; the order of the neighbours of a vertex may differ. Use the hierarchy to
    compare refinements on the same levels, for multigrid, or to pool the features of a graph.

    Parameters
    ----------
    graph, vertex_weights, edge_weights, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`, with one weight per vertex.
    k : int
        Number of parts. Coarsening ends at a number of vertices that depends on it: see
        `coarsest` in `CoarsenOptions`. The options ``{"coarsen.coarsest": "per-part",
        "coarsen.per_part": 1, "coarsen.bounded": False}`` end it at the first level with at most
        `k` vertices.
    imbalance : float
        As for `jetpy.partition`. A coarse vertex weighs at most as much as a part may, except with
        the option `coarsen.bounded` False, as in the preset `jet`.
    large_imbalance, seed, preset, coarsening, options, backend, threads, progress
        As for `jetpy.partition`.
    device : int or True, optional
        As for `jetpy.partition`. True also leaves the graphs and maps on the GPU, except the graphs
        of levels that need 64-bit kernels. Each array of a graph is copied to the host when it is
        first read.

    Returns
    -------
    Hierarchy
        Coarsening ends early if a level would have more than the fraction `coarsen.min_shrink` of
        the vertices of the previous level. There is at least the level of the graph itself.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `jetpy.partition`.

    Examples
    --------
    >>> import jetpy
    >>> hierarchy = jetpy.coarsen(jetpy.generators.grid(100, 100), 8, threads=1)
    >>> [level.n for level in hierarchy.levels]
    [10000, 5484, 2953, 1605, 875, 482]
    >>> hierarchy.levels[0].coarse_of.max(), hierarchy.levels[5].vertex_weights.sum()
    (np.int32(5483), np.int64(10000))
    """
    given = as_graph(
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
    check_one_weight(given, "coarsen")
    request = make_request(
        given,
        k,
        imbalance=imbalance,
        large_imbalance=large_imbalance,
        targets=None,
        fixed=None,
        objective="cut",
        connected=False,
        seed=seed,
        preset=preset,
        coarsening=coarsening,
        options=options,
        generations=1,
        fill=False,
    )
    checked, problem = request.graph, request.problem
    chosen = backend_for(checked, backend, device)

    def work(engine: Backend, tell: Progress) -> list[GraphLevel]:
        return coarsen_graph(engine, checked, problem, tell, on_gpu=device is True)

    levels, _, _ = Execution(backend, threads, device, progress).run(work, checked, chosen)
    settings = HierarchySettings(
        problem.k, problem.imbalance, problem.seed, request.preset, problem.options
    )
    return Hierarchy.of(levels, settings)
