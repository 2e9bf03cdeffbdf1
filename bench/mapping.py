"""Process mapping with jetpy and other tools.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.child import answers, failures_noted
from bench.instances import Instance, add_options, selected
from bench.mappers import METHODS
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import add_markdown_option, mean_text, note, show
from jetpy.study.arrays import save_arrays

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


def results_path(folder: Path) -> Path:
    """Return the result file."""
    return folder / "mapping.jsonl"


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


def covers(record: Record | None, seeds: Sequence[int]) -> bool:
    """Return whether a record contains all the seeds."""
    return record is not None and set(seeds) <= set(record["seeds"])


def run(options: argparse.Namespace, path: Path) -> int:
    """Measure the missing cases. Return the number of failed processes."""
    done = latest(read_records(path), options)
    unavailable: set[str] = set()
    failed = 0
    for instance in selected(options):
        todo = {
            method: [
                hierarchy
                for hierarchy in options.hierarchies
                if not covers(done[method].get((instance.name, hierarchy)), options.seeds)
            ]
            for method in options.methods
        }
        if any(todo.values()):
            failed += measure(instance, todo, options, path, unavailable)
    return failed


def measure(
    instance: Instance,
    todo: Mapping[str, list[str]],
    options: argparse.Namespace,
    path: Path,
    unavailable: set[str],
) -> int:
    """Run each method on a graph in a new process and append each record to the file at once.

    Methods that are unavailable are added to the set. Return the number of failed processes.
    """
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        graph = instance.load()
        save_arrays(Path(folder), graph)
        fixed = {"graph": instance.name, "class": instance.cls, "n": graph.n, "m": graph.m}
        for method, hierarchies in todo.items():
            if method in unavailable or not hierarchies:
                continue
            with failures_noted(method, instance.name) as outcome:
                for answer in answers(
                    "bench.mappers",
                    *(method, folder, options.threads, options.backend),
                    *("--hierarchies", *hierarchies, "--distance", options.distance),
                    *("--seeds", *options.seeds),
                    threads=options.threads,
                ):
                    record = {**fixed, **settings(method, options), **answer}
                    append_record(path, record)
                    note(
                        f"{instance.name} {record['hierarchy']} {method}: cost "
                        f"{record['median_cost']:,}, feasible {record['feasible']}"
                        f"/{len(options.seeds)}, {record['median_seconds']:.2f} s"
                    )
            if outcome.unavailable:
                unavailable.add(method)
            failed += outcome.failed
    return failed


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


def read_reference(path: Path, distance: str) -> dict[tuple[str, str, str], Record]:
    """Read the rows for a distance from a CSV file, by graph, hierarchy and method.

    The columns are graph, hierarchy, distance, method (im, hm, hm-ultra), cost, cut and seconds.
    """
    with open(path, newline="", encoding="utf-8") as stream:
        return {
            (row["graph"], row["hierarchy"], f"jetpy/{row['method']}"): {
                "median_cost": float(row["cost"]),
                "median_seconds": float(row["seconds"]),
            }
            for row in csv.DictReader(stream)
            if row["distance"] == distance
        }


def reference_rows(
    cases: Cases, reference: Mapping[tuple[str, str, str], Record]
) -> list[list[str]]:
    """Return a row per measured case of the reference, then geometric means for each method."""
    rows = []
    found: dict[str, list[tuple[float, float]]] = {}
    for (graph, hierarchy, method), theirs in reference.items():
        ours = cases.get(method, {}).get((graph, hierarchy))
        if ours is None:
            continue
        cost, seconds = ours["median_cost"], ours["median_seconds"]
        texts = [graph, hierarchy, method, f"{cost:.0f}", f"{seconds:.4f}"]
        if cost and theirs["median_cost"]:
            pair = cost / theirs["median_cost"], seconds / theirs["median_seconds"]
            found.setdefault(method, []).append(pair)
            rows.append([*texts, *(f"{ratio:.4f}" for ratio in pair)])
        else:
            rows.append([*texts, "-", "-"])
    for method, pairs in found.items():
        rows.append(
            [
                "geometric mean",
                "",
                method,
                "",
                "",
                *(mean_text(column, 4) for column in zip(*pairs, strict=True)),
            ]
        )
    return rows


def summarise(options: argparse.Namespace, path: Path) -> None:
    """Print the tables and the cases with a cost of 0."""
    records = [
        record
        for record in read_records(path)
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
    if options.reference:
        show(
            f"compared with {options.reference.name}",
            ["graph", "hierarchy", "method", "cost", "seconds", "cost ratio", "time ratio"],
            reference_rows(cases, read_reference(options.reference, options.distance)),
            left=3,
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


def main() -> None:
    """Measure the missing cases, then print the tables of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.mapping", description=__doc__)
    add_options(parser, min_n=50_000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--hierarchies", nargs="+", default=HIERARCHIES, metavar="A1:A2:A3")
    parser.add_argument("--distance", default="1:10:100", metavar="D1:D2:D3")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto", help="jetpy's back end")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="CSV",
        help="results of other implementations of im, hm and hm-ultra",
    )
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    path = results_path(options.results)
    failed = run(options, path) if options.graphs or options.generated else 0
    summarise(options, path)
    raise SystemExit(f"{failed} processes failed" if failed else 0)


if __name__ == "__main__":
    main()
