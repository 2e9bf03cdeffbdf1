"""Random graphs and weights, built without the code under test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import INT32_MAX, Graph
from tests.fuzz.choices import Random

Ints = npt.NDArray[np.int64]
Shape = tuple[int, Ints]
"""Number of vertices, and pairs of vertices, shape (m, 2); loops and duplicates are ignored."""


def _joined(u: npt.ArrayLike, v: npt.ArrayLike) -> Ints:
    return np.stack(np.broadcast_arrays(np.asarray(u, np.int64), v), axis=-1).reshape(-1, 2)


def _all_pairs(members: Ints) -> Ints:
    return _joined(members[:, None], members[None, :])


def isolated(rng: Random, n: int) -> Shape:
    return n, np.zeros((0, 2), np.int64)


def path(rng: Random, n: int) -> Shape:
    return n, _joined(np.arange(n - 1), np.arange(1, n))


def cycle(rng: Random, n: int) -> Shape:
    return n, _joined(np.arange(n), np.roll(np.arange(n), 1))


def star(rng: Random, n: int) -> Shape:
    return n, _joined(0, np.arange(n))


def hubs(rng: Random, n: int) -> Shape:
    """Join a few vertices to most others."""
    ends = [_joined(hub, rng.permutation(n)[: n - n // 8]) for hub in range(rng.integers(2, 6))]
    return n + 5, np.concatenate(ends)


def clique(rng: Random, n: int) -> Shape:
    n = min(n, 64)
    return n, _all_pairs(np.arange(n))


def barbell(rng: Random, n: int) -> Shape:
    """Join two cliques by a path."""
    size = min(n // 3, 40)
    ends = [_all_pairs(np.arange(size)), _all_pairs(np.arange(n - size, n))]
    return n, np.concatenate([*ends, path(rng, n)[1]])


def grid(rng: Random, n: int) -> Shape:
    rows = int(rng.integers(1, max(2, np.sqrt(n)) + 1))
    places = np.arange(rows * (n // rows or 1)).reshape(rows, -1)
    along = _joined(places[:, :-1], places[:, 1:])
    return places.size, np.concatenate([along, _joined(places[:-1], places[1:])])


def mesh(rng: Random, n: int) -> Shape:
    """Add a diagonal to most cells of a grid."""
    side = max(1, int(np.sqrt(n)))
    places = np.arange(side * side).reshape(side, -1)
    diagonals = _joined(places[:-1, :-1], places[1:, 1:])
    along = [_joined(places[:, :-1], places[:, 1:]), _joined(places[:-1], places[1:])]
    return places.size, np.concatenate([*along, diagonals[rng.random(len(diagonals)) < 0.8]])


def tree(rng: Random, n: int) -> Shape:
    children = np.arange(1, n)
    return n, _joined(children, (rng.random(n - 1) * children).astype(np.int64))


def caterpillar(rng: Random, n: int) -> Shape:
    """Add leaves to the vertices of a path."""
    spine = int(rng.integers(1, n + 1))
    leaves = np.arange(spine, n)
    return n, np.concatenate([path(rng, spine)[1], _joined(leaves, leaves % spine)])


def bipartite(rng: Random, n: int) -> Shape:
    """Join two sides, completely with a small side, or randomly."""
    if rng.random() < 0.5:
        few = int(rng.integers(1, 6))
        return n + few, _joined(np.arange(few)[:, None], np.arange(few, n + few)[None, :])
    m = int(n * rng.uniform(1, 5))
    return 2 * n, _joined(rng.integers(n, size=m), n + rng.integers(n, size=m))


def components(rng: Random, n: int) -> Shape:
    """Return many small components of a few kinds."""
    kinds = [isolated, path, cycle, star, clique, tree]
    pieces, size = [np.zeros((0, 2), np.int64)], 0
    while size < n:
        kind = kinds[rng.integers(len(kinds))]
        count, pairs = kind(rng, int(rng.integers(1, 9)))
        pieces.append(pairs + size)
        size += count
    return size, np.concatenate(pieces)


def random(rng: Random, n: int) -> Shape:
    return n, rng.integers(n, size=(int(n * rng.uniform(0.3, 8)), 2))


def half_isolated(rng: Random, n: int) -> Shape:
    return 2 * n, 2 * random(rng, n)[1]


def power_law(rng: Random, n: int) -> Shape:
    """Draw endpoints in proportion to expected degrees (Chung and Lu)."""
    share = (1.0 + np.arange(n)) ** -rng.uniform(0.5, 1.0)
    return n, rng.choice(n, (int(n * rng.uniform(1, 6)), 2), p=share / share.sum())


def rmat(rng: Random, n: int) -> Shape:
    scale = max(1, int(np.log2(n)))
    quadrants = rng.choice(4, (int(rng.integers(1, 9)) << scale, scale), p=[0.57, 0.19, 0.19, 0.05])
    bits = 1 << np.arange(scale)
    return 1 << scale, _joined((quadrants >> 1) @ bits, (quadrants & 1) @ bits)


def modules(rng: Random, n: int) -> Shape:
    """Return random modules with a hub each, and few edges between them."""
    size = min(n, int(rng.integers(8, 60)))
    v = np.arange(n)
    first = v // size * size
    near = np.minimum(first + rng.integers(size, size=(3, n)), n - 1)
    ends = [_joined(v, near[0]), _joined(v, near[1]), _joined(first, near[2])[rng.random(n) < 0.5]]
    return n, np.concatenate([*ends, rng.integers(n, size=(n // 10, 2))])


STRUCTURES: dict[str, Callable[[Random, int], Shape]] = {
    "empty": lambda rng, n: isolated(rng, 0),
    "single": lambda rng, n: isolated(rng, 1),
    **{
        make.__name__: make
        for make in (
            *(isolated, path, cycle, star, hubs, clique, barbell, grid, mesh, tree, caterpillar),
            *(bipartite, components, random, half_isolated, power_law, rmat, modules),
        )
    },
}


def heavy(rng: Random, count: int, most: int) -> Ints:
    """Return unit weights except for one or two."""
    result = np.ones(count, np.int64)
    result[rng.integers(count, size=rng.integers(1, 3))] = rng.choice([10, count, most // 4])
    return result


def pareto(rng: Random, count: int, most: int) -> Ints:
    return np.minimum(1 + rng.pareto(rng.uniform(0.8, 2), count), most).astype(np.int64)


def full(rng: Random, count: int, most: int) -> Ints:
    """Return weights with the maximum sum."""
    shares = rng.random(count) ** rng.choice([1, 4])
    result = 1 + (shares / shares.sum() * (most - count)).astype(np.int64)
    result[result.argmin()] += most - result.sum()
    return result


def with_zeros(rng: Random, count: int, most: int) -> Ints:
    """Return weights; some, half or nearly all of them are 0."""
    return rng.integers(1, 101, count) * (rng.random(count) < rng.choice([0.05, 0.5, 0.9]))


WEIGHTS: dict[str, Callable[[Random, int, int], Ints]] = {
    "unit": lambda rng, count, most: np.ones(count, np.int64),
    "equal": lambda rng, count, most: np.full(count, rng.choice([2, 3, 1000, most // count])),
    "multiples": lambda rng, count, most: rng.choice([6, 1000]) * rng.integers(1, 5, count),
    "two": lambda rng, count, most: rng.choice(rng.integers(1, 12, 2), count),
    "small": lambda rng, count, most: rng.integers(1, 101, count),
    "heavy": heavy,
    "pareto": pareto,
    "full": full,
    "with zeros": with_zeros,
    "zeros": lambda rng, count, most: np.zeros(count, np.int64),
}
"""Functions of the number of weights and their maximum sum."""


def weights(rng: Random, kind: str, count: int, most: int) -> Ints:
    """Return weights below 2**31, scaled down if their sum is too large; only 0 stays 0."""
    if count == 0:
        return np.zeros(0, np.int64)
    found = np.minimum(WEIGHTS[kind](rng, count, most), INT32_MAX)
    total = int(found.sum())
    if total <= most:
        return found
    return (found > 0) + (found * ((most - count) / total)).astype(np.int64)


def graph(
    rng: Random, structure: str, n: int, vertices: str, edges: str, *, most: int = INT32_MAX
) -> Graph:
    """Return a graph with about `n` vertices, a structure and kinds of weights by name.

    Half of the graphs have randomly permuted vertices. The weights sum to at most `most`.
    """
    size, pairs = STRUCTURES[structure](rng, n)
    if rng.random() < 0.5:
        pairs = rng.permutation(size)[pairs]
    low, high = np.sort(pairs, axis=1).T
    edge = np.unique((low * size + high)[low < high])
    edge_weights = weights(rng, edges, len(edge), most // 2)
    ends = np.stack(np.divmod(edge, size or 1))
    sources, targets = np.concatenate([ends, ends[::-1]], axis=1)
    order = np.lexsort((targets, sources))
    return Graph(
        np.searchsorted(sources[order], np.arange(size + 1)).astype(np.int32),
        targets[order].astype(np.int32),
        np.tile(edge_weights, 2)[order].astype(np.int32),
        weights(rng, vertices, size, most).astype(np.int32),
        f"{structure}{size}, vertices {vertices}, edges {edges}",
    )
