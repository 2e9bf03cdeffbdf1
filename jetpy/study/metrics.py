"""Metrics over many runs: efficiencies, performance portability, performance profiles.

Sources: Pennycook, Sewall, Lee, "Implications of a metric for performance portability", Future
Generation Computer Systems 92, 2019; Sewall et al., "Interpreting and visualizing performance
portability metrics", P3HPC 2020; Dolan, Moré, "Benchmarking optimization software with
performance profiles", Mathematical Programming 91, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, TypeVar

Values = Mapping[str, Mapping[Any, float]]
"""Value of each competitor in each case, smaller is better; failures have no entry."""
Key = TypeVar("Key", bound=Hashable)


def itself(case: Any) -> Any:
    """Return the case, so that each case has its own best value."""
    return case


def bests(values: Values, same: Callable[[Any], Hashable] = itself) -> dict[Hashable, float]:
    """Return the best value of each case that a competitor has solved.

    Parameters
    ----------
    values : mapping of str to mapping of case to float
    same : callable, optional
        Key of a case; cases of equal key share the best value.

    Examples
    --------
    >>> bests({"a": {1: 2.0, 2: 6.0}, "b": {2: 3.0}})
    {1: 2.0, 2: 3.0}
    """
    best: dict[Hashable, float] = {}
    for own in values.values():
        for case, value in own.items():
            best[same(case)] = min(best.get(same(case), inf), value)
    return best


def efficiencies(
    values: Values, cases: Sequence[Key], same: Callable[[Any], Hashable] = itself
) -> dict[str, dict[Key, float]]:
    """Return the best known value of each case over each competitor's: 1 is best, 0 a failure.

    Parameters
    ----------
    values : mapping of str to mapping of case to float
    cases : sequence
        All cases that count; their best values must not be 0.
    same : callable, optional
        As for `bests`.

    Examples
    --------
    >>> efficiencies({"a": {1: 2.0, 2: 6.0}, "b": {2: 3.0}}, [1, 2])
    {'a': {1: 1.0, 2: 0.5}, 'b': {1: 0.0, 2: 1.0}}
    """
    best = bests(values, same)
    return {
        name: {case: best[same(case)] / own[case] if case in own else 0.0 for case in cases}
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
    """Return platforms by descending efficiency, with the metric up to each.

    >>> cascade({"cpu": 0.5, "gpu": 1.0, "tpu": 0.0})
    [('gpu', 1.0, 1.0), ('cpu', 0.5, 0.6666666666666666), ('tpu', 0.0, 0.0)]
    """
    ordered = sorted(by_platform.items(), key=lambda item: -item[1])
    so_far = [efficiency for _, efficiency in ordered]
    return [
        (platform, efficiency, portability(so_far[: i + 1]))
        for i, (platform, efficiency) in enumerate(ordered)
    ]


def factors(found: Iterable[float]) -> list[float]:
    """Return the inverse of each efficiency, ascending; infinite for a failure.

    >>> factors([0.5, 0.0, 1.0])
    [1.0, 2.0, inf]
    """
    return sorted(1 / efficiency if efficiency else inf for efficiency in found)
