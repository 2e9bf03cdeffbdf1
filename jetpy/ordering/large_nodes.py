"""Separators of large nodes: all nodes of a depth are coarsened at once, by all threads.

The multilevel method of `jetpy.ordering.dissection` separates the coarsest graphs. On finer levels,
only a band around each separator is refined. Source: Chevalier, Pellegrini, "PT-Scotch: A tool for
efficient parallel graph ordering", Parallel Computing 34 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jetpy.coarsening.constraints import WeightBounds
from jetpy.coarsening.methods import coarsening_of
from jetpy.device.device_graph import DeviceGraph, carry, carry_graph
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.multilevel.projection import inject_parts
from jetpy.ordering.depth import Nodes, Numbers, Vertices
from jetpy.ordering.effort import Effort
from jetpy.ordering.induced_subgraphs import induced, joined
from jetpy.ordering.levels import separator_levels
from jetpy.ordering.tries import Tries, search_of
from jetpy.problem.options import CoarsenOptions
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.common.lists import put
from jetpy.workloads.initial.inner_levels import heaviest_of
from jetpy.workloads.multilevel.projection import project
from jetpy.workloads.ordering import large_nodes as kernels
from jetpy.workloads.ordering.induced_subgraphs import Selection
from jetpy.workloads.ordering.separators import SEPARATOR
from jetpy.workloads.ordering.tries import COARSEST

LARGEST_NODE = 10_000
"""Nodes with more vertices are large."""
LARGEST_COARSE = 5000
"""Coarsening of a node ends at this number of vertices or less."""
HOPS = 8
"""A band has the vertices within this number of hops, or that of a flow if it is larger."""
OPTIONS = CoarsenOptions()
WEIGHTS = [Field.WEIGHTS, Field.WEIGHTS + 1, Field.CUT]
"""Fields with the weights of the sides and of the separator."""


@dataclass(frozen=True, eq=False)
class NodesLevel:
    """A level of all nodes as one graph: node i is the vertices ``starts[i]..starts[i + 1] - 1``.

    `coarse_of` (int32, on the back end) has the vertex on the next level of each vertex of the
    previous, finer one; None on the finest level.
    """

    backend: Backend
    graph: DeviceGraph
    node_of: Array
    starts: Numbers
    coarse_of: Array | None = None

    @property
    def sizes(self) -> Numbers:
        """Number of vertices of each node."""
        return np.diff(self.starts)


def coarsened(
    backend: Backend,
    host: Backend,
    graph: DeviceGraph,
    starts: Numbers,
    weights: Numbers,
    seed: int,
) -> list[NodesLevel]:
    """Coarsen until each node is small; return the levels, from the finest on.

    Levels of at most `host_size` vertices plus directed edges are on the host. `weights` (shape
    (nodes,)) are the weights of the nodes.
    """
    count = len(starts) - 1
    node_of = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
    levels = [NodesLevel(backend, graph, backend.from_host(node_of), starts)]
    while (levels[-1].sizes > LARGEST_COARSE).any():
        salt = (seed + len(levels)) & INT32_MAX
        coarse = _coarser(levels[-1], host, weights, salt)
        if coarse.graph.n > OPTIONS.min_shrink * levels[-1].graph.n:
            break
        levels.append(coarse)
    return levels


def _coarser(level: NodesLevel, host: Backend, weights: Numbers, salt: int) -> NodesLevel:
    """Return the next level; nodes that are small enough stay as they are."""
    backend, graph, count = level.backend, level.graph, len(level.sizes)
    is_done = level.sizes <= LARGEST_COARSE
    heaviest = heaviest_of(int(weights[~is_done].max()), COARSEST)
    labels = backend.empty(graph.n)
    backend.parallel_for(
        graph.n,
        kernels.label_nodes_to_coarsen,
        count=count,
        node_of=level.node_of,
        is_done=backend.from_host(is_done.astype(np.int32)),
        labels=labels,
    )
    coarsen = coarsening_of(graph, OPTIONS)
    coarse, coarse_of = coarsen(backend, graph, OPTIONS, WeightBounds(heaviest), salt, labels)
    node_of = inject_parts(backend, coarse.n, coarse_of, level.node_of)
    smaller = host if coarse.size <= backend.host_size else backend
    coarse, node_of = carry_graph(coarse, backend, smaller), carry(node_of, backend, smaller)
    firsts = smaller.xp.searchsorted(node_of, smaller.xp.arange(count, dtype=np.int32))
    starts = np.append(smaller.to_host(firsts), coarse.n).astype(np.int64)
    return NodesLevel(smaller, coarse, node_of, starts, coarse_of)


@dataclass(frozen=True, eq=False)
class BandGraph:
    """The bands of all candidates of all nodes, as one graph on the host.

    Attributes
    ----------
    slots : int32, shape (n,)
        The slots on the level, ascending, so that the band of a node is consecutive; on the level's
        back end.
    graph : DeviceGraph
        On the host.
    starts : int64, shape (candidates * nodes + 1,)
        First vertex of each band, by candidate and node.
    sides, pinned : int32, shape (n,)
        Side of each vertex, and the side that a vertex at the end of a band may not leave for the
        other one; on the host.
    """

    slots: Array
    graph: DeviceGraph
    starts: Numbers
    sides: Array
    pinned: Array


def band_of(
    level: NodesLevel,
    host: Backend,
    sides: Array,
    hops: int,
    *,
    has_bisections: bool = True,
) -> BandGraph:
    """Return the bands of the vertices within `hops` hops of the candidates' separators or cuts."""
    backend, graph, n = level.backend, level.graph, level.graph.n
    slots, candidates = len(sides), len(sides) // n
    distances, reached = backend.empty(slots), backend.empty(slots)
    search = {"n": n, "graph": graph, "hops": distances}
    backend.parallel_for(
        slots,
        kernels.begin_search,
        has_bisections=int(has_bisections),
        sides=sides,
        **search,
    )
    for hop in range(hops):
        near = {"hop": hop, "reached": reached}
        count = backend.scan(slots, kernels.list_reached, hops=distances, **near)
        backend.parallel_for(count, kernels.reach, **search, **near)
    selection = Selection(n, reached, backend.empty(slots))
    count = backend.scan(slots, kernels.select_band, hops=distances, selection=selection)
    selection = Selection(n, reached[:count], selection.places)
    band_sides, pinned = backend.empty(count), backend.empty(count)
    backend.parallel_for(
        count,
        kernels.pin_ends,
        graph=graph,
        selection=selection,
        sides=sides,
        band_sides=band_sides,
        pinned=pinned,
    )
    firsts = (n * np.arange(candidates)[:, None] + level.starts[:-1]).ravel().astype(np.int32)
    starts = backend.xp.searchsorted(selection.slots, backend.from_host(firsts))
    return BandGraph(
        selection.slots,
        carry_graph(induced(backend, graph, selection), backend, host),
        np.append(backend.to_host(starts), count).astype(np.int64),
        carry(band_sides, backend, host),
        carry(pinned, backend, host),
    )


