"""jetpy's process mapping beside other mappers; goes on where it stopped.

Without --graphs and --generated it only summarises what it has.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from subprocess import CalledProcessError
from typing import Any

from bench.child import Absent, answers
from bench.instances import Instance, add_options, chosen
from bench.mappers import METHODS
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from jetpy.study.arrays import save_arrays

HIERARCHIES = [f"4:8:{nodes}" for nodes in range(1, 7)]

BETTER = "better peer"
"""Per case the record of mtkahypar or scotch, whichever costs less, of cases that both have."""

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
"""What the tables compare: the first method over the second."""

Record = dict[str, Any]
Case = tuple[str, str]
"""Graph and hierarchy."""

Cases = Mapping[str, Mapping[Case, Record]]
"""Records by method and case."""


def results_path(folder: Path) -> Path:
    """File of the results."""
    return folder / "mapping.jsonl"


def settings(method: str, options: argparse.Namespace) -> Record:
    """What all records of a method have in common; only jetpy's have a back end."""
    return {
        "method": method,
        "backend": options.backend if METHODS[method].own else "",
        "threads": options.threads,
        "distance": options.distance,
    }


def latest(records: Iterable[Record], options: argparse.Namespace) -> dict[str, dict[Case, Record]]:
    """The last record of each method and case with the settings of the options."""
    found: dict[str, dict[Case, Record]] = {method: {} for method in METHODS}
    for record in records:
        if settings(record["method"], options).items() <= record.items():
            found[record["method"]][record["graph"], record["hierarchy"]] = record
    return found


def covers(record: Record | None, seeds: Sequence[int]) -> bool:
    """Whether a record is about all the seeds."""
    return record is not None and set(seeds) <= set(record["seeds"])


def run(options: argparse.Namespace, path: Path) -> int:
    """Measure what the results file lacks; return how many processes failed."""
    done = latest(read_records(path), options)
    absent: set[str] = set()
    failed = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    for instance in chosen(options):
        if instance.n < options.min_n:
            continue
        todo = {
            method: [
                hierarchy
                for hierarchy in options.hierarchies
                if not covers(done[method].get((instance.name, hierarchy)), options.seeds)
            ]
            for method in options.methods
        }
        if any(todo.values()):
            failed += measure(instance, todo, options, path, absent)
    return failed


def measure(
    instance: Instance,
    todo: Mapping[str, list[str]],
    options: argparse.Namespace,
    path: Path,
    absent: set[str],
) -> int:
    """Run each method, in a process of its own, on one graph; methods found absent are added.

    One JSON line per hierarchy is appended to the file at once. Returns how many failed.
    """
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        graph = instance.load()
        save_arrays(Path(folder), graph)
        fixed = {"graph": instance.name, "class": instance.cls, "n": graph.n, "m": graph.m}
        for method, hierarchies in todo.items():
            if method in absent or not hierarchies:
                continue
            try:
                for answer in answers(
                    "bench.mappers",
                    *(method, folder, options.threads, options.backend),
                    *("--hierarchies", *hierarchies, "--distance", options.distance),
                    *("--seeds", *options.seeds),
                    threads=options.threads,
                ):
                    record = {**fixed, **settings(method, options), **answer}
                    with open(path, "a", encoding="utf-8") as stream:
                        stream.write(json.dumps(record) + "\n")
                    note(
                        f"{instance.name} {record['hierarchy']} {method}: cost "
                        f"{record['median_cost']:,}, feasible {record['feasible']}"
                        f"/{len(options.seeds)}, {record['median_seconds']:.2f} s"
                    )
            except Absent as reason:
                note(f"{method} left out: {reason}")
                absent.add(method)
            except CalledProcessError as error:
                note(f"{instance.name} {method} failed, status {error.returncode}")
                failed += 1
    return failed


def with_better(cases: Cases) -> Cases:
    """The same records and those of the better peer."""
    first, second = cases["mtkahypar"], cases["scotch"]
    better = {
        case: min(first[case], second[case], key=lambda record: float(record["median_cost"]))
        for case in first
        if case in second
    }
    return {**cases, BETTER: better}


def mean(ratios: Iterable[float]) -> str:
    """Geometric mean as text."""
    found = list(ratios)
    return f"{geometric_mean(found):.4f}" if found else "-"


def ratios(cases: Cases, pair: tuple[str, str], quantity: str) -> dict[Case, float]:
    """Median cost or seconds of one method over those of another, where neither cost is 0."""
    first, second = (cases[method] for method in pair)
    return {
        case: first[case][quantity] / second[case][quantity]
        for case in first
        if case in second and first[case]["median_cost"] and second[case]["median_cost"]
    }


def mean_rows(cases: Cases, quantity: str, key: str, columns: Sequence[str]) -> list[list[str]]:
    """One row a pair: geometric means over the cases in which `key` is each column, then all."""
    rows = []
    for pair in PAIRS:
        found = ratios(cases, pair, quantity)
        if not found:
            continue
        keys = {case: cases[pair[0]][case][key] for case in found}
        means = [mean(found[case] for case in found if keys[case] == name) for name in columns]
        rows.append([" / ".join(pair), str(len(found)), *means, mean(found.values())])
    return rows


def balance_rows(cases: Cases) -> list[list[str]]:
    """Feasible runs of each method, and its heaviest PE over the limit."""
    rows = []
    for method, records in cases.items():
        if records:
            runs = sum(len(record["seeds"]) for record in records.values())
            feasible = sum(record["feasible"] for record in records.values())
            load = max(record["max_load"] for record in records.values())
            rows.append([method, str(len(records)), str(runs), str(feasible), f"{load:.4f}"])
    return rows


def read_reference(path: Path, distance: str) -> dict[tuple[str, str, str], Record]:
    """Rows for a distance of a CSV file with these columns, by graph, hierarchy and method.

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
    """One row a case of the reference that is measured, then geometric means for each method."""
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
                *(mean(column) for column in zip(*pairs, strict=True)),
            ]
        )
    return rows


def summarise(options: argparse.Namespace, path: Path) -> None:
    """Print the tables and name the cases in which a cost is 0."""
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
            f"over {options.reference.name}",
            ["graph", "hierarchy", "method", "cost", "seconds", "cost ratio", "time ratio"],
            reference_rows(cases, read_reference(options.reference, options.distance)),
            left=3,
            markdown=options.markdown,
        )
    zero = [
        f"{graph} {hierarchy} {method}"
        for method, own in cases.items()
        for (graph, hierarchy), record in own.items()
        if not record["median_cost"]
    ]
    if zero:
        print(f"\n{len(zero)} costs are 0 and left out of all means: {', '.join(zero)}")


def main() -> None:
    """Measure what is missing, then summarise all there is."""
    parser = argparse.ArgumentParser(prog="python -m bench.mapping", description=__doc__)
    add_options(parser)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--hierarchies", nargs="+", default=HIERARCHIES, metavar="A1:A2:A3")
    parser.add_argument("--distance", default="1:10:100", metavar="D1:D2:D3")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto", help="of jetpy")
    parser.add_argument("--min-n", type=int, default=50_000, help="no graphs with fewer vertices")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="CSV",
        help="what other programs of im, hm, hm-ultra reach",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    path = results_path(options.results)
    failed = run(options, path) if options.graphs or options.generated else 0
    summarise(options, path)
    raise SystemExit(f"{failed} processes failed" if failed else 0)


if __name__ == "__main__":
    main()
