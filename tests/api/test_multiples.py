"""Vertex weights with a common factor get the parts of the weights divided by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import jetpy
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
Found = tuple[npt.NDArray[np.int32], Any]
"""Parts and their limits."""


def with_homes(graph: Graph, weights: np.ndarray) -> Found:
    home = np.arange(graph.n) * 5 % 7
    result = jetpy.partition(
        graph, 7, vertex_weights=weights, home=home, migration=0, preset="fast", **ENGINE
    )
    return result.parts, result.limits


def with_several_weights(graph: Graph, weights: np.ndarray) -> Found:
    """Multiply the second weight of every vertex, but not the first."""
    both = np.stack([np.arange(graph.n) % 5, weights], axis=1)
    result = jetpy.partition(graph, 7, vertex_weights=both, preset="fast", **ENGINE)
    return result.parts, result.limits[:, 1]


def mapped(graph: Graph, weights: np.ndarray) -> Found:
    result = jetpy.map_processes(
        graph, [3, 3, 2], [1, 5, 20], method="hm", vertex_weights=weights, **ENGINE
    )
    return result.pe, result.partition.limits


def in_a_session(graph: Graph, weights: np.ndarray) -> Found:
    weighted = replace(graph, vertex_weights=weights.astype(np.int32))
    live = jetpy.IncrementalPartitioner(weighted, 7, preset="fast", **ENGINE)
    return live.partition, live.limit


@pytest.mark.parametrize(
    ("call", "seed", "factor"),
    [
        (with_homes, 1, 10),
        (with_homes, 4, 7),
        (with_several_weights, 8, 7),
        (mapped, 3, 7),
        (mapped, 10, 10),
        (in_a_session, 2, 10),
        (in_a_session, 4, 7),
    ],
)
def test_common_factor_of_weights_does_not_change_parts(
    call: Callable[[Graph, np.ndarray], Found], seed: int, factor: int
) -> None:
    """In these cases the limits, which are rounded down, are equal in units of the factor, too."""
    graph = delaunay(600, seed=seed)
    weights = np.random.default_rng(seed).integers(1, 9, graph.n)
    parts, limits = call(graph, weights)
    same, multiples = call(graph, factor * weights)
    assert np.array_equal(multiples // factor, limits)
    assert np.array_equal(same, parts)
