"""G-kway compared with the preset `default`: cuts, times and the balance of coarse vertices."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import mean

from bench.instances import Instance, add_options, selected
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import add_markdown_option, mean_text, note, show
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
    return choose("gkway", options={"coarsen.score": False})


VARIANTS: dict[str, Callable[[], Options]] = {
    "default": lambda: choose("default"),
    "gkway": lambda: choose("gkway"),
    "gkway without score": _without_score,
    "gkway, constrained": lambda: choose("gkway", "constrained"),
    "gkway, two-hop": lambda: choose("gkway", "two-hop"),
    "gkway, jet": lambda: choose("gkway", None, "jet"),
}
"""Presets, some of them with another coarsening or refinement."""
BASELINE, SCORED, UNSCORED = "default", "gkway", "gkway without score"
WEIGHED = ("gkway", "gkway without score", "gkway, constrained")
"""Variants for which the program compares the weights of coarse vertices."""


def weight_ratios(backend: Backend, graph: Graph, problem: Problem) -> Iterator[float]:
    """Yield the maximum divided by the mean vertex weight of each coarse level of the driver."""
    options, fine = problem.options.coarsen, upload(backend, graph)
    target, seed = coarsest_size(options, graph.n, problem.k), problem.seed
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
    """Partition a graph with each seed and return the record."""
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
        if variant in WEIGHED:
            levels = list(weight_ratios(backend, graph, problem)) or [1.0]
            record["coarsest"].append(levels[-1])
            record["worst"].append(max(levels))
    return record


def ratios(records: Iterable[Record], variant: str, baseline: str, field: str) -> list[float]:
    """Return the mean of a variant / the mean of the baseline for each case where none is 0."""
    means = {(r["graph"], r["k"], r["variant"]): mean(r[field]) for r in records}
    found = []
    for (graph, k, name), value in means.items():
        theirs = means.get((graph, k, baseline))
        if name == variant and theirs and value:
            found.append(value / theirs)
    return found


def table(
    records: Sequence[Record], values: Callable[[Sequence[Record]], list[str]]
) -> list[list[str]]:
    """Return a row per class and k, and one per class, with the values of the cases."""
    rows = []
    for cls in sorted({record["class"] for record in records}, key=str.lower):
        of_class = [record for record in records if record["class"] == cls]
        ks = sorted({record["k"] for record in of_class})
        for label, group in [
            *((str(k), [record for record in of_class if record["k"] == k]) for k in ks),
            ("all", of_class),
        ]:
            graphs = len({record["graph"] for record in group})
            rows.append([cls, label, str(graphs), *values(group)])
    return rows


def summarise(records: Sequence[Record], markdown: bool) -> None:
    """Print the tables of all variants that the records contain."""
    measured = {record["variant"] for record in records}
    others = [name for name in VARIANTS if name in measured and name != BASELINE]
    for field, title in (("cuts", "mean cut"), ("seconds", "mean time")):

        def cells(group: Sequence[Record], field: str = field) -> list[str]:
            return [mean_text(ratios(group, name, BASELINE, field)) for name in others]

        headers = ["class", "k", "graphs", *others]
        title = f"{title} divided by that of {BASELINE}"
        show(title, headers, table(records, cells), left=2, markdown=markdown)

    def ablation(group: Sequence[Record]) -> list[str]:
        found = ratios(group, UNSCORED, SCORED, "cuts")
        largest = f"{max(found):.3f}" if found else "-"
        return [mean_text(found), largest, str(sum(ratio > 1 for ratio in found))]

    if {SCORED, UNSCORED} <= measured:
        headers = ["class", "k", "graphs", "geometric mean", "largest", "worse in"]
        title = f"cut of {UNSCORED} divided by that of {SCORED}"
        show(title, headers, table(records, ablation), left=2, markdown=markdown)
    weighed = [name for name in WEIGHED if name in measured]

    def balance(group: Sequence[Record]) -> list[str]:
        return [
            mean_text(mean(r[field]) for r in group if r["variant"] == name)
            for name in weighed
            for field in ("coarsest", "worst")
        ]

    if weighed:
        headers = ["class", "k", "graphs"]
        headers += [f"{name}: {level}" for name in weighed for level in ("coarsest", "worst level")]
        title = "weights of coarse vertices: maximum / mean"
        show(title, headers, table(records, balance), left=2, markdown=markdown)
    for record in records:
        if record["feasible"] < len(record["seeds"]):
            print(f"infeasible: {record['graph']} k={record['k']} {record['variant']}")


def main() -> None:
    """Measure the missing cases, then print the tables of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.coarsening", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--classes",
        nargs="+",
        default=["circuit", "mesh", "Delaunay"],
        help="use only graphs of these classes",
    )
    parser.add_argument("--ks", nargs="+", type=int, default=[2, 8, 32])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto")
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    path = options.results / "coarsening.jsonl"
    done = {(r["graph"], r["k"], r["variant"]) for r in read_records(path)}
    backend = get_backend(options.backend, options.threads)
    backend.compile(kernel_modules())
    for instance in selected(options) if options.graphs or options.generated else []:
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
            append_record(path, record)
            note(
                f"{instance.name} k={k} {variant}: cut {mean(record['cuts']):,.0f}, "
                f"{mean(record['seconds']):.2f} s"
            )
    summarise(read_records(path), options.markdown)


if __name__ == "__main__":
    main()
