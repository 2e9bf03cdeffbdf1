"""What all kinds of problems draw: graphs, numbers of parts, options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from jetpy.coarsening.methods import COARSENINGS
from jetpy.graph import INT32_MAX, Graph
from jetpy.presets import PRESETS
from jetpy.problem import SEEDS
from jetpy.refinement.methods import REFINEMENTS
from tests.fuzz.oracles import Finding
from tests.fuzz.structures import STRUCTURES, WEIGHTS, Random, graph

IMBALANCES = (0.0, 0.01, 0.03, 0.03, 0.1, 0.1, 0.5, 3.0, 100.0)
Item = TypeVar("Item")
Engine = dict[str, Any]
"""Back end and threads, as the functions of jetpy take them."""


class Problem(Protocol):
    """A random problem; as text it says what it is."""

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        """Solve it on each engine, which must agree, and check the result of the first."""
        ...


def one_of(rng: Random, items: Sequence[Item]) -> Item:
    return items[int(rng.integers(len(items)))]


def any_graph(rng: Random, *, most: int = INT32_MAX, largest: int = 3000) -> Graph:
    """Return a graph, in nine of ten cases of a few hundred vertices at most."""
    top = largest if rng.random() < 0.1 else min(largest, 400)
    vertices, edges = (
        "unit" if rng.random() < 0.3 else one_of(rng, list(WEIGHTS)) for _ in range(2)
    )
    n = int(np.exp(rng.uniform(0, np.log(top))))
    return graph(rng, one_of(rng, list(STRUCTURES)), n, vertices, edges, most=most)


def any_k(rng: Random, n: int) -> int:
    """Return a number of parts up to n + 5: few, any, or with one or two vertices a part."""
    near = int(rng.integers(-3, 4))
    anything = int(rng.integers(1, n + 6))
    k = one_of(rng, [2, 3, 8, 32, anything, n // 2 + near, n // 3, n + near])
    return max(1, min(k, n + 5))


def any_goal(rng: Random) -> dict[str, Any]:
    goal = {"imbalance": one_of(rng, IMBALANCES), "seed": int(rng.integers(SEEDS))}
    return {**goal, "large_imbalance": True} if goal["imbalance"] >= 1 else goal


def any_methods(rng: Random) -> dict[str, Any]:
    return {
        "preset": one_of(rng, list(PRESETS)),
        "coarsening": one_of(rng, [None, *COARSENINGS]),
        "refinement": one_of(rng, [None, *REFINEMENTS]),
    }


def spelled(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
