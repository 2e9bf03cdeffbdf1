"""The sequence of iterations, compared with the loop of the paper."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.problem.options import Options, RefineOptions
from jetpy.problem.problem import make_problem
from jetpy.refinement.jet import Refinement
from jetpy.workloads.common.control_block import (
    TOLERANCE_UNITS,
    Control,
    Counter,
    Request,
    Task,
    Tasks,
)
from tests.refinement.iterations import PATIENCE, WEAK_ITERATIONS, Iterations

weights = st.lists(st.integers(0, 400), min_size=2, max_size=9).map(np.array)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    first=weights,
    slack=st.integers(0, 100),
    cut=st.integers(1600, 3000),
    groups=st.integers(1, 3),
    span=st.sampled_from([1, 2, 4, 99]),
)
def test_loop_equals_the_paper(
    backend: Backend,
    seed: int,
    first: np.ndarray,
    slack: int,
    cut: int,
    groups: int,
    span: int,
) -> None:
    rng, first = random.Random(seed), np.tile(first, groups)
    limit = int(-(-first.sum() // len(first))) + slack
    limits = limit + 5 * np.repeat(np.arange(groups), len(first) // groups)
    level = Iterations(backend, first, cut, limits, groups, span)
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
        other = Tasks.REBALANCING if (now <= limits).all() else Tasks.PROPAGATION
        sequences = [[Tasks.ANY], [other, Tasks.ANY], [other, other, Tasks.ANY]]
        for tasks in rng.choice(sequences):
            control = level.begin(tasks=tasks)
            assert control[Control.CUT] == cut
            if tasks == other:
                assert control[Control.TASK] == Task.NOTHING
                assert control[Control.ITERATIONS] == iterations
        assert control[Control.BEST_CUT] == best_cut
        assert level.best_weights.host.tolist() == best.tolist()
        nearly = (now > limits).any() and ((best > limits).any() or cut < best_cut)
        if since_best >= (2 if nearly else 1) * PATIENCE:
            assert control[Control.REQUEST] == Request.END
            assert control[Control.TASK] == Task.NOTHING
            return
        since_best, iterations = since_best + 1, iterations + 1
        assert control[Control.REQUEST] == Request.NOTHING
        assert control[Control.ITERATIONS] == iterations
        assert control[Control.ITERATION_SEED] == 5 + iterations
        assert control[Control.IS_BEST] == better
        if (now <= limits).all():
            weak, locks = 0, locks + 1
            expected, may_move = Task.PROPAGATE, True
        else:
            expected = Task.REBALANCE_STRONGLY
            if weak < WEAK_ITERATIONS:
                weak, expected = weak + 1, Task.REBALANCE_WEAKLY
            may_move = level.check_plan(now, limits)
        assert control[Control.LOCK] == locks
        assert control[Control.TASK] == expected
        moved = may_move and rng.random() < 0.7
        better = False
        if moved:
            now = np.array(rng.sample(now.tolist(), len(now)))
            change = rng.randint(-50, 20)
            cut += change
            rebuilt = rng.random() < 0.5
            level.report(now, cut if rebuilt else change, 3, rebuilt)


def test_request_to_the_host_is_made_once(backend: Backend) -> None:
    """No task starts before the host has answered."""
    balanced, limits = np.array([5, 5]), np.array([5, 5])
    for counter, request in (
        (Counter.TOO_FEW, Request.ACTIVATE),
        (Counter.ACTIVE, Request.ROOM),
    ):
        level = Iterations(backend, balanced, 100, limits)
        assert level.begin()[Control.TASK] == Task.PROPAGATE
        level.report(balanced, -10, 1)
        level.count(counter, 1)
        for _ in range(2):
            control = level.begin(room=0)
            assert (control[Control.REQUEST], control[Control.TASK]) == (request, Task.NOTHING)
            assert (control[Control.CUT], control[Control.ITERATIONS]) == (100, 1)
        level.count(counter, 0)
        control[Control.REQUEST] = Request.NOTHING
        backend.sync_device(level.control)
        control = level.begin()
        assert (control[Control.CUT], control[Control.ITERATIONS]) == (90, 2)


def test_monotone_moves_end_with_the_first_iteration_without_gain(backend: Backend) -> None:
    """The patience applies to rebalancing only."""
    limits = np.array([5, 5])
    level = Iterations(backend, np.array([7, 3]), 100, limits)
    level.control.host[Control.ENDS_WITHOUT_GAIN] = 1
    level.control.host[Control.TOLERANCE] = TOLERANCE_UNITS
    backend.sync_device(level.control)
    for since_best in range(1, PATIENCE):
        control = level.begin()
        assert control[Control.SINCE_BEST] == since_best
        assert control[Control.REQUEST] == Request.NOTHING
    level.report(np.array([5, 5]), 10, 2)
    for cut in (110, 109, 100):
        control = level.begin()
        assert (control[Control.TASK], control[Control.BEST_CUT]) == (Task.PROPAGATE, cut)
        level.report(np.array([5, 5]), -1 if cut == 110 else -9, 2)
    level.report(np.array([5, 5]), 0, 0)
    control = level.begin()
    assert (control[Control.REQUEST], control[Control.TASK]) == (Request.END, Task.NOTHING)
    assert control[Control.BEST_CUT] == 100


def test_without_extra_patience_the_loop_ends_sooner(backend: Backend) -> None:
    """As in the paper, where the patience never grows."""
    level = Iterations(backend, np.array([7, 3]), 100, np.array([5, 5]))
    level.control.host[Control.EXTRA_PATIENCE] = 0
    backend.sync_device(level.control)
    for _ in range(PATIENCE):
        assert level.begin()[Control.REQUEST] == Request.NOTHING
    assert level.begin()[Control.REQUEST] == Request.END


def test_strong_rebalancing_is_tried_before_the_loop_ends(backend: Backend) -> None:
    """The patience is exhausted by weak rebalancing."""
    level = Iterations(backend, np.array([7, 3]), 100, np.array([5, 5]))
    level.control.host[Control.PATIENCE] = WEAK_ITERATIONS
    backend.sync_device(level.control)
    tasks = [level.begin()[Control.TASK] for _ in range(2 * WEAK_ITERATIONS)]
    weak, strong = [Task.REBALANCE_WEAKLY], [Task.REBALANCE_STRONGLY]
    assert tasks == WEAK_ITERATIONS * weak + WEAK_ITERATIONS * strong
    assert level.begin()[Control.REQUEST] == Request.END


@pytest.mark.parametrize(
    ("best", "cut", "tolerance", "is_clear"),
    [
        (10**6, 999_900, 0.9999, False),
        (10**6, 999_899, 0.9999, True),
        (10_001, 10_000, 0.9999, False),
        (10_001, 9_999, 0.9999, True),
        (2, 1, 0.5, False),
        (3, 1, 0.5, True),
        (7, 6, 1.0, True),
        (7, 1, 0.0, False),
        (2**62, 2**62 - 2**62 // 10**6, 0.999999, False),
        (2**62, 2**62 - 2**62 // 10**6 - 1, 0.999999, True),
        (2**63 - 1, 2**63 - 2, 1.0, True),
    ],
)
def test_tolerance_has_six_digits(
    backend: Backend, best: int, cut: int, tolerance: float, is_clear: bool
) -> None:
    """A cut resets the patience if it is below the best cut times the tolerance, exactly."""
    balanced = np.array([5, 5])
    level = Iterations(backend, balanced, best, balanced)
    level.control.host[Control.TOLERANCE] = round(TOLERANCE_UNITS * tolerance)
    backend.sync_device(level.control)
    level.begin()
    level.report(balanced, cut - best, 1)
    control = level.begin()
    assert control[Control.BEST_CUT] == cut
    assert control[Control.SINCE_BEST] == (1 if is_clear else 2)


def test_coarse_levels_have_their_own_ratios_and_tolerance() -> None:
    options = RefineOptions(finest_ratios=(30,), coarse_ratios=(70, 20), tolerance=0.9)
    assert options.ratios_and_tolerance(finest=True) == ((30,), 0.9)
    assert options.ratios_and_tolerance(finest=False) == ((70, 20), options.coarse_tolerance)
    same = replace(options, coarse_tolerance=None)
    assert same.ratios_and_tolerance(finest=True) == ((30,), 0.9)
    assert same.ratios_and_tolerance(finest=False) == ((70, 20), 0.9)


@pytest.mark.parametrize("tolerance", [0.9999999, 1.000001, -0.1, math.nan, 1 / 3, "0.9"])
def test_bad_coarse_tolerance_is_refused(tolerance: Any) -> None:
    with pytest.raises(OptionError, match=f"^refine.coarse_tolerance is {tolerance!r}; it must "):
        RefineOptions(coarse_tolerance=tolerance)


@pytest.mark.parametrize("finest", [False, True])
def test_refinement_starts_with_the_tolerance_of_its_level(backend: Backend, finest: bool) -> None:
    graph = upload(backend, jetpy.generators.grid(6, 6))
    refine = RefineOptions(tolerance=0.75, coarse_tolerance=0.5)
    refinement = Refinement(backend, graph, make_problem(36, 2, 0.1, 0, Options(refine=refine)))
    parts = backend.from_host((np.arange(36) % 2).astype(np.int32))
    refinement.refine(parts, finest=finest)
    used = refinement.state.dual.control.host[Control.TOLERANCE] / TOLERANCE_UNITS
    assert used == (0.75 if finest else 0.5)


@pytest.mark.parametrize("tolerance", [0.9999999, 1.000001, -0.1, math.nan, 1 / 3, "0.9", None])
def test_bad_tolerance_is_refused(tolerance: Any) -> None:
    with pytest.raises(OptionError, match=f"^refine.tolerance is {tolerance!r}; it must "):
        RefineOptions(tolerance=tolerance)


@pytest.mark.parametrize("tolerance", [0, 1, 0.9999, 0.999999, 1e-6, 0.123457])
def test_tolerance_of_six_digits_is_accepted(tolerance: float) -> None:
    assert RefineOptions(tolerance=tolerance).tolerance == tolerance
