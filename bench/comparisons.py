"""Tables that compare partitioners under several conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median

from bench.records import Record, by_tool
from bench.tables import extreme_text, mean_text

Case = tuple[str, str, int]
"""Graph, condition and number of parts."""
Results = dict[str, dict[Case, Record]]
"""Records of each tool (with preset and threads) by case."""


def results(records: Iterable[Record]) -> Results:
    """Return the last record of each tool and case."""
    return by_tool(records, "graph", "condition", "k")


def cut(record: Record) -> float | None:
    """Return the median cut of the feasible runs, or None if no run is feasible."""
    return median_of_feasible(record, "cuts")


def seconds(record: Record) -> float | None:
    """Return the median time of the feasible runs, or None if no run is feasible."""
    return median_of_feasible(record, "seconds")


def median_of_feasible(record: Record, field: str) -> float | None:
    """Return the median of a field over the feasible runs, or None if no run is feasible."""
    pairs = zip(record[field], record["balanced"], strict=True)
    values = [value for value, feasible in pairs if feasible]
    return median(values) if values else None


def ratios(
    ours: Mapping[Case, Record],
    theirs: Mapping[Case, Record],
    measure: Callable[[Record], float | None],
) -> dict[Case, float]:
    """Return ours / theirs for each case in which both measures exist and are not 0."""
    found = {}
    for case in ours.keys() & theirs.keys():
        a, b = measure(ours[case]), measure(theirs[case])
        if a and b:
            found[case] = a / b
    return found


def case_text(case: Case) -> str:
    """Return the graph and the number of parts of a case."""
    return f"{case[0]} k={case[2]}"


def lowest(peers: Sequence[str], found: Results) -> dict[Case, tuple[float, str]]:
    """Return the lowest cut of the peers in each case, and the peer that found it."""
    best: dict[Case, tuple[float, str]] = {}
    for peer in peers:
        for case, record in found[peer].items():
            theirs = cut(record)
            if theirs is not None:
                best[case] = min(best.get(case, (theirs, peer)), (theirs, peer))
    return best


def best_peer(tool: str, peers: Sequence[str], found: Results) -> dict[Case, tuple[float, str]]:
    """Return the ratio of a tool's cut to the lowest cut of the peers, and this peer, by case."""
    best = {}
    for case, (theirs, peer) in lowest(peers, found).items():
        ours = cut(found[tool][case]) if case in found[tool] else None
        if ours and theirs:
            best[case] = (ours / theirs, peer)
    return best


def cut_rows(tool: str, peers: Sequence[str], found: Results) -> list[list[str]]:
    """Return a row per condition: cases, mean cut ratios to each peer and the best, worst case."""
    best = best_peer(tool, peers, found)
    to_peers = [ratios(found[tool], found[peer], cut) for peer in peers]
    to_best = {case: ratio for case, (ratio, _) in best.items()}
    rows = []
    for condition, cases in _by_condition(found[tool]):
        means = [mean_text(_select(values, cases).values()) for values in (*to_peers, to_best)]
        rows.append(
            [condition, str(len(cases)), *means, extreme_text(_select(to_best, cases), case_text)]
        )
    return rows


def time_rows(tool: str, peers: Sequence[str], found: Results) -> list[list[str]]:
    """Return a row per condition: the mean ratio of time to each peer."""
    to_peers = [ratios(found[tool], found[peer], seconds) for peer in peers]
    return [
        [condition, *(mean_text(_select(values, cases).values()) for values in to_peers)]
        for condition, cases in _by_condition(found[tool])
    ]


def feasible_rows(found: Results) -> list[list[str]]:
    """Return a row per condition: the feasible runs of each tool out of all its runs."""
    rows: dict[str, list[str]] = {}
    for label, records in found.items():
        for condition, cases in _by_condition(records):
            runs = [feasible for case in cases for feasible in records[case]["balanced"]]
            cells = rows.setdefault(condition, ["-"] * len(found))
            cells[list(found).index(label)] = f"{sum(runs)}/{len(runs)}"
    return [[condition, *cells] for condition, cells in rows.items()]


def _by_condition(records: Mapping[Case, Record]) -> Iterator[tuple[str, set[Case]]]:
    for condition in dict.fromkeys(condition for _, condition, _ in records):
        yield condition, {case for case in records if case[1] == condition}
    if records:
        yield "all", set(records)


def _select(values: Mapping[Case, float], cases: set[Case]) -> dict[Case, float]:
    return {case: values[case] for case in cases & values.keys()}
