"""What conducts refinement, against the loop as the paper writes it and plans by NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetpy.backends.base import Backend
from jetpy.refinement.jet import ANY, PROPAGATIONS, REBALANCINGS
from jetpy.refinement.orders import Order, Request, Task
from jetpy.refinement.plan import ROWS, Plan
from jetpy.refinement.state import COUNTERS, REBUILD, SHORT, WATCHED
from jetpy.workloads.conduct import conduct

PATIENCE, WEAK_ROUNDS, TIE_LIMIT = 3, 2, 77


class Conductor:
    """Orders, account and plan of a level, with the kernel that conducts it."""

    def __init__(
        self,
        backend: Backend,
        weights: np.ndarray,
        cut: int,
        limits: np.ndarray,
        groups: int = 1,
        span: int = 99,
    ) -> None:
        self.backend, self.k = backend, len(weights)
        self.siblings = self.k // groups
        self.limits = backend.from_host(np.asarray(limits, np.int64))
        self.orders, self.account = backend.mirror(len(Order)), backend.mirror(self.k + SHORT + 1)
        self.best_weights = backend.mirror(self.k)
        self.plan = Plan(backend, self.k, self.siblings, wide=span, span=span)
        for order, value in {
            Order.CUT: cut,
            Order.BEST_CUT: cut,
            Order.BEST_OVERLOAD: (weights - limits).max(),
            Order.SEED: 5,
            Order.PATIENCE: PATIENCE,
            Order.TOLERANCE: 900,
            Order.WEAK_ROUNDS: WEAK_ROUNDS,
            Order.TIE_LIMIT: TIE_LIMIT,
        }.items():
            self.orders.host[order] = value
        self.best_weights.host[:] = weights
        for mirror in (self.orders, self.best_weights):
            backend.push(mirror)
        self.report(weights, 0, 0)

    def report(self, weights: np.ndarray, change: int, moved: int, rebuilt: bool = False) -> None:
        """Account for the results of an iteration; the counters are spread.

        The change of the cut, or the cut itself where rows were rebuilt.
        """
        account, k = self.account.host, self.k
        account[:k] = weights
        account[k + 7], account[k + 40] = 2 * change - 10, 10
        account[k + REBUILD] = rebuilt
        account[k + COUNTERS + 3] = moved
        self.backend.push(self.account)

    def conduct(self, room: int = 1, tasks: int = ANY, n: int = 2) -> np.ndarray:
        """Return the orders for the next iteration of a level of n vertices."""
        shared = {
            "orders": self.orders.device,
            "account": self.account.device,
            "limits": self.limits,
            "k": self.k,
        }
        self.backend.parallel_for(1, conduct, room=room, tasks=tasks, n=n, **shared)
        self.plan.draw_up(best_weights=self.best_weights.device, **shared)
        for mirror in (self.orders, self.account, self.best_weights):
            self.backend.pull(mirror)
        self.backend.synchronize()
        return self.orders.host


def check_plan(conductor: Conductor, weights: np.ndarray, limits: np.ndarray) -> bool:
    """Compare the plan of each group with the definition; return whether one asks for moves."""
    asked = False
    for first in range(0, len(weights), conductor.siblings):
        group = slice(first, first + conductor.siblings)
        asked |= check_plan_of_group(conductor, weights[group], int(limits[first]), first)
    return asked


def check_plan_of_group(conductor: Conductor, weights: np.ndarray, limit: int, first: int) -> bool:
    """Compare the plan of the group whose first part is given."""
    plan = conductor.backend.to_host(conductor.plan.numbers).reshape(ROWS, -1)
    leave, ties, takers_of, counts, to_lose, ends = plan[:, first : first + len(weights)]
    excess = np.maximum(weights - limit, 0)
    threshold = max(limit * 99 // 100, limit - 100)
    if not (weights < threshold).any():
        threshold = limit
    takers = np.flatnonzero(weights < threshold)
    count = len(takers)
    assert (counts == count).all()
    if count == 0:
        assert not to_lose.any()
        assert not leave.any()
        return False
    spare = threshold - weights[takers]
    if spare.sum() < excess.sum():
        spare += limit - threshold
    over_average = 3 * (len(weights) * weights - weights.sum()) // (2 * len(weights))
    assert to_lose.tolist() == excess.tolist()
    assert takers_of[:count].tolist() == (first + takers).tolist()
    assert ends[:count].tolist() == np.cumsum(spare).tolist()
    leave_limit = np.where(excess > 0, np.maximum(over_average, 1), 0)
    assert leave.tolist() == np.where(weights < threshold, -1, leave_limit).tolist()
    assert (ties == TIE_LIMIT).all()
    return bool(excess.any())


weights = st.lists(st.integers(0, 400), min_size=2, max_size=9).map(np.array)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.data(),
    first=weights,
    slack=st.integers(0, 100),
    cut=st.integers(1600, 3000),
    groups=st.integers(1, 3),
    span=st.sampled_from([1, 2, 4, 99]),
)
def test_the_loop_is_that_of_the_paper(
    backend: Backend,
    data: st.DataObject,
    first: np.ndarray,
    slack: int,
    cut: int,
    groups: int,
    span: int,
) -> None:
    first = np.tile(first, groups)
    limit = int(-(-first.sum() // len(first))) + slack
    limits = limit + 5 * np.repeat(np.arange(groups), len(first) // groups)
    conductor = Conductor(backend, first, cut, limits, groups, span)
    now, best_cut, best = first, cut, first
    since_best = weak = iterations = locks = 0
    better = moved = False
    for _ in range(30):
        if moved:
            clearly = False
            overload, best_overload = (now - limits).max(), (best - limits).max()
            if best_overload > 0 and overload <= 0:
                better = clearly = True
            elif overload <= 0:
                better, clearly = cut < best_cut, 10 * cut < 9 * best_cut
            else:
                better = clearly = overload < best_overload
            if better:
                best_cut, best = cut, now
            if clearly:
                since_best = 0
        other = REBALANCINGS if (now <= limits).all() else PROPAGATIONS
        for tasks in data.draw(st.sampled_from([[ANY], [other, ANY], [other, other, ANY]])):
            orders = conductor.conduct(tasks=tasks)
            assert orders[Order.CUT] == cut
            if tasks == other:
                assert orders[Order.TASK] == Task.NOTHING
                assert orders[Order.ITERATION] == iterations
        assert orders[Order.BEST_CUT] == best_cut
        assert conductor.best_weights.host.tolist() == best.tolist()
        if since_best == PATIENCE:
            assert orders[Order.REQUEST] == Request.END
            assert orders[Order.TASK] == Task.NOTHING
            return
        since_best, iterations = since_best + 1, iterations + 1
        assert orders[Order.REQUEST] == Request.NOTHING
        assert orders[Order.ITERATION] == iterations
        assert orders[Order.SALT] == 5 + iterations
        assert orders[Order.KEEP] == better
        if (now <= limits).all():
            weak, locks = 0, locks + 1
            expected, may_move = Task.PROPAGATE, True
        else:
            expected = Task.REBALANCE_STRONGLY
            if weak < WEAK_ROUNDS:
                weak, expected = weak + 1, Task.REBALANCE_WEAKLY
            may_move = check_plan(conductor, now, limits)
        assert orders[Order.LOCK] == locks
        assert orders[Order.TASK] == expected
        moved = may_move and data.draw(st.booleans())
        better = False
        if moved:
            now = np.array(data.draw(st.permutations(now.tolist())))
            change = data.draw(st.integers(-50, 20))
            cut += change
            rebuilt = data.draw(st.booleans())
            conductor.report(now, cut if rebuilt else change, 3, rebuilt)


def test_the_host_is_asked_once_for_what_is_missing(backend: Backend) -> None:
    """Nothing is taken or ordered until the host has answered."""
    balanced, limits = np.array([5, 5]), np.array([5, 5])
    for place, request in (SHORT, Request.WATCH_MORE), (WATCHED, Request.ROOM):
        conductor = Conductor(backend, balanced, 100, limits)
        assert conductor.conduct()[Order.TASK] == Task.PROPAGATE
        conductor.report(balanced, -10, 1)
        conductor.account.host[conductor.k + place] = 1
        backend.push(conductor.account)
        for _ in range(2):
            orders = conductor.conduct(room=0)
            assert (orders[Order.REQUEST], orders[Order.TASK]) == (request, Task.NOTHING)
            assert (orders[Order.CUT], orders[Order.ITERATION]) == (100, 1)
        conductor.account.host[conductor.k + place] = 0
        backend.push(conductor.account)
        orders[Order.REQUEST] = Request.NOTHING
        backend.push(conductor.orders)
        orders = conductor.conduct()
        assert (orders[Order.CUT], orders[Order.ITERATION]) == (90, 2)


def test_the_same_plan_again_where_all_vertices_are_watched(backend: Backend) -> None:
    """The host is not asked, and the iteration is not counted twice."""
    conductor = Conductor(backend, np.array([7, 3]), 100, np.array([5, 5]))
    assert conductor.conduct(n=9)[Order.TASK] == Task.REBALANCE_WEAKLY
    before = backend.to_host(conductor.plan.numbers).tolist()
    conductor.account.host[conductor.k + SHORT] = 1
    conductor.account.host[conductor.k + WATCHED] = 9
    backend.push(conductor.account)
    orders = conductor.conduct(room=9, tasks=PROPAGATIONS, n=9)
    assert (orders[Order.TASK], orders[Order.REQUEST]) == (Task.NOTHING, Request.NOTHING)
    orders = conductor.conduct(room=9, tasks=REBALANCINGS, n=9)
    assert (orders[Order.TASK], orders[Order.REQUEST]) == (Task.REBALANCE_WEAKLY, Request.NOTHING)
    assert orders[Order.ITERATION] == 1
    assert conductor.account.host[conductor.k + SHORT] == 0
    assert before == backend.to_host(conductor.plan.numbers).tolist()


def test_moves_that_settle_end_with_the_first_iteration_without_any(backend: Backend) -> None:
    """The patience is that of rebalancing alone."""
    limits = np.array([5, 5])
    conductor = Conductor(backend, np.array([7, 3]), 100, limits)
    conductor.orders.host[Order.SETTLES] = 1
    conductor.orders.host[Order.TOLERANCE] = 1000
    backend.push(conductor.orders)
    for since_best in range(1, PATIENCE):
        orders = conductor.conduct()
        assert (orders[Order.SINCE_BEST], orders[Order.REQUEST]) == (since_best, Request.NOTHING)
    conductor.report(np.array([5, 5]), 10, 2)
    for cut in (110, 109, 100):
        orders = conductor.conduct()
        assert (orders[Order.TASK], orders[Order.BEST_CUT]) == (Task.PROPAGATE, cut)
        conductor.report(np.array([5, 5]), -1 if cut == 110 else -9, 2)
    conductor.report(np.array([5, 5]), 0, 0)
    orders = conductor.conduct()
    assert (orders[Order.REQUEST], orders[Order.TASK]) == (Request.END, Task.NOTHING)
    assert orders[Order.BEST_CUT] == 100
