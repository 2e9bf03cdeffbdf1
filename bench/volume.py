"""Communication volumes of jetpy, METIS and Mt-KaHyPar.

jetpy and METIS minimise the volume (METIS with objtype=vol) and, for comparison, the cut.
Mt-KaHyPar partitions the hypergraph whose nets are the closed neighbourhoods of the vertices. Its
connectivity metric, the sum over the nets of the number of parts of a net minus 1, is the volume.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from bench.comparisons import median_of_feasible
from bench.harness import SEEDS, Experiment, among
from bench.records import Record, by_tool
from bench.tables import mean_text, ratio_text, show
from bench.tools import default_mtkahypar
from jetpy.problem.metrics import communication_volume
from jetpy.study.arrays import load_arrays
from jetpy.study.tools import IMBALANCE, Job
from jetpy.study.verdict import judge

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


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Partition with each seed, check the parts and yield the results."""
    graph = load_arrays(Path(folder))
    job = Job(graph, Path(folder), "default", 1)
    for case in cases:
        k, solve = case["k"], TOOLS[case["tool"]](graph, case["k"])
        volumes, balanced, seconds = [], [], []
        for seed in case["seeds"]:
            start = perf_counter()
            parts = np.asarray(solve(seed), np.int32)
            seconds.append(round(perf_counter() - start, 6))
            volumes.append(communication_volume(graph, parts))
            balanced.append(judge(job, parts, k).feasible)
        yield {"volumes": volumes, "balanced": balanced, "seconds": seconds}


def median_of(records: Mapping[Case, Record], case: Case, field: str) -> float | None:
    """Return the median over the balanced runs of a case, or None if there are none."""
    return median_of_feasible(records[case], field) if case in records else None


def summarise(records: list[Record], options: argparse.Namespace) -> None:
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
        show(title, ["graph", "k", BASELINE, *tools], rows, left=1, markdown=options.markdown)
    balanced = [
        [
            tool,
            f"{sum(sum(r['balanced']) for r in tool_records.values())}",
            f"{sum(len(r['balanced']) for r in tool_records.values())}",
        ]
        for tool, tool_records in found.items()
    ]
    show("balanced runs", ["tool", "balanced", "runs"], balanced, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="volume",
    doc=__doc__,
    options={"ks": (8, 64), "tools": among(TOOLS), "seeds": SEEDS},
    measure=measure,
    show=summarise,
    vary={"k": "ks", "tool": "tools"},
    same=["seeds"],
)

if __name__ == "__main__":
    EXPERIMENT.main()
