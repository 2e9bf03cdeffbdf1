"""Tables of the results of `bench.quality`: jetpy's median cuts divided by other partitioners'."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.records import Record
from bench.tables import mean_text, show

TOOLS = ("jet-sandia", "pymetis", "kaminpar", "mtkahypar")
FILES = ("peers_cpu_real.csv", "peers_cpu_generated.csv")
GROUPS = {
    "real graphs": ("real",),
    "generated graphs": ("generated",),
    "all graphs": ("real", "generated"),
}

Cuts = dict[tuple[str, int], dict[str, float]]
"""Median cut of each tool by graph and k."""


def read_reference(folder: Path) -> Cuts:
    """Read the median cuts of each tool. For jet-sandia, use the runs with one thread."""
    cuts: Cuts = {}
    for name in FILES:
        with open(folder / name, newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                if row["tool"] == "jet-sandia" and row["threads"] != "1":
                    continue
                case = cuts.setdefault((row["graph"], int(row["k"])), {})
                case[row["tool"]] = float(row["median_cut"])
    return cuts


def ratios(records: Iterable[Record], cuts: Cuts, tool: str) -> list[tuple[float, Record, float]]:
    """Return the ratio to a tool, the record and the tool's cut, for cases where no cut is 0."""
    found = []
    for record in records:
        theirs = cuts.get((record["graph"], record["k"]), {}).get(tool)
        if theirs and record["median_cut"]:
            found.append((record["median_cut"] / theirs, record, theirs))
    return found


def zero_cuts(records: Iterable[Record], cuts: Cuts) -> list[str]:
    """Describe the cases without a ratio to a tool because one of the cuts is 0."""
    return [
        f"{record['graph']} k={record['k']} (jetpy {record['median_cut']:g}, {tool} {theirs:g})"
        for record in records
        for tool, theirs in cuts.get((record["graph"], record["k"]), {}).items()
        if tool in TOOLS and not (theirs and record["median_cut"])
    ]


def mean_rows(records: Sequence[Record], cuts: Cuts) -> list[list[str]]:
    """Return a row per class and one for all: cases in the reference, mean ratio to each tool."""
    classes = {
        cls: [record for record in records if record["class"] == cls]
        for cls in sorted({record["class"] for record in records}, key=str.lower)
    }
    rows = []
    for label, group in {**classes, "all": list(records)}.items():
        per_tool = [[ratio for ratio, _, _ in ratios(group, cuts, tool)] for tool in TOOLS]
        count = max(len(values) for values in per_tool)
        rows.append([label, str(count), *(mean_text(values, 4) for values in per_tool)])
    return rows


def worst_rows(records: Sequence[Record], cuts: Cuts, tool: str, count: int) -> list[list[str]]:
    """Return the cases with the largest ratios to a tool."""
    worst = sorted(ratios(records, cuts, tool), key=lambda case: -case[0])[:count]
    return [
        [record["graph"], str(record["k"]), f"{record['median_cut']:g}", f"{theirs:g}", f"{r:.4f}"]
        for r, record, theirs in worst
    ]


def feasibility_rows(records: Sequence[Record]) -> list[list[str]]:
    """Return a row per k: feasible runs, largest imbalance, graphs with an infeasible run."""
    rows = []
    for k in sorted({record["k"] for record in records}):
        group = [record for record in records if record["k"] == k]
        feasible = sum(record["feasible"] for record in group)
        runs = sum(len(record["seeds"]) for record in group)
        infeasible = [r["graph"] for r in group if r["feasible"] < len(r["seeds"])]
        worst = max(record["max_imbalance"] for record in group)
        graphs = ", ".join(infeasible) or "none"
        rows.append([str(k), f"{feasible}/{runs}", f"{worst:.5f}", graphs])
    return rows


def print_tables(records: Sequence[Record], cuts: Cuts, preset: str, markdown: bool) -> None:
    """Print the tables of one preset: real graphs, generated graphs, and both together."""
    for label, kinds in GROUPS.items():
        group = [record for record in records if record["kind"] in kinds]
        if not group:
            continue
        title = f"{label}, preset {preset}"
        show(
            f"{title}: cut of jetpy / cut of …, geometric mean",
            ["class", "cases", *TOOLS],
            mean_rows(group, cuts),
            markdown=markdown,
        )
        show(
            f"{title}: worst cases compared with jet-sandia",
            ["graph", "k", "jetpy", "jet-sandia", "ratio"],
            worst_rows(group, cuts, "jet-sandia", 5),
            markdown=markdown,
        )
        show(
            f"{title}: feasible runs",
            ["k", "feasible", "max imbalance", "graphs with an infeasible run"],
            feasibility_rows(group),
            left=0,
            markdown=markdown,
        )
        skipped = zero_cuts(group, cuts)
        print(f"\nCases without a ratio because a cut is 0: {len(skipped)}", *skipped, sep="\n  ")
