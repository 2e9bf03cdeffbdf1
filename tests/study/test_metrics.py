"""Efficiencies and Pennycook's metric."""

from __future__ import annotations

from itertools import pairwise
from statistics import harmonic_mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.study.metrics import cascade, efficiencies, factors, portability

VALUES = st.dictionaries(
    st.sampled_from("abc"),
    st.dictionaries(st.integers(0, 4), st.floats(0.1, 100)),
    min_size=1,
)


@given(VALUES)
def test_best_application_of_each_case_has_efficiency_one(
    values: dict[str, dict[int, float]],
) -> None:
    solved = {case for own in values.values() for case in own}
    found = efficiencies(values, sorted(solved))
    for case in solved:
        best = min(own[case] for own in values.values() if case in own)
        for name, own in values.items():
            assert found[name][case] == pytest.approx(best / own[case] if case in own else 0)
        assert max(found[name][case] for name in values) == 1
    assert all(own.keys() == solved for own in found.values())


def test_cases_may_share_a_best_value() -> None:
    values = {"a": {("x", 1): 4.0, ("x", 2): 2.0}, "b": {("x", 1): 3.0}}
    found = efficiencies(values, [("x", 1), ("x", 2)], lambda case: case[0])
    assert found == {
        "a": {("x", 1): 0.5, ("x", 2): 1.0},
        "b": {("x", 1): pytest.approx(2 / 3), ("x", 2): 0.0},
    }


@given(st.lists(st.floats(0.01, 1), min_size=1))
def test_portability_is_the_harmonic_mean(found: list[float]) -> None:
    assert portability(found) == pytest.approx(harmonic_mean(found))
    assert portability([*found, 0.0]) == 0


@given(st.dictionaries(st.integers(), st.floats(0, 1), min_size=1))
def test_cascade_decreases_to_the_metric_of_all_platforms(by_platform: dict[int, float]) -> None:
    steps = cascade(by_platform)
    assert [step[1] for step in steps] == sorted(by_platform.values(), reverse=True)
    metrics = [step[2] for step in steps]
    assert all(a >= b - 1e-12 for a, b in pairwise(metrics))
    assert metrics[-1] == pytest.approx(portability(by_platform.values()))


@given(st.lists(st.just(0.0) | st.floats(0.01, 1)))
def test_profiles_have_a_factor_for_each_case(found: list[float]) -> None:
    own = factors(found)
    assert len(own) == len(found)
    assert own == sorted(own)
    assert all(factor >= 1 for factor in own)
    assert sum(factor < float("inf") for factor in own) == sum(value > 0 for value in found)
