"""Districting plans: connected parts whose population is within a tolerance on both sides.

The graphs have as many vertices as a state has block groups, and populations as skewed: random
triangulations with lognormal weights, and grids with a few dense places.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import mean
from time import process_time

import numpy as np

import jetpy
from bench.tables import add_markdown_option, note, ratio_text, show
from jetpy.problem.metrics import components_per_part

BLOCKS = 2294
TOLERANCE = 0.01
KS = (4, 8, 17, 35)


def triangulation(seed: int) -> jetpy.Graph:
    """Return a triangulation of random points with lognormal populations."""
    graph = jetpy.generators.delaunay(BLOCKS, seed=seed)
    people = np.random.default_rng(seed).lognormal(7.0, 0.5, graph.n)
    return jetpy.as_graph(graph, vertex_weights=people.astype(int) + 1)


def places(seed: int) -> jetpy.Graph:
    """Return a grid in which the population gathers around a few points; some cells have none."""
    rows, columns = 37, 62
    graph, rng = jetpy.generators.grid(rows, columns), np.random.default_rng(seed)
    y, x = np.divmod(np.arange(graph.n), columns)
    people = rng.lognormal(5.0, 0.6, graph.n)
    for _ in range(6):
        far = np.hypot(y - rng.integers(rows), x - rng.integers(columns))
        people += rng.lognormal(7.0, 0.4) * np.exp(-far / 4)
    people[rng.random(graph.n) < 0.02] = 0
    return jetpy.as_graph(graph, vertex_weights=people.astype(int))


KINDS: dict[str, Callable[[int], jetpy.Graph]] = {"triangulation": triangulation, "places": places}


def plan(graph: jetpy.Graph, k: int, seed: int) -> tuple[bool, float, float]:
    """Return whether a plan is valid, its cut over that of an upper limit alone, and seconds."""
    started = process_time()
    found = jetpy.partition(
        graph,
        k,
        imbalance=TOLERANCE,
        lower_imbalance=TOLERANCE,
        connected=True,
        seed=seed,
        backend="cpu",
        threads=1,
    )
    seconds = process_time() - started
    plain = jetpy.partition(graph, k, imbalance=TOLERANCE, seed=seed, backend="cpu", threads=1)
    people = np.bincount(found.parts, graph.vertex_weights, k)
    share = graph.total_vertex_weight / k
    kept = (abs(people - share) <= TOLERANCE * share + 1).all()
    pieces = components_per_part(graph, found.parts, k)
    return bool(kept) and bool((pieces == 1).all()), found.cut / plain.cut, seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="first seed")
    add_markdown_option(parser)
    options = parser.parse_args()
    rows = []
    seeds = range(options.first, options.first + options.seeds)
    for kind, make in KINDS.items():
        for k in KS:
            note(f"{kind}, k = {k}")
            runs = [plan(make(seed), k, seed) for seed in seeds]
            valid = f"{sum(run[0] for run in runs)} of {len(runs)}"
            cut, seconds = mean(run[1] for run in runs), mean(run[2] for run in runs)
            rows.append((kind, f"{k}", valid, ratio_text(cut), f"{seconds:.2f}"))
    headers = ("graphs", "k", "valid", "cut", "seconds")
    title = f"Connected parts within {TOLERANCE:.0%} on both sides"
    show(title, headers, rows, markdown=options.markdown)


if __name__ == "__main__":
    main()
