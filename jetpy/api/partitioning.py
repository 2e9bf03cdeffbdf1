"""The functions that most people need: partition a graph, or refine a partition of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.run import run
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.graph.validate import check_small
from jetpy.io.graphs import as_graph
from jetpy.multilevel.driver import refine_partition
from jetpy.multilevel.evolution import evolve
from jetpy.multilevel.outcome import Outcome, trivial_outcome, trivial_partition
from jetpy.problem.fixed import NO_PART, FixedVertices, check_fixed
from jetpy.problem.metrics import checked_parts
from jetpy.problem.options import choose_effort
from jetpy.problem.presets import choose
from jetpy.problem.presets import preset as preset_options
from jetpy.problem.problem import (
    Problem,
    checked_imbalance,
    checked_imbalances,
    divided,
    make_problem,
)
from jetpy.progress import Progress, ProgressOption, no_progress
from jetpy.result.partition import Partition

if TYPE_CHECKING:
    from jetpy.constraints.terminals import TerminalGraph


def partition(
    graph: Any,
    k: int,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    imbalance: float | Sequence[float] = 0.03,
    large_imbalance: bool = False,
    targets: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    home: npt.ArrayLike | None = None,
    migration: float = 1.0,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
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
    k : int
        Number of parts. None is empty, unless k > n: then every vertex gets a part of its own; or
        constraints want it so.
    vertex_weights : array of int, shape (n,) or (n, c), optional
        Weights of the vertices, instead of the graph's. Several for each vertex, from 0 on, are
        constraints of their own: every part keeps a limit for each; where that was not found, the
        result's `feasible` is false, and `part_weights` and `limits`, both of shape (k, c), tell
        which. Source: Karypis, Kumar, "Multilevel algorithms for multi-constraint graph
        partitioning", SC 1998.
    edge_weights, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`.
    imbalance : float, or c of them
        Every part may weigh floor((1 + imbalance) * ceil(W / k)), W being the total vertex
        weight. That is kept wherever it can be by putting the next heaviest vertex into the
        lightest part, again and again. Where vertices are too heavy, the result is the most
        balanced partition found and its `feasible` is false. Limits are exact: 1 - 0.9 means 1/10.
    targets : array of numbers, shape (k,), optional
        What parts should weigh, relative to each other: [2, 1, 1, 1] makes the first twice as
        heavy as each of the others. ceil(W / k) is then each part's own share of W, rounded up;
        what is heavy goes to the part with most room left.
    fixed : array of int, shape (n,), optional
        Parts of vertices that have to be there; -1 of others. What they weigh may be above the
        limit: then the result is not feasible, and all other parts are balanced.
    home : array of int, shape (n,), optional
        Parts of vertices so far; -1 of others. They may leave them, at a cost: the cut, plus
        `migration` times the weight of all vertices that do, becomes small.
    migration : float
        What it costs to move a unit of vertex weight, in units of edge weight, from 0 on. Only
        used with `home`.
    objective : {'cut', 'volume'}
        What is to become small: the weight of cut edges, or the communication volume, which is the
        sum over the vertices of how many other parts they have neighbours in; edge weights do not
        count for it. Two partitions are found, of small cuts by the weights of the edges and by
        others, and then improved together, in part on the host. The volume is never larger than
        with 'cut', unless only that keeps no balance.
    connected : bool
        Make every part one connected piece, wherever that is found to be possible without losing
        balance; the cut may become larger. The result's `disconnected` tells why other parts are
        in several. In a graph of c connected components and at least k vertices, all parts together
        have max(k, c) pieces if each part may have the weight of the whole graph and no vertices
        are fixed. Under tighter limits that is tried, but not guaranteed.
    large_imbalance : bool
        Let the imbalance be 1 or more. Without this it is refused: 3, say, would mean 300 %.
    seed : int
        Chooses among equally good decisions, 0..2**31 - 1.
    preset : {'default', 'fast', 'ultra', 'max', 'gkway'}
        How much time to spend for a smaller cut; or the algorithm of G-kway. `max` is `ultra` for
        16 generations.
    coarsening : {'two-hop', 'union-find', 'constrained'}, optional
        How to coarsen, where not as the preset does: pairs of vertices (Jet), subsets of any size
        (G-kway), or groups of up to six vertices (iG-kway).
    refinement : {'jet', 'independent-set'}, optional
        How to refine, where not as the preset does: label propagation (Jet), or independent sets of
        moves that each lower the cut (G-kway).
    generations : int, optional
        How many partitions to find, by the preset's options, or to recombine from two of those
        before; the best of them is the result. By default one, but for `max`. More are never
        worse. Source: Sanders, Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012.
    time_limit : float, optional
        Seconds, above 0: as many generations as they allow, but one at least, and at most
        `generations` where that is given, too. How many there were is the result's `generations`:
        as many without a time limit give the same parts. Reading and compiling are not counted.
    backend : {'auto', 'cpu', 'cuda', 'kokkos-cuda', 'kokkos-openmp', 'kokkos-serial'}
        What runs the kernels. `auto` takes a GPU if one works, else the CPU. It does not start a
        GPU for a graph with fewer than a million vertices and directed edges: the CPU partitions
        it before CUDA has started. It takes the GPU for small graphs, too, if their arrays are
        there, or if this process has used the GPU before. The parts are the same.
    threads : int, optional
        CPU threads; all that the process may use by default.
    device : int or True, optional
        Number of the GPU, as CUDA counts them; by default that on which the arrays of `graph` are,
        or the first. Only for back ends on GPUs: `auto` then takes one of these, or fails. True
        asks for the parts there as well, as the result's `device_parts`.
    progress : bool or callable, optional
        True shows bars, in a notebook, or on standard error if that is a terminal. A callable is
        called as ``progress(stage, done, total)`` with stages compile, coarsen and refine, and,
        for several generations, evolve.
    profile : bool
        Time every kernel and count launches, synchronisations and bytes: see the result's
        `profile`. The parts stay the same; the run takes longer, on a GPU in particular, as
        the host waits for each kernel.

    Raises
    ------
    GraphError
        If `graph` is not a valid graph.
    OptionError
        If an option is out of range or unknown.
    BackendError
        If the back end does not work here; an `OutOfMemoryError` if the memory of the GPU is full.

    Examples
    --------
    >>> import jetpy
    >>> grid = jetpy.generators.grid(20, 20)
    >>> result = jetpy.partition(grid, 4, threads=1)
    >>> result.feasible, result.part_weights.sum()
    (True, np.int64(400))
    """
    columns = vertex_weights if np.ndim(vertex_weights) > 1 else None  # type: ignore[arg-type]
    checked = as_graph(
        graph,
        vertex_weights=vertex_weights if columns is None else None,
        edge_weights=edge_weights,
        weight=weight,
        node_weight=node_weight,
        n=n,
        repair=repair,
        pattern=pattern,
        scale=scale,
    )
    several_weights = None
    if columns is not None:
        from jetpy.problem.multiconstraint import checked_weights, in_one, pose_several

        several_weights = checked_weights(columns, checked.n)
        checked = replace(checked, vertex_weights=in_one(several_weights))
    options = choose(preset, coarsening, refinement)
    effort = choose_effort(options, generations, time_limit)
    kinds = 1 if several_weights is None else several_weights.shape[1]
    imbalances = checked_imbalances(imbalance, kinds, large=large_imbalance)
    total, largest = checked.total_vertex_weight, max(imbalances)
    problem = make_problem(total, k, largest, seed, options, targets, fill=True)
    several = None
    if several_weights is not None:
        check_small(checked, "partition with several vertex weights")
        several = pose_several(several_weights, imbalances, problem.shares)
        if home is not None or connected:
            raise OptionError("several weights cannot be combined with home or connected")
        if objective != "cut":
            raise OptionError("several weights cannot be combined with an objective other than cut")
    shrinks = _shrinks_volume(objective, checked, connected=connected)
    places = check_fixed(checked.n, problem.k, fixed, home, migration)
    reduced, reduced_problem = checked, problem
    if several is None and (connected or shrinks or places is not None):
        reduced, reduced_problem = divided(checked, problem)
    graphs = [reduced]
    if shrinks:
        from jetpy.constraints.objective import of_less_volume, starts_of, with_less_volume

        graphs = starts_of(reduced, reduced_problem, places)
    effort = effort.shared(len(graphs))
    pins = None if k == 1 else places
    terminals = [_terminals(weighted, reduced_problem, pins) for weighted in graphs]

    def reduce_cut(
        engine: Backend, graph: Graph, terminals: TerminalGraph | None, tell: Progress
    ) -> Outcome:
        if several is not None and 1 < k < graph.n:
            from jetpy.constraints.multiconstraint import evolve_several

            pinned = None if places is None else places.fixed
            return evolve_several(engine, graph, problem, several, effort, tell, pinned)
        if terminals is not None:
            with_them = evolve(
                with_required_width(engine, terminals.graph),
                terminals.graph,
                terminals.problem,
                effort,
                tell,
                terminals.pinned,
                terminals.home,
            )
            return terminals.without(with_them)
        trivial = trivial_partition(graph.n, graph.total_edge_weight, problem.k)
        if trivial is not None and problem.targets is not None:
            from jetpy.refinement.packing import one_each

            parts = one_each(graph.vertex_weights, problem.targets, reduced_problem.limits)
            trivial = trivial.with_parts(graph, parts)
        return trivial or evolve(engine, graph, reduced_problem, effort, tell)

    def work(engine: Backend, tell: Progress) -> Outcome:
        bars = [tell, *repeat(no_progress, len(graphs) - 1)]
        found = [reduce_cut(engine, *posed) for posed in zip(graphs, terminals, bars, strict=True)]
        if connected:
            return _with_connected_parts(engine, reduced, reduced_problem, terminals[0], found[0])
        if not shrinks:
            return found[0]
        best = of_less_volume(reduced, reduced_problem, found)
        others = [one for one in found if one is not best]
        return with_less_volume(engine, reduced, reduced_problem, places, best, others)

    result, _ = run(
        work,
        checked,
        problem,
        preset,
        backend=backend,
        threads=threads,
        device=device,
        progress=progress,
        profile=profile,
        effort=effort,
        objective=objective,
    )
    if several is not None:
        result = replace(result, weights=several.weights)
        return replace(result, ideals=several.ideals, limits=several.limits)
    return result if places is None else replace(result, home=places.home)


