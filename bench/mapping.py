"""Process mapping with jetpy and other tools.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from bench.harness import SEEDS, Experiment, Option, among
from bench.instances import Instance
from bench.mappers import METHODS, measure
from bench.records import Record
from bench.tables import mean_text, show

HIERARCHIES = [f"4:8:{nodes}" for nodes in range(1, 7)]

BETTER = "better peer"
"""In each case that mtkahypar and scotch have, the record with the lower cost."""

PAIRS = (
    ("jetpy/partition", "jetpy/im"),
    ("jetpy/im", "jetpy/hm-ultra"),
    ("jetpy/hm", "jetpy/hm-ultra"),
    *(
        (method, peer)
        for method in ("jetpy/im", "jetpy/hm", "jetpy/hm-ultra")
        for peer in ("mtkahypar", "scotch", BETTER)
    ),
)
"""The tables divide the first method's cost and time by the second's."""

Case = tuple[str, str]
"""Graph and hierarchy."""

Cases = Mapping[str, Mapping[Case, Record]]
"""Records by method and case."""


def settings(method: str, options: argparse.Namespace) -> Record:
    """Return the settings that the records of a method share. Only jetpy's have a back end."""
    return {
        "method": method,
        "backend": options.backend if METHODS[method].is_jetpy else "",
        "threads": options.threads,
        "distance": options.distance,
    }


def latest(records: Iterable[Record], options: argparse.Namespace) -> dict[str, dict[Case, Record]]:
    """Return the last record of each method and case with the settings of the options."""
    found: dict[str, dict[Case, Record]] = {method: {} for method in METHODS}
    for record in records:
        if settings(record["method"], options).items() <= record.items():
            found[record["method"]][record["graph"], record["hierarchy"]] = record
    return found


def with_better(cases: Cases) -> Cases:
    """Return the records together with those of the better peer."""
    first, second = cases["mtkahypar"], cases["scotch"]
    better = {
        case: min(first[case], second[case], key=lambda record: float(record["median_cost"]))
        for case in first
        if case in second
    }
    return {**cases, BETTER: better}


def ratios(cases: Cases, pair: tuple[str, str], quantity: str) -> dict[Case, float]:
    """Return the ratios of the median cost or seconds of two methods, where no cost is 0."""
    first, second = (cases[method] for method in pair)
    return {
        case: first[case][quantity] / second[case][quantity]
        for case in first
        if case in second and first[case]["median_cost"] and second[case]["median_cost"]
    }


def mean_rows(cases: Cases, quantity: str, key: str, columns: Sequence[str]) -> list[list[str]]:
    """Return a row per pair with geometric means: for each value of `key` in `columns`, and all."""
    rows = []
    for pair in PAIRS:
        found = ratios(cases, pair, quantity)
        if not found:
            continue
        keys = {case: cases[pair[0]][case][key] for case in found}
        groups = [[found[case] for case in found if keys[case] == name] for name in columns]
        means = [mean_text(group, 4) for group in (*groups, found.values())]
        rows.append([" / ".join(pair), str(len(found)), *means])
    return rows


def balance_rows(cases: Cases) -> list[list[str]]:
    """Return a row per method: cases, runs, feasible runs, heaviest PE divided by the limit."""
    rows = []
    for method, records in cases.items():
        if records:
            runs = sum(len(record["seeds"]) for record in records.values())
            feasible = sum(record["feasible"] for record in records.values())
            load = max(record["max_load"] for record in records.values())
            rows.append([method, str(len(records)), str(runs), str(feasible), f"{load:.4f}"])
    return rows


def summarise(every: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the tables and the cases with a cost of 0."""
    records = [
        record
        for record in every
        if record["hierarchy"] in options.hierarchies
        and record["n"] >= options.min_n
        and (not options.only or record["graph"] in options.only)
    ]
    cases = latest(records, options)
    all_cases = with_better(cases)
    classes = list(dict.fromkeys(record["class"] for record in records))
    for quantity, text in (("median_cost", "cost"), ("median_seconds", "time")):
        for key, columns in (("hierarchy", options.hierarchies), ("class", classes)):
            rows = mean_rows(all_cases, quantity, key, columns)
            if rows:
                show(
                    f"{text}, geometric means by {key}",
                    ["ratio", "cases", *columns, "all"],
                    rows,
                    markdown=options.markdown,
                )
    show(
        "balance",
        ["method", "cases", "runs", "feasible", "heaviest/limit"],
        balance_rows(cases),
        markdown=options.markdown,
    )
    zero = [
        f"{graph} {hierarchy} {method}"
        for method, method_records in cases.items()
        for (graph, hierarchy), record in method_records.items()
        if not record["median_cost"]
    ]
    if zero:
        print(f"\n{len(zero)} costs are 0 and are left out of all means: {', '.join(zero)}")


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each method and hierarchy."""
    for method, hierarchy in product(options.methods, options.hierarchies):
        yield {**settings(method, options), "hierarchy": hierarchy, "seeds": options.seeds}


EXPERIMENT = Experiment(
    name="mapping",
    doc=__doc__,
    options={
        "methods": among(METHODS),
        "hierarchies": Option(HIERARCHIES, metavar="A1:A2:A3"),
        "distance": Option("1:10:100", metavar="D1:D2:D3"),
        "seeds": SEEDS,
        "threads": 1,
        "backend": "auto",
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "hierarchy", "method", "backend", "threads", "distance", "seeds"),
    together=["hierarchy"],
    tool="method",
    min_n=50_000,
)

if __name__ == "__main__":
    EXPERIMENT.main()
