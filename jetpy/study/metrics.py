"""What a study tells of many runs: efficiencies, performance portability, performance profiles.

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
"""What each competitor reaches in each case, smaller being better; a failure has no entry."""
Key = TypeVar("Key", bound=Hashable)


def itself(case: Any) -> Any:
    """Return a case, whose best is that of no other."""
    return case


def bests(values: Values, same: Callable[[Any], Hashable] = itself) -> dict[Hashable, float]:
    """Return the best value of each case that somebody has solved.

    Parameters
    ----------
    values : mapping of str to mapping of case to float
    same : callable, optional
        What cases have in common whose best is the same.

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
    """Return the best known of each case over each competitor's own: 1 is best, 0 a failure.

    Parameters
    ----------
    values : mapping of str to mapping of case to float
    cases : sequence
        All that count; none of them with a best of 0, over which nothing can be told.
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


def factors(found: Iterable[float]) -> list[float]:
    """Return by which factors efficiencies miss the best, ascending; a failure's is infinite.

    >>> factors([0.5, 0.0, 1.0])
    [1.0, 2.0, inf]
    """
    return sorted(1 / efficiency if efficiency else inf for efficiency in found)
