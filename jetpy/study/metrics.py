"""What a study tells of many runs: efficiencies, performance portability, performance profiles.

Sources: Pennycook, Sewall, Lee, "Implications of a metric for performance portability", Future
Generation Computer Systems 92, 2019; Sewall et al., "Interpreting and visualizing performance
portability metrics", P3HPC 2020; Dolan, Moré, "Benchmarking optimization software with
performance profiles", Mathematical Programming 91, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from math import inf
from typing import Any, TypeVar

Values = Mapping[str, Mapping[Any, float]]
"""What each competitor reaches in each case, smaller being better; a failure has no entry."""
Key = TypeVar("Key", bound=Hashable)


def efficiencies(
    values: Values, cases: Iterable[Key], same: Callable[[Key], Hashable] = lambda case: case
) -> dict[str, dict[Key, float]]:
    """Return the best known of each case over each competitor's own: 1 is best, 0 a failure.

    Parameters
    ----------
    values : mapping of str to mapping of case to float
    cases : iterable
        All that count; those that nobody has solved do not.
    same : callable, optional
        What cases have in common whose best is the same.

    Examples
    --------
    >>> efficiencies({"a": {1: 2.0, 2: 6.0}, "b": {2: 3.0}}, [1, 2])
    {'a': {1: 1.0, 2: 0.5}, 'b': {1: 0.0, 2: 1.0}}
    """
    best: dict[Hashable, float] = {}
    for own in values.values():
        for case, value in own.items():
            best[same(case)] = min(best.get(same(case), inf), value)
    wanted = [case for case in cases if same(case) in best]
    return {
        name: {case: 1 / _factor(own.get(case, inf), best[same(case)]) for case in wanted}
        for name, own in values.items()
    }


def portability(found: Iterable[float]) -> float:
    """Return Pennycook's metric: the harmonic mean of efficiencies, 0 if one of them is 0.

    >>> portability([1.0, 0.5])
    0.6666666666666666
    >>> portability([1.0, 0.0]), portability([])
    (0.0, 0.0)
    """
    own = list(found)
    if not own or not all(own):
        return 0.0
    return len(own) / sum(1 / efficiency for efficiency in own)


def cascade(by_platform: Mapping[Key, float]) -> list[tuple[Key, float, float]]:
    """Return platforms from the best efficiency on, and the metric over those so far.

    >>> cascade({"cpu": 0.5, "gpu": 1.0, "tpu": 0.0})
    [('gpu', 1.0, 1.0), ('cpu', 0.5, 0.6666666666666666), ('tpu', 0.0, 0.0)]
    """
    ordered = sorted(by_platform.items(), key=lambda item: -item[1])
    so_far = [efficiency for _, efficiency in ordered]
    return [
        (platform, efficiency, portability(so_far[: i + 1]))
        for i, (platform, efficiency) in enumerate(ordered)
    ]


def factors(values: Values) -> dict[str, list[float]]:
    """Each competitor's value over the best of the case, ascending; a failure is infinite.

    >>> factors({"a": {1: 2.0, 2: 6.0}, "b": {2: 3.0}})
    {'a': [1.0, 2.0], 'b': [1.0, inf]}
    """
    cases = {case for own in values.values() for case in own}
    best = {case: min(own.get(case, inf) for own in values.values()) for case in cases}
    return {
        label: sorted(_factor(own.get(case, inf), best[case]) for case in cases)
        for label, own in values.items()
    }


def _factor(value: float, best: float) -> float:
    if best:
        return value / best
    return inf if value else 1.0
