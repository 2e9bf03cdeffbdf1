"""Limits of part weights asked for and reached, for each option with each other one.

Each row combines one kind of limit with one other option. NumPy counts all weights again. The last
columns compare the cut and the processor time with those of the same option without limits.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

import jetpy
from bench.tables import add_markdown_option, mean_text, note, show

K = 12
Options = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A graph with several of its vertices weighing 0, and what may be asked of it."""

    graph: jetpy.Graph
    seed: int

    def limits(self) -> dict[str, Options]:
        """Return the options of each kind of limit by name."""
        mean = self.graph.total_vertex_weight // K
        uneven = np.linspace(0.5, 1.5, K) * mean
        return {
            "default": {},
            "lower 0.1": {"lower_imbalance": 0.1},
            "lower 0.03": {"lower_imbalance": 0.03},
            "lower 0.01, upper 0.01": {"lower_imbalance": 0.01, "imbalance": 0.01},
            "max 1.2 mean": {"max_weights": int(1.2 * mean)},
            "min 0.9, max 1.1 mean": {
                "min_weights": int(0.9 * mean),
                "max_weights": int(1.1 * mean),
            },
            "min and max of each part": {
                "min_weights": (0.95 * uneven).astype(int),
                "max_weights": (1.05 * uneven).astype(int) + 1,
            },
        }

    def others(self) -> dict[str, Options]:
        """Return each other option by name."""
        n, rng = self.graph.n, np.random.default_rng(self.seed)
        some = np.where(rng.random(n) < 0.02, rng.integers(0, K, n), -1)
        groups = np.full(n, -1)
        groups[rng.permutation(n)[: n // 50]] = np.arange(n // 50) // 3
        several = np.stack([self.graph.vertex_weights, rng.integers(0, 5, n)], axis=1)
        return {
            "nothing": {},
            "fixed": {"fixed": some},
            "home": {"home": np.arange(n) * K // n, "migration": 0.2},
            "together": {"together": groups},
            "connected": {"connected": True},
            "volume": {"objective": "volume"},
            "two weights": {"vertex_weights": several},
            "G-kway": {"preset": "gkway"},
        }


def cases(count: int) -> Iterator[Case]:
    """Yield graphs that nothing was tuned on, with weights from 0 to 20."""
    for seed in range(count):
        for graph in (
            jetpy.generators.delaunay(6000, seed=1000 + seed),
            jetpy.generators.grid(70 + seed, 80),
            jetpy.generators.random_geometric(6000, seed=1000 + seed),
            jetpy.generators.rmat(12, 8, seed=1000 + seed),
        ):
            weights = np.random.default_rng(seed).integers(0, 21, graph.n)
            yield Case(jetpy.as_graph(graph, vertex_weights=weights), seed)


@dataclass(frozen=True)
class Run:
    """Whether a run kept all limits, its least and greatest shares of them, cut and seconds."""

    kept: bool
    lowest: float
    highest: float
    cut: int
    seconds: float


def measure(case: Case, options: Options) -> Run:
    """Partition a graph, and count the weights of the parts."""
    started = process_time()
    found = jetpy.partition(case.graph, K, seed=case.seed, backend="cpu", threads=1, **options)
    seconds = process_time() - started
    held = np.zeros(found.limits.shape, np.int64)
    np.add.at(held, found.parts, options.get("vertex_weights", case.graph.vertex_weights))
    lower, upper = found.lower_limits, found.limits
    kept = bool(((lower <= held) & (held <= upper)).all())
    if (kept, held.tolist()) != (found.feasible, found.part_weights.tolist()):
        raise AssertionError(f"{case.graph.name}: the result reports other weights")
    lowest, highest = float((held / lower.clip(1)).min()), float((held / upper).max())
    return Run(kept, lowest, highest, found.cut, seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="graphs of each of four kinds")
    add_markdown_option(parser)
    options = parser.parse_args()
    measure(next(cases(1)), {})  # loads the kernels
    runs: dict[tuple[str, str], list[Run]] = {}
    for case in cases(options.seeds):
        note(case.graph.name)
        for other, own in case.others().items():
            for limits, bounds in case.limits().items():
                found = measure(case, {**own, **of_all_weights(bounds, own)})
                runs.setdefault((limits, other), []).append(found)
    headers = ("limits", "other option", "kept", "least / lower", "most / upper", "cut", "time")
    rows = [
        row(limits, other, found, runs["default", other]) for (limits, other), found in runs.items()
    ]
    show(f"Limits asked for and reached, k = {K}", headers, rows, left=2, markdown=options.markdown)


def row(limits: str, other: str, runs: list[Run], plain: list[Run]) -> tuple[str, ...]:
    """Return a row of the table; `plain` are the runs without these limits."""
    has_lower = "lower" in limits or "min" in limits
    cuts = [(run.cut + 1) / (other.cut + 1) for run, other in zip(runs, plain, strict=True)]
    times = [run.seconds / other.seconds for run, other in zip(runs, plain, strict=True)]
    return (
        limits,
        other,
        f"{sum(run.kept for run in runs)} of {len(runs)}",
        f"{min(run.lowest for run in runs):.3f}" if has_lower else "-",
        f"{max(run.highest for run in runs):.3f}",
        mean_text(cuts),
        mean_text(times, 2),
    )


def of_all_weights(bounds: Options, own: Options) -> Options:
    """Return the bounds for the weights of a run: with two weights, the second has wide ones."""
    if "vertex_weights" not in own:
        return bounds
    wide = {"min_weights": 0, "max_weights": int(own["vertex_weights"][:, 1].sum())}
    return {
        name: each
        if name not in wide
        else np.stack([np.broadcast_to(each, K), np.full(K, wide[name])], axis=1)
        for name, each in bounds.items()
    }


if __name__ == "__main__":
    main()
