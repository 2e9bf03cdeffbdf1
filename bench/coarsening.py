"""G-kway beside the preset `default`: cuts and times, and how even coarse vertices are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

from bench.instances import Instance, add_options, chosen
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from jetpy import Graph
from jetpy.coarsening.methods import COARSENINGS
from jetpy.device.backends import get_backend, kernel_modules
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.multilevel.driver import partition_multilevel
from jetpy.multilevel.hierarchy import coarsest_size
from jetpy.problem.metrics import imbalance
from jetpy.problem.options import Options
from jetpy.problem.presets import choose
from jetpy.problem.problem import Problem, make_problem


def _without_score() -> Options:
    options = choose("gkway", None, None)
    return replace(options, coarsen=replace(options.coarsen, score=False))


VARIANTS: dict[str, Callable[[], Options]] = {
    "default": lambda: choose("default", None, None),
    "gkway": lambda: choose("gkway", None, None),
    "gkway without score": _without_score,
    "gkway, constrained": lambda: choose("gkway", "constrained", None),
    "gkway, two-hop": lambda: choose("gkway", "two-hop", None),
    "gkway, jet": lambda: choose("gkway", None, "jet"),
}
"""What is measured: presets, with another coarsening or refinement."""
BASELINE, SCORED, UNSCORED = "default", "gkway", "gkway without score"
EVENNESS = ("gkway", "gkway without score", "gkway, constrained")
"""Variants whose coarse vertices are weighed."""

Record = dict[str, Any]


def weigh(backend: Backend, graph: Graph, problem: Problem) -> Iterator[float]:
    """Yield max/mean of the vertex weights of each level that the driver would coarsen to."""
    options, fine = problem.options.coarsen, upload(backend, graph)
    target, seed = coarsest_size(problem.k, options.per_part), problem.seed
    while fine.n > target:
        seed += 1
        coarse, _ = COARSENINGS[options.method](backend, fine, options, problem.limit, seed, None)
        if coarse.n > options.min_shrink * fine.n or coarse.n < target // 8:
            return
        weights = backend.to_host(coarse.vertex_weights)
        yield float(weights.max() / weights.mean())
        fine = coarse


def measure(
    instance: Instance, graph: Graph, k: int, variant: str, backend: Backend, seeds: Sequence[int]
) -> Record:
    """Partition a graph once with each seed."""
    record: Record = {
        "graph": instance.name,
        "class": instance.cls,
        "k": k,
        "variant": variant,
        "seeds": list(seeds),
        "cuts": [],
        "seconds": [],
        "imbalances": [],
        "feasible": 0,
        "coarsest": [],
        "worst": [],
    }
    for seed in seeds:
        problem = make_problem(graph.total_vertex_weight, k, 0.03, seed, VARIANTS[variant]())
        outcome = partition_multilevel(backend, graph, [problem])
        excess = imbalance(graph, outcome.parts, k)
        record["cuts"].append(outcome.cut)
        record["seconds"].append(round(outcome.seconds["total"], 4))
        record["imbalances"].append(round(excess, 5))
        record["feasible"] += (1 + excess) * problem.ideal <= problem.limit + 1e-6
        if variant in EVENNESS:
            levels = list(weigh(backend, graph, problem)) or [1.0]
            record["coarsest"].append(levels[-1])
            record["worst"].append(max(levels))
    return record


def over(
    records: Iterable[Record], variant: str, baseline: str, what: str
) -> list[tuple[Record, float]]:
    """Ratio of the means of two variants in each case where neither is 0."""
    sums = {(r["graph"], r["k"], r["variant"]): mean(r[what]) for r in records}
    ratios = []
    for record in records:
        theirs = sums.get((record["graph"], record["k"], baseline))
        if record["variant"] == variant and theirs and mean(record[what]):
            ratios.append((record, mean(record[what]) / theirs))
    return ratios


def table(
    records: Sequence[Record], values: Callable[[Sequence[Record]], list[str]]
) -> list[list[str]]:
    """One row per class and k and one for all of a class, with values of its cases."""
    rows = []
    for cls in sorted({record["class"] for record in records}, key=str.lower):
        of_class = [record for record in records if record["class"] == cls]
        ks = sorted({record["k"] for record in of_class})
        for label, members in [
            *((str(k), [record for record in of_class if record["k"] == k]) for k in ks),
            ("all", of_class),
        ]:
            graphs = len({record["graph"] for record in members})
            rows.append([cls, label, str(graphs), *values(members)])
    return rows


def _geometric(values: Iterable[float]) -> str:
    found = list(values)
    return f"{geometric_mean(found):.3f}" if found else "-"


def summarise(records: Sequence[Record], markdown: bool) -> None:
    """Print the tables of the variants that there are."""
    present = {record["variant"] for record in records}
    others = [name for name in VARIANTS if name in present and name != BASELINE]
    for what, title in (("cuts", "mean cut"), ("seconds", "mean time")):

        def cells(members: Sequence[Record], what: str = what) -> list[str]:
            return [
                _geometric(r for _, r in over(members, name, BASELINE, what)) for name in others
            ]

        headers = ["class", "k", "graphs", *others]
        show(f"{title} over {BASELINE}", headers, table(records, cells), left=2, markdown=markdown)

    def ablation(members: Sequence[Record]) -> list[str]:
        ratios = [ratio for _, ratio in over(members, UNSCORED, SCORED, "cuts")]
        return [_geometric(ratios), f"{max(ratios):.3f}", str(sum(r > 1 for r in ratios))]

    if {SCORED, UNSCORED} <= present:
        headers = ["class", "k", "graphs", "geometric mean", "largest", "worse in"]
        title = f"cut of {UNSCORED} over {SCORED}"
        show(title, headers, table(records, ablation), left=2, markdown=markdown)
    weighed = [name for name in EVENNESS if name in present]

    def evenness(members: Sequence[Record]) -> list[str]:
        return [
            _geometric(mean(r[what]) for r in members if r["variant"] == name)
            for name in weighed
            for what in ("coarsest", "worst")
        ]

    if weighed:
        headers = ["class", "k", "graphs"]
        headers += [f"{name}: {what}" for name in weighed for what in ("coarsest", "worst level")]
        title = "max/mean weight of coarse vertices"
        show(title, headers, table(records, evenness), left=2, markdown=markdown)
    for record in records:
        if record["feasible"] < len(record["seeds"]):
            print(f"infeasible: {record['graph']} k={record['k']} {record['variant']}")


def main() -> None:
    """Measure what the results file still lacks, and summarise it."""
    parser = argparse.ArgumentParser(prog="python -m bench.coarsening", description=__doc__)
    add_options(parser)
    parser.add_argument("--classes", nargs="+", default=["circuit", "mesh", "Delaunay"])
    parser.add_argument("--ks", nargs="+", type=int, default=[2, 8, 32])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "coarsening.jsonl"
    done = {(r["graph"], r["k"], r["variant"]) for r in read_records(path)}
    backend = get_backend(options.backend, options.threads)
    backend.compile(kernel_modules())
    for instance in chosen(options) if options.graphs or options.generated else []:
        missing = [
            (k, variant)
            for k in options.ks
            for variant in options.variants
            if (instance.name, k, variant) not in done
        ]
        if instance.cls not in options.classes or not missing:
            continue
        graph = instance.load()
        for k, variant in missing:
            record = measure(instance, graph, k, variant, backend, options.seeds)
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
            note(
                f"{instance.name} k={k} {variant}: cut {mean(record['cuts']):,.0f}, "
                f"{mean(record['seconds']):.2f} s"
            )
    summarise(read_records(path), options.markdown)


if __name__ == "__main__":
    main()
