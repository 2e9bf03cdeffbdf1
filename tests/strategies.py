"""Random graphs for hypothesis."""

from __future__ import annotations

import random
from itertools import combinations

from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from tests.graphs import from_edges


@st.composite
def weighted_graphs(draw: st.DrawFn, least: int = 1, most: int = 16) -> Graph:
    """Draw up to `most` vertices, random edges, and small weights, so that ratings often tie.

    Some graphs have weights of 0.
    """
    n = draw(st.integers(least, most))
    pairs = list(combinations(range(n), 2))
    count = draw(st.integers(0, min(len(pairs), 3 * n)))
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))
    edges = rng.sample(pairs, count)
    heaviest, lightest = draw(st.sampled_from([1, 3, 9])), draw(st.integers(0, 1))
    return from_edges(
        n,
        edges,
        [rng.randint(lightest, heaviest) for _ in edges],
        [rng.randint(lightest, heaviest) for _ in range(n)],
    )