@dataclass(frozen=True, eq=False)
class LargeNodes:
    """Separates large nodes on any back end; tasks for one thread run on the host."""

    backend: Backend
    host: Backend
    effort: Effort

    def best_of(self, nodes: Nodes, separators: tuple[Array, ...]) -> Array:
        """Refine the separators of some nodes; return the sides by the best one for each node.

        `separators` has sides (int32, shape (n,), on the host).
        """
        host = self.host
        numbers = np.repeat(np.arange(len(nodes), dtype=np.int32), nodes.sizes)
        level = NodesLevel(host, nodes.graph, host.from_host(numbers), nodes.starts)
        sides = host.xp.concatenate(separators)
        weights = _side_weights(level, host.to_host(sides))
        options = {"is_finest": True, "has_bisections": False}
        _, best = self._refine(level, sides, weights, nodes.seeds, **options)
        return self._chosen(level, sides, best)

    def separate(self, nodes: Nodes, chosen: Numbers, sides: Array) -> None:
        """Write the sides of the vertices of the chosen nodes, on the host."""
        backend, graph, weights, seeds = self.backend, nodes.on_backend, nodes.weights, nodes.seeds
        assert graph is not None
        if len(chosen) == len(nodes):
            np.copyto(sides, self._separators(graph, nodes.starts, weights, seeds))
            return
        members = np.flatnonzero(nodes.members(chosen))
        graph = joined(backend, graph, backend.from_host(members.astype(np.int32)))
        starts = np.append(0, np.cumsum(nodes.sizes[chosen]))
        sides[members] = self._separators(graph, starts, weights[chosen], seeds[chosen])

    def _separators(
        self, graph: DeviceGraph, starts: Numbers, weights: Numbers, seeds: Numbers
    ) -> Vertices:
        """Return the side of each vertex."""
        backend, host, seed = self.backend, self.host, int(seeds[0]) & INT32_MAX
        own_seeds = seed + self.effort.tries * np.arange(len(seeds))
        levels = coarsened(backend, host, graph, starts, weights, seed)
        coarse = levels.pop()
        coarsest_sides = self._separate_coarsest(coarse, weights, seeds)
        if not levels:
            return host.to_host(coarsest_sides)
        side_weights = _side_weights(coarse, host.to_host(coarsest_sides))
        sides = carry(coarsest_sides, host, coarse.backend)
        while levels:
            fine = levels.pop()
            sides = projected(coarse, fine, sides)
            coarse = fine
            if len(levels) % self.effort.step == 0:
                side_weights, best = self._refine(
                    fine, sides, side_weights, own_seeds, is_finest=not levels
                )
        return backend.to_host(self._chosen(coarse, sides, best))

    def _chosen(self, level: NodesLevel, sides: Array, best: Array) -> Array:
        """Return the sides of the vertices of a level by the best candidate of each node."""
        backend, n = level.backend, level.graph.n
        result = backend.empty(n)
        chosen = {"best": carry(best, self.host, backend), "node_of": level.node_of}
        backend.parallel_for(n, kernels.take_best, n=n, sides=sides, result=result, **chosen)
        return result

    def _separate_coarsest(self, level: NodesLevel, weights: Numbers, seeds: Numbers) -> Array:
        """Return the sides of the vertices of the coarsest level, on the host.

        Those are the sides by each candidate, or by the best one if there is only this level.
        """
        host, effort = self.host, self.effort
        graph = carry_graph(level.graph, level.backend, host)
        nodes = Nodes(graph, level.starts, weights, seeds, None)
        n, every = nodes.graph.n, np.arange(len(nodes))
        is_last = level.coarse_of is None
        count = 1 if is_last else effort.tries
        sides = host.empty(count * n)
        counts = np.full(len(every), effort.tries)
        if is_last:
            Tries(host, graph, nodes, effort, every, counts).separate(sides)
        else:
            Tries(host, graph, nodes, replace(effort, skew=0), every, counts).propose(sides)
        return sides

    def _refine(
        self,
        level: NodesLevel,
        sides: Array,
        side_weights: Numbers,
        seeds: Numbers,
        *,
        is_finest: bool,
        has_bisections: bool = True,
    ) -> tuple[Numbers, Array]:
        """Refine the candidates of a level in bands, in place.

        With `has_bisections`, every other candidate is a bisection until the finest level.
        Return the weights of their sides (int64, shape (nodes, candidates, 3)), and on the finest
        level the best candidate of each node (int32, shape (nodes,), on the host).
        """
        host, effort, backend = self.host, self.effort, level.backend
        count, candidates = side_weights.shape[:2]
        tasks = count * candidates
        hops, both = max(HOPS, effort.hops), {"candidates": candidates}
        slots, starts, given = _arrays_of(
            band_of(level, host, sides, hops, has_bisections=has_bisections)
        )
        levels = separator_levels(host, len(slots) + 1, len(given["ends"]), tasks, **given)
        search = search_of(host, effort if is_finest else replace(effort, skew=0), candidates)
        refined = {"search": search, "levels": levels, "other": levels.other}
        host.run_tasks(
            tasks,
            kernels.refine_bands,
            is_finest=int(is_finest),
            candidates=kernels.Candidates(
                candidates,
                count,
                int(has_bisections),
                host.from_host(seeds),
                host.from_host(starts),
                host.from_host(side_weights.ravel()),
            ),
            **refined,
        )
        best = host.full(count, 0)
        if is_finest and search.flows:
            bands = levels.bands
            for _ in range(search.flows):
                select = {"levels": levels, "bands": bands.bands}
                host.run_tasks(count, kernels.select_candidates, **select, **both)
                host.run_tasks(tasks, kernels.improve_candidates, bands=bands, **refined)
        if is_finest:
            host.run_tasks(count, kernels.find_best, best=best, levels=levels, **both)
        backend.parallel_for(
            len(slots),
            put,
            values=sides,
            places=slots,
            given=carry(levels.sides, host, backend),
        )
        rows = host.to_host(levels.numbers).reshape(tasks, Field.COUNT)
        after = rows[:, WEIGHTS].reshape(side_weights.shape)
        if not is_finest:
            after[:, ::2, SEPARATOR] = 0  # a cut, because these candidates are bisections
        return after, best


