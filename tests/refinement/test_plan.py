"""Plans of rebalancing, compared with NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.engines.base import Backend
from jetpy.graph.csr import MAX_WEIGHT
from jetpy.problem.targets import MAX_SHARES
from jetpy.workloads.common.control_block import Control, Counter, Request, Task, Tasks
from tests.refinement.iterations import Iterations
from tests.wide import wide_backend


@settings(max_examples=100)
@given(
    rng=st.integers(0, 10**6).map(np.random.default_rng),
    group_size=st.integers(2, 9),
    groups=st.integers(1, 3),
    slack=st.integers(-20, 100),
    spread=st.sampled_from([2, 30, 400]),
    span=st.sampled_from([1, 2, 4, 99]),
)
def test_plans_equal_numpy(
    backend: Backend,
    rng: np.random.Generator,
    group_size: int,
    groups: int,
    slack: int,
    spread: int,
    span: int,
) -> None:
    weights = 300 + rng.integers(0, spread, groups * group_size)
    limits = np.repeat(weights.reshape(groups, -1).mean(1).astype(int) + slack, group_size)
    limits[:group_size] = weights[:group_size].max() - 1
    targets = None
    if groups == 1 and rng.random() < 0.5:
        targets = rng.integers(1, 1000, group_size)
        limits += rng.integers(-200, 200, group_size)
        limits[weights.argmax()] = weights.max() - 1
    iterations = Iterations(backend, weights, 100, limits, groups, span, targets)
    assert iterations.begin()[Control.TASK] == Task.REBALANCE_WEAKLY
    iterations.check_plan(weights, limits)


@given(rng=st.integers(0, 10**6).map(np.random.default_rng), k=st.integers(2, 9))
@settings(max_examples=30)
def test_products_of_targets_and_weights_may_exceed_64_bits(
    backend: Backend, rng: np.random.Generator, k: int
) -> None:
    weights = rng.integers(1, MAX_WEIGHT // k, k)
    targets = rng.integers(1, MAX_SHARES // k, k)
    limits = rng.integers(1, MAX_WEIGHT // k, k)
    limits[0] = weights[0] - 1
    iterations = Iterations(wide_backend(backend), weights, 100, limits, targets=targets)
    iterations.begin()
    iterations.check_plan(weights, limits)


def test_plan_is_repeated_after_activating_all_vertices(backend: Backend) -> None:
    """There is no request to the host, and the iteration counts once."""
    iterations = Iterations(backend, np.array([7, 3]), 100, np.array([5, 5]))
    assert iterations.begin(n=9)[Control.TASK] == Task.REBALANCE_WEAKLY
    before = backend.to_host(iterations.plan.numbers).tolist()
    iterations.count(Counter.TOO_FEW, 1)
    iterations.count(Counter.ACTIVE, 9)
    control = iterations.begin(room=9, tasks=Tasks.PROPAGATION, n=9)
    assert (control[Control.TASK], control[Control.REQUEST]) == (Task.NOTHING, Request.NOTHING)
    control = iterations.begin(room=9, tasks=Tasks.REBALANCING, n=9)
    assert control[Control.TASK] == Task.REBALANCE_WEAKLY
    assert control[Control.REQUEST] == Request.NOTHING
    assert control[Control.ITERATIONS] == 1
    assert iterations.counters.host[Counter.TOO_FEW] == 0
    assert before == backend.to_host(iterations.plan.numbers).tolist()
