"""Weights with a common divisor give the parts of the weights divided by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.checks import Finding, equal
from tests.fuzz.draws import Engine
from tests.fuzz.oracles import Numbers, Parts


def divided(
    problem: Any, parts: Parts, limits_of: Callable[[int], Numbers], engine: Engine
) -> Iterator[Finding]:
    """Compare the parts of a problem with those of the divided weights.

    The limits of the divided weights may be different, as they are rounded; then nothing is
    checked.
    """
    graph = problem.graph
    divisor = int(np.gcd.reduce(graph.vertex_weights, initial=0))
    if divisor <= 1:
        return
    less = replace(graph, vertex_weights=graph.vertex_weights // np.int32(divisor))
    limits = (limits_of(one.total_vertex_weight) for one in (graph, less))
    if np.array_equal(next(limits) // divisor, next(limits)) and less.is_large == graph.is_large:
        other = replace(problem, graph=less).parts(engine)
        yield equal("weights are divided", parts, other)
