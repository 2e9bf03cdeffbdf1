"""Communication volumes of jetpy, METIS and Mt-KaHyPar.

jetpy and METIS minimise the volume (METIS with objtype=vol) and, for comparison, the cut.
Mt-KaHyPar partitions the hypergraph whose nets are the closed neighbourhoods of the vertices. Its
connectivity metric, the sum over the nets of the number of parts of a net minus 1, is the volume.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from bench.child import failures_noted, run_module, unavailability_answered
from bench.comparisons import median_of_feasible
from bench.instances import Instance, add_options, selected
from bench.records import Record, add_results_option, append_record, by_tool, read_records
from bench.tables import add_markdown_option, mean_text, note, ratio_text, show
from bench.tools import IMBALANCE, default_mtkahypar
from jetpy.problem.metrics import communication_volume
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays, save_arrays
from jetpy.study.tools import Job
from jetpy.study.verdict import judge

FILE = "volume.jsonl"
KS = (8, 64)
BASELINE = "pymetis/volume"

Solve = Callable[[int], npt.ArrayLike]
"""Called as `solve(seed)`; returns the parts."""
Case = tuple[str, int]
"""Graph and number of parts."""


def _jetpy(options: dict[str, Any], graph: jetpy.Graph, k: int) -> Solve:
    def solve(seed: int) -> npt.ArrayLike:
        return jetpy.partition(graph, k, **options, seed=seed, backend="cpu", threads=1).parts

    jetpy.partition(jetpy.generators.grid(40, 40), 4, **options, backend="cpu", threads=1)
    return solve


def _pymetis(objtype: str, graph: jetpy.Graph, k: int) -> Solve:
    import pymetis

    adjacency = pymetis.CSRAdjacency(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
    weights = graph.vertex_weights.astype(np.int64)

    def solve(seed: int) -> npt.ArrayLike:
        options = pymetis.Options(ufactor=round(1000 * IMBALANCE), seed=seed)
        options.objtype = int(getattr(pymetis.ObjType, objtype))
        return pymetis.part_graph(
            k, adjacency, vweights=weights, options=options, recursive=False
        ).vertex_part

    return solve


def _mtkahypar(graph: jetpy.Graph, k: int) -> Solve:
    import mtkahypar

    library, context = default_mtkahypar(1)
    context.set_partitioning_parameters(k, IMBALANCE, mtkahypar.Objective.KM1)
    rows = np.split(graph.indices, graph.indptr[1:-1])
    nets = [[v, *row.tolist()] for v, row in enumerate(rows)]
    weights = graph.vertex_weights.tolist()
    hypergraph = library.create_hypergraph(context, graph.n, graph.n, nets, weights, [1] * graph.n)

    def solve(seed: int) -> npt.ArrayLike:
        mtkahypar.set_seed(seed)
        return np.asarray(hypergraph.partition(context).get_partition())

    return solve


TOOLS: dict[str, Callable[[jetpy.Graph, int], Solve]] = {
    "jetpy/cut": partial(_jetpy, {}),
    "jetpy/volume": partial(_jetpy, {"objective": "volume"}),
    "pymetis/cut": partial(_pymetis, "CUT"),
    BASELINE: partial(_pymetis, "VOL"),
    "mtkahypar/km1": _mtkahypar,
}


def solve_all(tool: str, folder: Path, k: int, seeds: list[int]) -> Record:
    """Partition with each seed, check the parts and return the results."""
    graph = load_arrays(folder)
    solve = TOOLS[tool](graph, k)
    job = Job(graph, folder, "default", 1)
    volumes, balanced, seconds = [], [], []
    for seed in seeds:
        start = perf_counter()
        parts = np.asarray(solve(seed), np.int32)
        seconds.append(round(perf_counter() - start, 6))
        volumes.append(communication_volume(graph, parts))
        balanced.append(judge(job, parts, k).feasible)
    return {"volumes": volumes, "balanced": balanced, "seconds": seconds}


def measure(instance: Instance, options: argparse.Namespace, done: set[Any]) -> Iterator[Record]:
    """Measure the missing cases of a graph, with a new process for each tool and k."""
    todo = [
        (k, tool)
        for k in options.ks
        for tool in options.tools
        if (instance.name, k, tool, tuple(options.seeds)) not in done
    ]
    if not todo:
        return
    graph = instance.load()
    fixed = {"graph": instance.name, "class": instance.cls, "n": graph.n, "m": graph.m}
    with tempfile.TemporaryDirectory() as folder:
        save_arrays(Path(folder), graph)
        for k, tool in todo:
            case = f"{instance.name} k={k}"
            note(f"{case} {tool}")
            arguments = ("--child", tool, folder, k, "--seeds", *options.seeds)
            with failures_noted(tool, case):
                found = run_module("bench.volume", *arguments, threads=1)
                yield {**fixed, "k": k, "tool": tool, "seeds": options.seeds, **found}


def run(options: argparse.Namespace) -> None:
    """Measure the missing cases and append each record to the file at once."""
    path = options.results / FILE
    done = {
        (record["graph"], record["k"], record["tool"], tuple(record["seeds"]))
        for record in read_records(path)
    }
    for instance in selected(options):
        for record in measure(instance, options, done):
            append_record(path, record)


def median_of(records: Mapping[Case, Record], case: Case, field: str) -> float | None:
    """Return the median over the balanced runs of a case, or None if there are none."""
    return median_of_feasible(records[case], field) if case in records else None


def summarise(records: list[Record], markdown: bool) -> None:
    """Print tables of volumes and times divided by the baseline's, and of balanced runs."""
    found = by_tool(records, "graph", "k")
    baseline = found.get(BASELINE, {})
    tools = [tool for tool in TOOLS if tool in found and tool != BASELINE]
    cases = list(dict.fromkeys((record["graph"], record["k"]) for record in records))
    for field in ("volumes", "seconds"):
        rows, ratios = [], {}
        for case in cases:
            base = median_of(baseline, case, field)
            values = [median_of(found[tool], case, field) for tool in tools]
            ratios[case] = [value / base if value and base else None for value in values]
            base_text = "-" if base is None else f"{base:,.6g}"
            rows.append([case[0], str(case[1]), base_text, *map(ratio_text, ratios[case])])
        for k in sorted({k for _, k in cases}):
            columns = zip(*(row for case, row in ratios.items() if case[1] == k), strict=True)
            rows.append(["geometric mean", str(k), "", *map(mean_text, columns)])
        columns = zip(*ratios.values(), strict=True)
        rows.append(["geometric mean", "all", "", *map(mean_text, columns)])
        title = f"{field}: {BASELINE}, and ratios to it, medians of the balanced runs"
        show(title, ["graph", "k", BASELINE, *tools], rows, left=1, markdown=markdown)
    balanced = [
        [
            tool,
            f"{sum(sum(r['balanced']) for r in tool_records.values())}",
            f"{sum(len(r['balanced']) for r in tool_records.values())}",
        ]
        for tool, tool_records in found.items()
    ]
    show("balanced runs", ["tool", "balanced", "runs"], balanced, markdown=markdown)


def main() -> None:
    """Measure the missing cases, then print the tables of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.volume", description=__doc__)
    add_options(parser)
    parser.add_argument("--ks", nargs="+", type=int, default=KS)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    add_results_option(parser)
    add_markdown_option(parser)
    parser.add_argument("--child", nargs=3, metavar=("TOOL", "DIR", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        answer = answering()
        tool, folder, k = options.child
        with unavailability_answered(answer):
            answer(solve_all(tool, Path(folder), int(k), options.seeds))
        return
    if options.graphs or options.generated:
        run(options)
    records = read_records(options.results / FILE)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    summarise(records, options.markdown)


if __name__ == "__main__":
    main()