def refine(
    graph: Any,
    parts: npt.ArrayLike,
    k: int | None = None,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    imbalance: float = 0.03,
    large_imbalance: bool = False,
    targets: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
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

    The result is never worse: if `parts` keeps the balance, so does the result, and its cut (or
    communication volume, as `objective` has it) is at most as large; if it does not, balance is
    sought first.

    Parameters
    ----------
    graph, edge_weights, weight, node_weight, n, imbalance, large_imbalance, targets, objective
    seed, preset, backend, threads, device, repair, pattern, scale, progress, profile
        As for `partition`; the preset `max` is `ultra` here.
    vertex_weights : array of int, shape (n,), optional
        Weights of the vertices, instead of the graph's.
    fixed : array of int, shape (n,), optional
        As for `partition`; these vertices start where they are fixed, whatever `parts` says.
    connected : bool
        As for `partition`: then the cut may become larger than that of `parts`, if these are not
        connected.
    parts : array of int, shape (n,)
        Part of each vertex, 0..k-1.
    k : int, optional
        Number of parts; one more than the largest entry of `parts` by default.
    fill_empty : bool
        Give each empty part a vertex of a part of two or more, after all else: that may enlarge
        the cut.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`; GraphError also where `parts` does not fit the graph or `k`.
    """
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
    given = checked_parts(checked, parts, k)
    count = k if k is not None else int(given.max(initial=0)) + 1
    imbalance = checked_imbalance(imbalance, large=large_imbalance)
    options = preset_options(preset)
    total = checked.total_vertex_weight
    problem = make_problem(total, count, imbalance, seed, options, targets, fill=fill_empty)

    shrinks = _shrinks_volume(objective, checked, connected=connected)
    places = check_fixed(checked.n, problem.k, fixed)
    reduced, reduced_problem = checked, problem
    if connected or shrinks or places is not None:
        reduced, reduced_problem = divided(checked, problem)
    terminals = _terminals(reduced, reduced_problem, places)

    def reduce_cut(engine: Backend, tell: Progress) -> Outcome:
        if count == 1 or checked.n == 0:
            return trivial_outcome(given, 0)
        if terminals is not None:
            start, pinned = terminals.start(given), terminals.pinned
            within = with_required_width(engine, terminals.graph)
            return terminals.without(
                refine_partition(within, terminals.graph, start, terminals.problem, tell, pinned)
            )
        return refine_partition(engine, reduced, given, reduced_problem, tell)

    def work(engine: Backend, tell: Progress) -> Outcome:
        found = reduce_cut(engine, tell)
        if connected:
            return _with_connected_parts(engine, reduced, reduced_problem, terminals, found)
        if not shrinks:
            return found
        from jetpy.constraints.objective import of_less_volume, with_less_volume

        start = given if places is None else np.where(places.fixed == NO_PART, given, places.fixed)
        if fill_empty and len(np.unique(start)) < count:
            best = found
        else:
            best = of_less_volume(
                reduced, reduced_problem, [found, found.with_parts(reduced, start)]
            )
        return with_less_volume(engine, reduced, reduced_problem, places, best)

    result, _ = run(
        work,
        checked,
        problem,
        preset,
        backend=backend,
        threads=threads,
        device=device,
        progress=progress,
        profile=profile,
        objective=objective,
    )
    return result


def _shrinks_volume(objective: Any, graph: Graph, *, connected: bool) -> bool:
    """Return whether an objective is the communication volume; checks it as `checked_objective`."""
    if isinstance(objective, str) and objective == "cut":
        return False
    from jetpy.constraints.objective import checked_objective

    return checked_objective(objective, graph, connected=connected) == "volume"


def _terminals(
    graph: Graph, problem: Problem, places: FixedVertices | None
) -> TerminalGraph | None:
    """Return the graph with a terminal for each part, or None if no vertex has a place."""
    if places is None:
        return None
    from jetpy.constraints.terminals import with_terminals

    return with_terminals(graph, problem, places)


def _with_connected_parts(
    engine: Backend,
    graph: Graph,
    problem: Problem,
    terminals: TerminalGraph | None,
    found: Outcome,
) -> Outcome:
    """Return `found` with connected parts, as `jetpy.constraints.connected.driver` makes them."""
    from jetpy.constraints.connected.driver import with_connected_parts

    return with_connected_parts(engine, graph, problem, terminals, found)
