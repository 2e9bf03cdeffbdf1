"""The components of Jet: cuts and times of the refinement with and without each of them.

Table 3 of Gilbert et al., "Jet", SISC 2024 (section 7.1.4): the baseline moves vertices into their
best connected part, without locks and afterburner. Further variants rebalance only weakly or only
strongly, or have another phi. All other options are those of the preset jet.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jetpy
from bench.determinism import digest
from bench.harness import SEEDS, Experiment, Option, among
from bench.records import Record
from bench.tables import mean_text, ratio_text, show
from jetpy.study.arrays import load_arrays

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
KEY = "backend", "graph", "k", "variant", "seed"
"""Fields that identify a case."""


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Partition a graph by each variant, after a run that loads the kernels."""
    graph, threads = load_arrays(Path(folder)), settings["threads"]

    def run(case: Record) -> jetpy.Partition:
        how: dict[str, Any] = {name: case[name] for name in ("seed", "backend")}
        changes = VARIANTS[case["variant"]]
        return jetpy.partition(
            graph, case["k"], preset="jet", options=changes, threads=threads, **how
        )

    run(cases[0])
    for case in cases:
        result = run(case)
        yield {
            "threads": result.threads,
            "cut": result.cut,
            "feasible": result.feasible,
            "refine": round(result.seconds["refine"], 5),
            "iterations": sum(level.iterations for level in result.levels),
            "parts": digest(result.parts),
        }


def _case(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in KEY)


def ratios(records: Iterable[Record], variant: str, field: str) -> list[float]:
    """Return the baseline's value / a variant's, for each case where both are above 0."""
    values = {_case(record): record[field] for record in records}
    found = []
    for (backend, graph, k, name, seed), value in values.items():
        baseline = values.get((backend, graph, k, BASELINE, seed))
        if name == variant and baseline and value:
            found.append(baseline / value)
    return found


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print a table of cuts and times by variant for each back end."""
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
        show(title, headers, rows, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="components",
    doc=__doc__,
    options={
        "ks": (8, 64),
        "variants": among(VARIANTS),
        "seeds": SEEDS,
        "backends": ("cpu",),
        "threads": Option(None, "number of CPU threads; by default all", type=int),
    },
    measure=measure,
    show=summarise,
    vary={"backend": "backends", "k": "ks", "variant": "variants", "seed": "seeds"},
    together=["k", "variant", "seed"],
    tool="backend",
)

if __name__ == "__main__":
    EXPERIMENT.main()
