"""Communication volumes, beside those of METIS and Mt-KaHyPar; goes on where it stopped.

METIS gets `objtype=vol`, and once more as it is. Mt-KaHyPar gets the hypergraph whose nets are the
closed neighbourhoods of the vertices: the volume is the sum over its nets of the number of parts
that they touch, less one.

Without --graphs and --generated it only prints the table of what it has.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from bench.child import Absent, run_module
from bench.instances import Instance, add_options, chosen
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from bench.tools import IMBALANCE
from jetpy.problem.metrics import communication_volume
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays, save_arrays
from jetpy.study.tools import Job
from jetpy.study.verdict import judge

FILE = "volume.jsonl"
KS = (8, 64)
BASELINE = "pymetis/volume"

Solve = Callable[[int], npt.ArrayLike]
"""Partitions with a seed."""
Record = dict[str, Any]
Case = tuple[str, int]
"""Graph and number of parts."""


def _jetpy(options: dict[str, Any], graph: jetpy.Graph, k: int) -> Solve:
    def solve(seed: int) -> npt.ArrayLike:
        own: dict[str, Any] = {"seed": seed, "backend": "cpu", "threads": 1}
        return jetpy.partition(graph, k, **options, **own).parts

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

    library = mtkahypar.initialize(1, False)
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.logging = False
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


def answer_for(tool: str, folder: Path, k: int, seeds: list[int]) -> Record:
    """Partition with each seed, and check the parts here."""
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
    """Run what is missing of a graph, each tool and number of parts in a process of its own."""
    todo = [
        (k, tool)
        for k in options.ks
        for tool in options.tools
        if (instance.name, k, tool, tuple(options.seeds)) not in done
    ]
    if not todo:
        return
    graph = instance.load()
    about = {"graph": instance.name, "class": instance.cls, "n": graph.n, "m": graph.m}
    with tempfile.TemporaryDirectory() as folder:
        save_arrays(Path(folder), graph)
        for k, tool in todo:
            note(f"{instance.name} k={k} {tool}")
            arguments = ("--child", tool, folder, k, "--seeds", *options.seeds)
            try:
                found = run_module("bench.volume", *arguments, threads=1)
            except Absent as reason:
                note(str(reason))
                continue
            yield {**about, "k": k, "tool": tool, "seeds": options.seeds, **found}


def run(options: argparse.Namespace) -> None:
    """Measure what the file lacks, and add it at once."""
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / FILE
    done = {
        (record["graph"], record["k"], record["tool"], tuple(record["seeds"]))
        for record in read_records(path)
    }
    for instance in chosen(options):
        if options.max_n and instance.n > options.max_n:
            continue
        for record in measure(instance, options, done):
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")


def median_of(record: Record, what: str) -> float | None:
    """Median over the balanced runs; None if there are none."""
    found = [value for value, good in zip(record[what], record["balanced"], strict=True) if good]
    return median(found) if found else None


def ratio(found: dict[str, dict[Case, Record]], tool: str, case: Case, what: str) -> float | None:
    """A tool's median over the baseline's; None where one has none, or has 0."""
    both = [found.get(name, {}).get(case) for name in (tool, BASELINE)]
    own, theirs = (None if record is None else median_of(record, what) for record in both)
    return own / theirs if own and theirs else None


def summarise(records: list[Record], markdown: bool) -> None:
    """Print a table of volumes and one of times, over METIS's by volume, and of balanced runs."""
    found: dict[str, dict[Case, Record]] = {}
    for record in records:
        found.setdefault(record["tool"], {})[record["graph"], record["k"]] = record
    tools = [tool for tool in TOOLS if tool in found and tool != BASELINE]
    cases = list(dict.fromkeys((record["graph"], record["k"]) for record in records))
    for what in ("volumes", "seconds"):
        ratios = {case: [ratio(found, tool, case, what) for tool in tools] for case in cases}
        rows = [
            [graph, str(k), _number(found.get(BASELINE, {}).get((graph, k)), what), *_texts(row)]
            for (graph, k), row in ratios.items()
        ]
        for k in sorted({k for _, k in cases}):
            columns = zip(*(row for (_, own), row in ratios.items() if own == k), strict=True)
            rows.append(["geometric mean", str(k), "", *_texts([_mean(c) for c in columns])])
        means = [_mean(column) for column in zip(*ratios.values(), strict=True)]
        rows.append(["geometric mean", "all", "", *_texts(means)])
        title = f"{what}: {BASELINE}, and ratios to it, medians of the balanced runs"
        show(title, ["graph", "k", BASELINE, *tools], rows, left=1, markdown=markdown)
    balanced = [
        [
            tool,
            f"{sum(sum(r['balanced']) for r in own.values())}",
            f"{sum(len(r['balanced']) for r in own.values())}",
        ]
        for tool, own in found.items()
    ]
    show("balanced runs", ["tool", "balanced", "runs"], balanced, markdown=markdown)


def _number(record: Record | None, what: str) -> str:
    value = None if record is None else median_of(record, what)
    return "-" if value is None else f"{value:,.6g}"


def _mean(values: tuple[float | None, ...]) -> float | None:
    known = [value for value in values if value is not None]
    return geometric_mean(known) if known else None


def _texts(values: list[float | None]) -> list[str]:
    return ["-" if value is None else f"{value:.3f}" for value in values]


def main() -> None:
    """Measure what is missing, then print the table of all there is."""
    parser = argparse.ArgumentParser(prog="python -m bench.volume", description=__doc__)
    add_options(parser)
    parser.add_argument("--max-n", type=int, metavar="N", help="no graphs with more vertices")
    parser.add_argument("--ks", nargs="+", type=int, default=KS)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--child", nargs=3, metavar=("TOOL", "DIR", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        answer = answering()
        tool, folder, k = options.child
        try:
            answer(answer_for(tool, Path(folder), int(k), options.seeds))
        except ImportError as error:
            answer({"absent": str(error)})
        return
    if options.graphs or options.generated:
        run(options)
    records = read_records(options.results / FILE)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    summarise(records, options.markdown)


if __name__ == "__main__":
    main()
