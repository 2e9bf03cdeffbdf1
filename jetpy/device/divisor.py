"""The greatest common divisor of vertex weights on a back end."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import common_divisor
from jetpy.workloads.common.values import count_indivisible

SAMPLE = 1 << 12
"""Number of weights that the host reads before it asks the back end about all of them."""


def common_divisor_on(
    backend: Backend,
    weights: Array,
    gather: Callable[[int], list[int]] = lambda number: [number],
) -> int:
    """Return the greatest common divisor of weights on a back end; 0 if all are 0.

    The divisor of a sample is usually the answer: 1 always is, and the back end checks any other.

    Parameters
    ----------
    backend : Backend
    weights : of the back end's `sum_type`
    gather : callable
        Returns the numbers of all processes that have a share of the weights. Collective.
    """
    unit = gcd(*gather(common_divisor(backend.to_host(weights[:SAMPLE]))))
    if unit == 1:
        return 1
    count = backend.reduce(len(weights), count_indivisible, weights=weights, divisor=unit)
    if any(gather(count)):
        unit = gcd(*gather(common_divisor(backend.to_host(weights))))
    return unit


def divided_by(backend: Backend, weights: Array, unit: int) -> Array:
    """Return weights divided by their common divisor; 1 for each if they are all 0."""
    if unit == 0:
        return backend.full(len(weights), 1, weights.dtype)
    return weights if unit == 1 else weights // unit
