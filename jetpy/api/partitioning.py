"""Partition a graph, or refine a partition of it: the functions that most users need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from jetpy import choices
from jetpy.api.plans import Refinement, make_plan
from jetpy.api.request import make_request
from jetpy.api.run import Execution, carry_out, run
from jetpy.io.graphs import as_graph
from jetpy.problem.bounds import Bounds
from jetpy.problem.metrics import checked_parts
from jetpy.problem.options import Options
from jetpy.progress import ProgressOption
from jetpy.result.partition import Partition


def partition(
    graph: Any,
    k: int | None = None,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    vertex_sizes: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    imbalance: float | Sequence[float] | None = None,
    large_imbalance: bool = False,
    lower_imbalance: float | None = None,
    min_weights: npt.ArrayLike | None = None,
    max_weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    home: npt.ArrayLike | None = None,
    migration: float = 1.0,
    together: npt.ArrayLike | None = None,
    within: npt.ArrayLike | None = None,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    options: Options | Mapping[str, Any] | None = None,
    generations: int | None = None,
    time_limit: float | None = None,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: ProgressOption = None,
    profile: bool = False,
) -> Partition:
    """Partition a graph into `k` parts of nearly equal weight with few cut edges.

    The same input, seed and options give the same parts on every back end, with any number of
    threads, in every run. Source: Gilbert et al., "Jet", SISC 2024.

    Parameters
    ----------
    graph : Graph, path of a file, SciPy sparse matrix, tuple of arrays, or networkx.Graph
        See `as_graph`; a tuple is (indptr, indices[, edge_weights[, vertex_weights]]).
    k : int, optional
        Number of parts. No part is empty, unless there are fewer than k vertices (each then gets
        a part of its own) or constraints prevent it. Without k, jetpy looks for the fewest parts
        that keep `max_weights`. This and `min_weights` must then be one number, or one for each of
        c weights.
    vertex_weights : array of int, shape (n,) or (n, c), optional
        Vertex weights, which replace those of the graph. With c weights per vertex, integers from
        0 on, each part gets a limit for each of the c weights. If jetpy finds no partition within
        all limits, `feasible` is false; compare `part_weights` and `limits`, both of shape (k, c).
        Weights of shape (n, 1) give the parts of weights of shape (n,), with all their options, and
        `part_weights` and `limits` of shape (k, 1). Source: Karypis, Kumar, "Multilevel algorithms
        for multi-constraint graph partitioning", SC 1998.
    vertex_sizes : array of int, shape (n,), optional
        Amount of data that each vertex sends, an integer from 0 on, for the communication volume.
        By default those of the graph, or 1.
    edge_weights, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`.
    imbalance : float, or sequence of c floats, optional
        A part may weigh at most floor((1 + imbalance) * ceil(W / k)), where W is the total vertex
        weight; 0.03 by default. jetpy keeps this limit whenever greedy packing can (heaviest vertex
        first, into the lightest part). Otherwise the result is the most balanced partition found,
        and `feasible` is false. Limits are exact: 1 - 0.9 means 1/10.
    lower_imbalance : float, optional
        A part must weigh at least ceil((1 - lower_imbalance) * share), in 0..1, where its share is
        W / k, or what targets give it. By default, parts have no minimum weight.
    min_weights, max_weights : int, or array of int, shape (k,) or (k, c), optional
        Minimum and maximum weight of each part, absolute, one number for all parts or one for each;
        shape (k, c) for c weights per vertex. They replace the limit of the default imbalance. If
        `imbalance`, `targets` or `lower_imbalance` are given, too, the tighter limit holds.
    targets : array of numbers, shape (k,), optional
        Relative weights of the parts: with [2, 1, 1, 1], the first part is twice as heavy as each
        of the others. The share of each part in W, rounded up, then replaces ceil(W / k), and
        greedy packing puts a vertex into the part with the most spare weight.
    fixed : array of int, shape (n,), optional
        Part in which each vertex must be; -1 for free vertices. Fixed vertices may exceed the limit
        of their part: the result is then infeasible, and jetpy balances the other parts.
    home : array of int, shape (n,), optional
        Previous part of each vertex; -1 for none. jetpy then minimises the cut plus `migration`
        times the weight of the vertices that leave their previous part.
    migration : float
        Cost of moving a unit of vertex weight, in units of edge weight, at least 0. Used only with
        `home`.
    together : array of int, shape (n,), optional
        Group of each vertex, -1 for none. All vertices of a group get the same part.
    within : array of int, shape (n,), optional
        A partition that no new part may cross. `k` and all limits then apply within each of its
        parts: part p is divided into the parts p * k to p * k + k - 1. Without `k`, the ids of the
        new parts follow each other in the order of the given parts.
    objective : {'cut', 'volume'}
        Quantity to minimise: the weight of the cut edges, or the communication volume. The volume
        is the sum, over all vertices, of the number of other parts in which a vertex has
        neighbours, times the size of the vertex; edge weights do not count. For 'volume', jetpy
        finds two partitions of small cut, with the edge weights and with degree-normalised ones,
        and improves them together, partly on the host. The volume is at most that of objective
        'cut', unless only the partition for 'volume' keeps the limits.
    connected : bool
        Make each part connected if jetpy finds a way that keeps the limits; the cut may grow.
        `disconnected` of the result has the reason for each part that is not connected. In a graph
        of c connected components and at least k vertices, the parts have max(k, c) connected
        components in total if each part may weigh as much as the whole graph and no vertex is
        fixed. With lower limits, jetpy tries, but cannot guarantee it. More `generations` are never
        worse: results within the limits are preferred, then connected ones, then small cuts.
    large_imbalance : bool
        Allow an imbalance of 1 or more. jetpy refuses these by default, because 3 means 300 %, not
        3 %.
    seed : int
        Breaks ties between equally good decisions, in 0..2**31 - 1.
    preset : str
        `fast`, `default`, `ultra` and `max` take more and more time for a smaller cut; `max` is
        `ultra` with 16 generations. `jet`, `jet-ultra`, `gkway`, `gkway-journal` and `igkway` are
        the algorithms of the papers, as published.
    coarsening : {'two-hop', 'union-find', 'constrained'}, optional
        Coarsening method instead of the preset's: pairs of vertices (Jet), subsets of any size
        (G-kway), or groups of up to six vertices (iG-kway).
    refinement : {'jet', 'independent-set'}, optional
        Refinement method instead of the preset's: label propagation (Jet), or independent sets of
        moves that each lower the cut (G-kway).
    options : Options or mapping, optional
        Values of single options by name, instead of the preset's, such as
        ``{"refine.patience": 20}``; or all options. `jetpy.preset` returns those of a preset, and
        ``jetpy.preset(name).values()`` lists the names.
    generations : int, optional
        Number of partitions to find; some are new, others recombine two earlier ones. The result is
        the best of them. The default is 16 for `max`, 1 otherwise. More generations never give a
        worse result. Source: Sanders, Schulz, "Distributed evolutionary graph partitioning",
        ALENEX 2012.
    time_limit : float, optional
        Seconds, above 0. jetpy runs generations until the time is over, at least one and at most
        `generations`, if that is given. Reading the graph and compiling do not count. The same
        number of generations (`generations` of the result) without a time limit gives the same
        parts.
    backend : {'auto', 'cpu', 'cuda', 'kokkos-cuda', 'kokkos-openmp', 'kokkos-serial'}
        Engine that runs the kernels; all give the same parts. `auto` uses a GPU if one works, and
        the CPU otherwise. For a graph with fewer than a million vertices and directed edges, `auto`
        does not start a GPU, because the CPU finishes before CUDA has started. It does use the GPU
        for small graphs whose arrays are on the GPU, and in a process that has used the GPU before.
    threads : int, optional
        Number of CPU threads; by default all that the process may use.
    device : int or True, optional
        Index of the GPU in CUDA's order; by default the GPU that holds the arrays of `graph`, or
        GPU 0. Only for back ends on GPUs; `auto` then uses one of these, or fails. True also
        leaves the parts on the GPU, as `device_parts` of the result.
    progress : bool or callable, optional
        True shows progress bars in a notebook, or on standard error if that is a terminal. jetpy
        calls a function as ``progress(stage, done, total)``; the stages are compile, coarsen,
        refine and, with several generations, evolve.
    profile : bool
        Time every kernel and count launches, synchronisations and bytes, as `profile` of the
        result. The parts are the same. The run takes longer, in particular on a GPU, because the
        host waits for each kernel.

    Raises
    ------
    GraphError
        If `graph` is not a valid graph.
    OptionError
        If an option is out of range or unknown, or no weights of parts can keep the limits.
    BackendError
        If the back end does not work on this machine. If the memory of the GPU is full, this is an
        `OutOfMemoryError`.

    Examples
    --------
    >>> import jetpy
    >>> grid = jetpy.generators.grid(20, 20)
    >>> result = jetpy.partition(grid, 4, threads=1)
    >>> result.feasible, result.part_weights.sum()
    (True, np.int64(400))
    """
    checked = as_graph(
        graph,
        vertex_weights=vertex_weights,
        edge_weights=edge_weights,
        vertex_sizes=vertex_sizes,
        weight=weight,
        node_weight=node_weight,
        n=n,
        repair=repair,
        pattern=pattern,
        scale=scale,
    )
    plan = make_plan(
        checked,
        k=k,
        imbalance=imbalance,
        large_imbalance=large_imbalance,
        lower_imbalance=lower_imbalance,
        min_weights=min_weights,
        max_weights=max_weights,
        targets=targets,
        fixed=fixed,
        home=home,
        migration=migration,
        together=together,
        within=within,
        objective=objective,
        connected=connected,
        seed=seed,
        preset=preset,
        coarsening=coarsening,
        refinement=refinement,
        options=options,
        generations=generations,
        time_limit=time_limit,
    )
    return carry_out(plan, Execution(backend, threads, device, progress, profile))


def refine(
    graph: Any,
    parts: npt.ArrayLike,
    k: int | None = None,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    vertex_sizes: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    imbalance: float | Sequence[float] | None = None,
    large_imbalance: bool = False,
    lower_imbalance: float | None = None,
    min_weights: npt.ArrayLike | None = None,
    max_weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    together: npt.ArrayLike | None = None,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
    options: Options | Mapping[str, Any] | None = None,
    fill_empty: bool = False,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: ProgressOption = None,
    profile: bool = False,
) -> Partition:
    """Improve a given partition on the graph itself, without coarsening (Jet, section 4).

    The result is not worse than `parts`. If `parts` keeps the limits, so does the result, and its
    cut (or communication volume, as `objective` says) does not grow. Otherwise jetpy restores the
    balance first.

    Parameters
    ----------
    graph, edge_weights, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`.
    vertex_weights, vertex_sizes, imbalance, large_imbalance, lower_imbalance, min_weights
    max_weights, targets, objective, seed, preset, options, backend, threads, device, progress
    profile
        As for `partition`; the preset `max` is `ultra` here.
    fixed : array of int, shape (n,), optional
        As for `partition`. It overrides `parts`.
    together : array of int, shape (n,), optional
        As for `partition`. A group that `parts` splits first goes to the part with most of its
        weight, so the cut may grow.
    connected : bool
        As for `partition`. If the given parts are not connected, the cut may grow.
    parts : array of int, shape (n,)
        Part of each vertex, 0..k-1.
    k : int, optional
        Number of parts; one more than the largest entry of `parts` by default.
    fill_empty : bool
        After refinement, move a vertex into each empty part, from a part with at least two
        vertices; the cut may grow.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`. GraphError also if `parts` does not fit the graph or `k`.
    """
    checked = as_graph(
        graph,
        vertex_weights=vertex_weights,
        edge_weights=edge_weights,
        vertex_sizes=vertex_sizes,
        weight=weight,
        node_weight=node_weight,
        n=n,
        repair=repair,
        pattern=pattern,
        scale=scale,
    )
    given = checked_parts(checked, parts, k)
    request = make_request(
        checked,
        int(given.max(initial=0)) + 1 if k is None else k,
        imbalance=imbalance,
        large_imbalance=large_imbalance,
        bounds=Bounds(min_weights, max_weights, lower_imbalance),
        targets=targets,
        fixed=fixed,
        together=together,
        objective=objective,
        connected=connected,
        seed=seed,
        preset=preset,
        options=options,
        generations=1,
        fill=fill_empty,
    )
    plan = Refinement.of(request, given)
    return run(plan.solve, plan.request, Execution(backend, threads, device, progress, profile))[0]