def projected(coarse: NodesLevel, fine: NodesLevel, sides: Array) -> Array:
    """Return the sides of the vertices of the finer level by each candidate."""
    n, coarse_n, backend = fine.graph.n, coarse.graph.n, fine.backend
    sides = carry(sides, coarse.backend, backend)
    result = backend.empty(len(sides) // coarse_n * n)
    for candidate in range(len(sides) // coarse_n):
        backend.parallel_for(
            n,
            project,
            coarse_of=coarse.coarse_of,
            coarse_parts=sides[candidate * coarse_n : (candidate + 1) * coarse_n],
            parts=result[candidate * n : (candidate + 1) * n],
        )
    return result


def _arrays_of(band: BandGraph) -> tuple[Array, Numbers, dict[str, Array]]:
    """Return the slots of bands, their starts, and their 32-bit arrays by name in `Separations`.

    Nothing else of the bands is needed, so their 64-bit arrays can be freed.
    """
    graph = band.graph
    own = {
        "rows": graph.indptr,
        "weights": graph.vertex_weights,
        "edge_weights": graph.edge_weights,
    }
    given = {name: array.astype(np.int32, copy=False) for name, array in own.items()}
    given |= {"ends": graph.indices, "sides": band.sides, "pinned": band.pinned}
    return band.slots, band.starts, given


def _side_weights(level: NodesLevel, sides: Vertices) -> Numbers:
    """Return the weights of sides and separators: int64, shape (nodes, candidates, 3)."""
    parts, count, n = SEPARATOR + 1, len(level.sizes), level.graph.n
    candidates = len(sides) // n
    weights = np.tile(level.backend.to_host(level.graph.vertex_weights), candidates)
    node_of = np.repeat(np.arange(count), level.sizes)
    bands = node_of * candidates + np.arange(candidates)[:, None]
    bins = bands.ravel() * parts + sides
    sums = np.bincount(bins, weights, parts * candidates * count).astype(np.int64)
    return sums.reshape(count, candidates, parts)
