"""Tables of partitioners beside each other, under several conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import geometric_mean, median
from typing import Any

Record = dict[str, Any]
Case = tuple[str, str, int]
"""Graph, condition and number of parts."""
Results = dict[str, dict[Case, Record]]
"""Records of each competitor by case."""

LIMITS = (1.05, 1.10)
"""Ratios to the best tool above which cases are counted and named."""


def results(records: Iterable[Record]) -> Results:
    """Sort records by competitor and case; of several about a case the last counts."""
    found: Results = {}
    for record in records:
        case = (record["graph"], record["condition"], record["k"])
        found.setdefault(record["tool"], {})[case] = record
    return found


def cut(record: Record) -> float | None:
    """Median cut of the feasible runs; None if there are none."""
    return _median_of_feasible(record, "cuts")


def seconds(record: Record) -> float | None:
    """Median time of the feasible runs; None if there are none."""
    return _median_of_feasible(record, "seconds")


def _median_of_feasible(record: Record, what: str) -> float | None:
    values = _feasible(record, what)
    return median(values) if values else None


def _feasible(record: Record, what: str) -> list[float]:
    return [value for value, good in zip(record[what], record["balanced"], strict=True) if good]


def ratios(
    own: Mapping[Case, Record],
    theirs: Mapping[Case, Record],
    measure: Callable[[Record], float | None],
) -> dict[Case, float]:
    """Ratios of a measure, of the cases where both have one that is not 0."""
    found = {}
    for case in own.keys() & theirs.keys():
        a, b = measure(own[case]), measure(theirs[case])
        if a and b:
            found[case] = a / b
    return found


def lowest(peers: Sequence[str], found: Results) -> dict[Case, tuple[float, str]]:
    """Lowest of the peers' cuts, and whose it is, by case."""
    best: dict[Case, tuple[float, str]] = {}
    for peer in peers:
        for case, record in found[peer].items():
            theirs = cut(record)
            if theirs is not None:
                best[case] = min(best.get(case, (theirs, peer)), (theirs, peer))
    return best


def best_peer(own: str, peers: Sequence[str], found: Results) -> dict[Case, tuple[float, str]]:
    """Ratios to the lowest of the peers' cuts, and whose it is, by case."""
    best = {}
    for case, (theirs, peer) in lowest(peers, found).items():
        ours = cut(found[own][case]) if case in found[own] else None
        if ours and theirs:
            best[case] = (ours / theirs, peer)
    return best


def cut_rows(own: str, peers: Sequence[str], found: Results) -> list[list[str]]:
    """By condition: cases, mean ratios of cuts to each peer and to the best, the worst case."""
    best = best_peer(own, peers, found)
    to_peers = [ratios(found[own], found[peer], cut) for peer in peers]
    to_best = {case: ratio for case, (ratio, _) in best.items()}
    rows = []
    for condition, cases in _by_condition(found[own]):
        means = [_mean(_picked(values, cases)) for values in (*to_peers, to_best)]
        worst = max(cases & to_best.keys(), key=lambda case: to_best[case], default=None)
        text = f"{to_best[worst]:.3f} {worst[0]} k={worst[2]}" if worst else "-"
        rows.append([condition, str(len(cases)), *means, text])
    return rows


def above_rows(own: str, peers: Sequence[str], found: Results) -> list[list[str]]:
    """Cases whose ratio to the best peer is above the lowest of `LIMITS`, worst first."""
    best = best_peer(own, peers, found)
    worst = sorted(((ratio, peer, case) for case, (ratio, peer) in best.items()), reverse=True)
    return [
        [graph, condition, str(k), peer, f"{ratio:.3f}"]
        for ratio, peer, (graph, condition, k) in worst
        if ratio > LIMITS[0]
    ]


def above_title(own: str, peers: Sequence[str], found: Results) -> str:
    """How many cases are above each of `LIMITS`."""
    values = [ratio for ratio, _ in best_peer(own, peers, found).values()]
    counts = (f"{sum(r > limit for r in values)} above {limit:.2f}" for limit in LIMITS)
    return f"{own}: of {len(values)} cases {', '.join(counts)} of the best tool"


def time_rows(own: str, peers: Sequence[str], found: Results) -> list[list[str]]:
    """By condition: mean ratios of time to each peer."""
    to_peers = [ratios(found[own], found[peer], seconds) for peer in peers]
    return [
        [condition, *(_mean(_picked(values, cases)) for values in to_peers)]
        for condition, cases in _by_condition(found[own])
    ]


def spread_rows(found: Results) -> list[list[str]]:
    """By class: mean ratio of the largest to the smallest cut over the seeds of each competitor."""
    spreads = [
        (column, record["class"], spread)
        for column, own in enumerate(found.values())
        for record in own.values()
        if (spread := _spread(_feasible(record, "cuts")))
    ]
    classes = sorted({cls for _, cls, _ in spreads}, key=str.lower)
    return [
        [
            name,
            *(
                _mean(s for place, cls, s in spreads if place == column and name in (cls, "all"))
                for column in range(len(found))
            ),
        ]
        for name in (*classes, "all")
    ]


def _spread(cuts: Sequence[float]) -> float | None:
    return max(cuts) / min(cuts) if len(cuts) > 1 and min(cuts) else None


def feasible_rows(found: Results) -> list[list[str]]:
    """By condition: feasible runs of each competitor, of all its runs."""
    rows: dict[str, list[str]] = {}
    for label, own in found.items():
        for condition, cases in _by_condition(own):
            runs = [good for case in cases for good in own[case]["balanced"]]
            cells = rows.setdefault(condition, ["-"] * len(found))
            cells[list(found).index(label)] = f"{sum(runs)}/{len(runs)}"
    return [[condition, *cells] for condition, cells in rows.items()]


def without_ratio(own: str, peers: Sequence[str], found: Results) -> list[str]:
    """Cases of which there is no ratio to the best peer, with both cuts (- if none is feasible)."""
    best, lowest_cuts = best_peer(own, peers, found), lowest(peers, found)
    rows = []
    for case in sorted({case for peer in peers for case in found[peer]} & found[own].keys()):
        if case not in best:
            graph, condition, k = case
            cuts = (cut(found[own][case]), lowest_cuts.get(case, (None, ""))[0])
            ours, theirs = ("-" if value is None else f"{value:g}" for value in cuts)
            rows.append(f"{graph} {condition} k={k} ({own} {ours}, best {theirs})")
    return rows


def _by_condition(own: Mapping[Case, Record]) -> Iterator[tuple[str, set[Case]]]:
    for condition in dict.fromkeys(condition for _, condition, _ in own):
        yield condition, {case for case in own if case[1] == condition}
    if own:
        yield "all", set(own)


def _picked(values: Mapping[Case, float], cases: set[Case]) -> list[float]:
    return [values[case] for case in cases & values.keys()]


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{geometric_mean(found):.3f}" if found else "-"
