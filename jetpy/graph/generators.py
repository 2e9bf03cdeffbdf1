"""Synthetic graphs: regular meshes, random geometry, skewed degrees, roads.

The same parameters always give the same graph. All weights are 1. All generators but `rmat`
provide coordinates, which they recompute on demand. `GENERATORS` maps the name of each kind to
its function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import OptionError
from jetpy.graph.checks import integer
from jetpy.graph.coordinates import Coordinates, Locate
from jetpy.graph.csr import INT32_MAX, MAX_ENTRIES, Graph

Point = tuple[int, ...]

_RMAT = (0.57, 0.19, 0.19)  # probabilities of three quadrants of the matrix, as in Graph500
_ROAD_DEGREE = 2.5  # average, as in real road networks


def grid(rows: int, cols: int) -> Graph:
    """Mesh of `rows` by `cols` vertices, each joined to its up to 4 neighbours."""
    return _lattice((rows, cols), f"grid-{rows}x{cols}")


def cube(a: int, b: int, c: int, neighbours: int = 6) -> Graph:
    """Mesh of `a` by `b` by `c` vertices, each joined to its up to 6 or 26 neighbours.

    Parameters
    ----------
    a, b, c : int
        Numbers of vertices along the axes.
    neighbours : int
        6 joins vertices at distance 1. 26 also joins those across the diagonals of squares and
        cubes, as in the matrix of a 27-point stencil or of trilinear finite elements.
    """
    if integer("neighbours", neighbours) not in (6, 26):
        raise OptionError(f"neighbours is {neighbours}; it must be 6 or 26")
    if neighbours == 6:
        return _lattice((a, b, c), f"cube-{a}x{b}x{c}")
    around = [step for step in product((-1, 0, 1), repeat=3) if any(step)]
    return _stencil((a, b, c), {(0, 0, 0): around}, 1, f"cube-{a}x{b}x{c}-26")


def tetrahedra(a: int, b: int, c: int) -> Graph:
    """Nodes of a box of `a` by `b` by `c` cells, each cut into six quadratic tetrahedra.

    The nodes are the vertices and the midpoints of the edges of the tetrahedra. Nodes of the same
    tetrahedron are joined, as in the matrix of quadratic finite elements. There are
    ``(2 a + 1) (2 b + 1) (2 c + 1)`` nodes. Inner nodes have 18, 26 or 64 neighbours.
    """
    for extent in (a, b, c):
        _require("each side", extent, 1)
    shape = (2 * a + 1, 2 * b + 1, 2 * c + 1)
    return _stencil(shape, _quadratic_tetrahedra(), 2, f"tetrahedra-{a}x{b}x{c}")


def delaunay(n: int, seed: int = 0) -> Graph:
    """Delaunay triangulation of `n` random points in the unit square, n >= 3."""
    locate = partial(_random_points, n, seed)
    return _graph(_delaunay_matrix(n, seed), f"delaunay-{n}-s{seed}", locate)


def random_geometric(
    n: int, seed: int = 0, radius: float | None = None, spatial_order: bool = False
) -> Graph:
    """Random points in the unit square, joined when closer than a radius; largest component.

    Parameters
    ----------
    n : int
        Number of points; the component has a few vertices fewer.
    seed : int
        Seed of the random points.
    radius : float, optional
        The default is ``0.55 * sqrt(log(n) / n)``, close to the connectivity threshold.
    spatial_order : bool
        Number the points by the cells of a square grid instead of at random.
    """
    _require("n", n, 2)
    if radius is None:
        radius = 0.55 * math.sqrt(math.log(n) / n)
    if not 0 < radius < math.inf:
        raise OptionError(f"radius is {radius}; it must be positive and finite")
    from scipy.spatial import cKDTree

    locate = partial(_random_points, n, seed, cell=radius if spatial_order else None)
    pairs = cKDTree(locate()).query_pairs(radius, output_type="ndarray")
    matrix = _symmetric(n, pairs[:, 0], pairs[:, 1])
    matrix, kept = _largest_component(matrix)
    return _graph(matrix, f"rgg-{n}-s{seed}", partial(locate, kept=kept))


def rmat(scale: int, edge_factor: int = 16, seed: int = 0) -> Graph:
    """Recursive-matrix graph with skewed degrees (Chakrabarti et al.); largest component.

    Parameters
    ----------
    scale : int
        There are ``2**scale`` vertices before small components are left out, scale <= 30.
    edge_factor : int
        Edges drawn per vertex, before self-loops and duplicates are dropped.
    seed : int
        Seed of the random edges and of the random order of the vertices.
    """
    _require("scale", scale, 1)
    _require("edge_factor", edge_factor, 1)
    _require_size(max(1 << min(scale, 62), 2 * edge_factor << min(scale, 62)))
    rng = np.random.default_rng(seed)
    n, m = 1 << scale, edge_factor << scale
    a, b, c = _RMAT
    u, v = np.zeros(m, np.int32), np.zeros(m, np.int32)
    for _ in range(scale):
        for start in range(0, m, 1 << 16):  # blocks that fit a cache
            block = slice(start, start + (1 << 16))
            x = rng.random(len(u[block]))
            lower = x >= a + b
            u[block] += u[block] + lower
            v[block] += v[block] + ((x >= a) ^ lower | (x >= a + b + c))
    number = rng.permutation(n).astype(np.int32)
    matrix = _symmetric(n, number[u], number[v])
    return _graph(_largest_component(matrix)[0], f"rmat-{scale}-{edge_factor}-s{seed}")


def road(n: int, seed: int = 0) -> Graph:
    """Road-like graph: a random spanning tree of a Delaunay triangulation and some more edges.

    The average degree is about 2.5, n >= 3, and the graph is connected.
    """
    triangulation = sp.triu(_delaunay_matrix(n, seed), format="csr")
    u, v = triangulation.nonzero()
    rng = np.random.default_rng(seed + 1)
    lengths = rng.random(len(u)) + 1e-9
    from scipy.sparse import csgraph

    tree = csgraph.minimum_spanning_tree(sp.csr_array((lengths, (u, v)), shape=(n, n))).tocoo()
    extra = int(_ROAD_DEGREE * n / 2) - tree.nnz
    picked = rng.choice(len(u), min(4 * extra, len(u)), replace=False)
    keys = u[picked].astype(np.int64) * n + v[picked]
    tree_keys = tree.row.astype(np.int64) * n + tree.col
    keys = keys[~np.isin(keys, tree_keys)][:extra]
    matrix = _symmetric(n, np.r_[tree.row, keys // n], np.r_[tree.col, keys % n])
    matrix, kept = _largest_component(matrix)
    return _graph(matrix, f"road-{n}-s{seed}", partial(_random_points, n, seed, kept))


def thinned_delaunay(n: int, seed: int = 0, keep: float = 0.42) -> Graph:
    """Delaunay triangulation that keeps each edge with probability `keep`; largest component."""
    if not 0 < keep <= 1:
        raise OptionError(f"keep is {keep}; it must be above 0 and at most 1")
    u, v = sp.triu(_delaunay_matrix(n, seed), format="csr").nonzero()
    chosen = np.random.default_rng(seed).random(len(u)) < keep
    matrix = _symmetric(n, u[chosen], v[chosen])
    matrix, kept = _largest_component(matrix)
    return _graph(matrix, f"thinned-{n}-s{seed}", partial(_random_points, n, seed, kept))


GENERATORS: dict[str, Callable[..., Graph]] = {
    "grid": grid,
    "cube": cube,
    "tetrahedra": tetrahedra,
    "delaunay": delaunay,
    "rgg": random_geometric,
    "rmat": rmat,
    "road": road,
    "thinned": thinned_delaunay,
}
"""Maps the name of each kind of graph to its generator function."""


def _lattice(shape: tuple[int, ...], name: str) -> Graph:
    """Return a lattice whose vertices are joined at distance 1."""
    axes = range(len(shape))
    steps = [tuple(sign * (i == axis) for i in axes) for axis in axes for sign in (-1, 1)]
    return _stencil(shape, {(0,) * len(shape): steps}, 1, name)


def _stencil(
    shape: tuple[int, ...], steps: Mapping[Point, Iterable[Point]], period: int, name: str
) -> Graph:
    """Return a graph on a lattice whose stencil is periodic.

    Parameters
    ----------
    shape : tuple of int
        Numbers of lattice points along the axes; the last axis has consecutive vertices.
    steps : mapping of points to points
        A lattice point equal to a key modulo `period` is joined to the points at these steps from
        it that are in the lattice.
    period : int
    name : str
    """
    for extent in shape:
        _require("each side", extent, 1)
    n = math.prod(shape)
    columns = sorted({step for own in steps.values() for step in own})  # in the order of ids
    _require_size(len(columns) * n, MAX_ENTRIES)
    exists = np.zeros((*shape, len(columns)), bool)
    for residue, own in steps.items():
        for step in own:
            inside = tuple(map(partial(_inside, period), residue, step, shape))
            exists[inside][..., columns.index(step)] = True
    mask = exists.reshape(n, -1)
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    offsets = (np.array(columns) @ strides).astype(np.int32)
    neighbours = (np.arange(n, dtype=np.int32)[:, None] + offsets)[mask]
    kind: Any = np.int32 if len(neighbours) <= INT32_MAX else np.int64
    indptr = np.concatenate(([0], np.cumsum(mask.sum(axis=1, dtype=np.int32)))).astype(kind)
    weights = np.ones_like(neighbours), np.ones(n, np.int32)
    return Graph(indptr, neighbours, *weights, name, locate=partial(_lattice_points, shape))


def _inside(period: int, residue: int, step: int, extent: int) -> slice:
    """Return the places of this residue modulo `period` from which a step stays in 0..extent-1."""
    skipped = -(min(0, residue + step) // period)
    return slice(residue + period * skipped, extent - max(0, step), period)


def _quadratic_tetrahedra() -> dict[Point, set[Point]]:
    """Return the stencil of a cell cut into six quadratic tetrahedra, with period 2.

    A cell has side 2, so that midpoints of edges are lattice points. A tetrahedron follows the
    axes in one order from corner (0, 0, 0) to (2, 2, 2) (Freudenthal's or Kuhn's subdivision).
    Every lattice point is a node, because each square and each cell has one diagonal.
    """
    steps: dict[Point, set[Point]] = {}
    for order in permutations(range(3)):
        corners = np.array([[int(axis in order[:i]) for axis in range(3)] for i in range(4)])
        nodes = [corners[i] + corners[j] for i in range(4) for j in range(i, 4)]
        for one, other in permutations(nodes, 2):
            step: Point = tuple((other - one).tolist())
            steps.setdefault(tuple((one % 2).tolist()), set()).add(step)
    return steps


def _lattice_points(shape: tuple[int, ...]) -> Coordinates:
    """Return lattice points in the smallest unsigned integer type; the last axis is x."""
    places = np.indices(shape, np.min_scalar_type(max(shape) - 1))
    return places.reshape(len(shape), -1)[::-1].T


def _random_points(
    n: int, seed: int, kept: npt.NDArray[np.bool_] | None = None, cell: float | None = None
) -> Coordinates:
    """Return random points in the unit square, float64, shape (n, 2).

    Parameters
    ----------
    n, seed : int
    kept : bool, shape (n,), optional
        Selects points after sorting.
    cell : float, optional
        Side of the grid cells by which the points are sorted; by default they are not sorted.
    """
    points = np.random.default_rng(seed).random((n, 2))
    if cell is not None:
        cells = np.floor(points / cell).astype(np.int64)
        points = points[np.lexsort((cells[:, 1], cells[:, 0]))]
    return points if kept is None else points[kept]


def _delaunay_matrix(n: int, seed: int) -> Any:
    from scipy.spatial import Delaunay

    _require("n", n, 3)
    _require_size(6 * n)
    corners = Delaunay(_random_points(n, seed)).simplices
    return _symmetric(n, corners.ravel(), np.roll(corners, 1, axis=1).ravel())


def _symmetric(n: int, u: npt.NDArray[Any], v: npt.NDArray[Any]) -> Any:
    """Return the boolean adjacency matrix: no self-loops, no duplicates, rows sorted."""
    proper = u != v
    ends = u[proper].astype(np.int32), v[proper].astype(np.int32)
    half = sp.coo_array((np.ones(len(ends[0]), bool), ends), shape=(n, n)).tocsr()
    return half + half.T.tocsr()


def _largest_component(matrix: Any) -> tuple[Any, npt.NDArray[np.bool_] | None]:
    """Return the matrix of the largest component, and a mask of its vertices.

    The mask is None if the graph is connected.
    """
    from scipy.sparse import csgraph

    count, label = csgraph.connected_components(matrix, directed=False)
    if count == 1:
        return matrix, None
    keep = label == np.argmax(np.bincount(label))
    rows = matrix[keep]
    number = np.cumsum(keep, dtype=np.int32) - np.int32(1)
    n = rows.shape[0]
    return sp.csr_array((rows.data, number[rows.indices], rows.indptr), shape=(n, n)), keep


def _graph(matrix: Any, name: str, locate: Locate | None = None) -> Graph:
    indptr, indices = (a.astype(np.int32, copy=False) for a in (matrix.indptr, matrix.indices))
    ones = np.ones(matrix.shape[0], np.int32)
    return Graph(indptr, indices, np.ones_like(indices), ones, name, locate=locate)


def _require(what: str, value: int, least: int) -> None:
    if integer(what, value) < least:
        raise OptionError(f"{what} is {value}; it must be at least {least}")


def _require_size(entries: int, most: int = INT32_MAX) -> None:
    if entries > most:
        raise OptionError(
            f"the graph would have more than {most} directed edges, which is the limit"
        )
