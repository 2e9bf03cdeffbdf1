"""The components of Jet: cuts and times of the refinement with and without each of them.

Table 3 of Gilbert et al., "Jet", SISC 2024 (section 7.1.4): the baseline moves vertices into their
best connected part, without locks and afterburner. Further variants rebalance only weakly or only
strongly, or have another phi. All other options are those of the preset jet.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jetpy
from bench.fingerprint import digest
from bench.gpu import available_backends
from bench.instances import Instance, add_options, selected
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import add_markdown_option, mean_text, note, ratio_text, show

NO_NEGATIVE_GAINS = {"refine.finest_ratios": (0,), "refine.coarse_ratios": (0,)}
BASELINE = "label propagation"
VARIANTS: dict[str, Mapping[str, Any]] = {
    BASELINE: {"refine.afterburner": False, "refine.locks": False, **NO_NEGATIVE_GAINS},
    "locks": {"refine.afterburner": False, **NO_NEGATIVE_GAINS},
    "weak afterburner": {"refine.locks": False, **NO_NEGATIVE_GAINS},
    "full afterburner": {"refine.locks": False},
    "Jetlp": {},
    "weak rebalancing": {"refine.weak_rounds": None},
    "strong rebalancing": {"refine.weak_rounds": 0},
    "phi = 0.99": {"refine.tolerance": 0.99},
    "phi = 0.9999": {"refine.tolerance": 0.9999},
}
"""Options of the preset jet that each variant changes."""
PAPER = {
    "locks": 1.000,
    "weak afterburner": 1.009,
    "full afterburner": 1.030,
    "Jetlp": 1.052,
    "phi = 0.99": 1.052 / 1.011,
    "phi = 0.9999": 1.052 * 1.005,
}
"""Cut of the baseline divided by that of each variant in the paper (Table 3 and section 7.1.4)."""

FIELDS = "cut", "refine", "iterations"


def measure(
    instance: Instance,
    graph: jetpy.Graph,
    k: int,
    variant: str,
    seed: int,
    backend: str,
    threads: int | None,
) -> Record:
    """Partition a graph by a variant and return the record."""
    result = jetpy.partition(
        graph,
        k,
        preset="jet",
        options=VARIANTS[variant],
        seed=seed,
        backend=backend,
        threads=threads,
    )
    return {
        "graph": instance.name,
        "class": instance.cls,
        "k": k,
        "variant": variant,
        "seed": seed,
        "backend": backend,
        "threads": result.threads,
        "cut": result.cut,
        "feasible": result.feasible,
        "refine": round(result.seconds["refine"], 5),
        "iterations": sum(level.iterations for level in result.levels),
        "parts": digest(result.parts),
    }


def run(instances: Iterable[Instance], options: argparse.Namespace) -> None:
    """Measure the missing cases, each after a run that loads the kernels."""
    path = options.results / "components.jsonl"
    done = {_case(record) for record in read_records(path)}
    for backend in available_backends(options):
        for instance in instances:
            graph = None
            for k in options.ks:
                for variant in options.variants:
                    for seed in options.seeds:
                        if (backend, instance.name, k, variant, seed) in done:
                            continue
                        if graph is None:
                            graph = instance.load()
                            measure(instance, graph, k, variant, seed, backend, options.threads)
                        record = measure(
                            instance, graph, k, variant, seed, backend, options.threads
                        )
                        append_record(path, record)
            note(f"{instance.name} {backend}")


def _case(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("backend", "graph", "k", "variant", "seed"))


def ratios(records: Iterable[Record], variant: str, field: str) -> list[float]:
    """Return the baseline's value / a variant's, for each case where both are above 0."""
    values = {_case(record): record[field] for record in records}
    found = []
    for (backend, graph, k, name, seed), value in values.items():
        baseline = values.get((backend, graph, k, BASELINE, seed))
        if name == variant and baseline and value:
            found.append(baseline / value)
    return found


def summarise(records: Sequence[Record], markdown: bool) -> None:
    """Print the cuts and times by variant and class, and whether the back ends are equal."""
    for backend in sorted({record["backend"] for record in records}):
        own = [record for record in records if record["backend"] == backend]
        variants = [name for name in VARIANTS if any(r["variant"] == name for r in own)]
        rows = [
            [
                variant,
                ratio_text(PAPER.get(variant)),
                *(mean_text(ratios(own, variant, field)) for field in FIELDS),
                str(sum(r["variant"] == variant and not r["feasible"] for r in own)),
            ]
            for variant in variants
        ]
        title = f"{backend}: {BASELINE} / variant"
        headers = ["variant", "cut (paper)", "cut", "refinement time", "iterations", "infeasible"]
        show(title, headers, rows, markdown=markdown)
        groups = {c: [r for r in own if r["class"] == c] for c in sorted({r["class"] for r in own})}
        rows = [
            [c, *(mean_text(ratios(group, variant, "cut")) for variant in variants[1:])]
            for c, group in groups.items()
        ]
        show(f"{backend}: cut by class", ["class", *variants[1:]], rows, markdown=markdown)
    parts: dict[tuple[Any, ...], set[str]] = {}
    backends: dict[tuple[Any, ...], set[str]] = {}
    for record in records:
        case = _case(record)[1:]
        parts.setdefault(case, set()).add(record["parts"])
        backends.setdefault(case, set()).add(record["backend"])
    shared = [case for case, names in backends.items() if len(names) > 1]
    equal = sum(len(parts[case]) == 1 for case in shared)
    print(f"{equal} of {len(shared)} cases that ran on several back ends have equal parts")


def main() -> None:
    """Measure the missing cases, then print the tables of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.components", description=__doc__)
    add_options(parser)
    parser.add_argument("--ks", nargs="+", type=int, default=[8, 64])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--backends", nargs="+", default=["cpu"])
    parser.add_argument("--threads", type=int, help="number of CPU threads; by default all")
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    if options.graphs or options.generated:
        run(selected(options), options)
    summarise(read_records(options.results / "components.jsonl"), options.markdown)


if __name__ == "__main__":
    main()
