"""Milliseconds of `jetpy.partition` on small meshes, in turn with each preset and back end."""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter

import jetpy
from bench.gpu import available_backends
from bench.tables import add_markdown_option, note, show
from jetpy.device.backends import BACKENDS


def milliseconds(
    graphs: list[jetpy.Graph], options: argparse.Namespace
) -> dict[tuple[str, str, str], list[float]]:
    """Return the times of all runs of each back end, preset and graph.

    Each of `--rounds` runs every combination with the next seed.
    """
    combinations = [
        (graph, backend, preset)
        for backend in available_backends(options)
        for preset in options.presets
        for graph in graphs
    ]

    def run(graph: jetpy.Graph, backend: str, preset: str, seed: int) -> float:
        start = perf_counter()
        jetpy.partition(
            graph, options.k, seed=seed, preset=preset, backend=backend, threads=options.threads
        )
        return 1000 * (perf_counter() - start)

    found: dict[tuple[str, str, str], list[float]] = {}
    for graph, backend, preset in combinations:
        run(graph, backend, preset, 0)  # warm-up
        note(f"{graph.name} {backend} {preset} is ready")
    for number in range(options.rounds):
        for graph, backend, preset in combinations:
            times = found.setdefault((backend, preset, graph.name), [])
            times.append(run(graph, backend, preset, number % options.seeds))
    return found


def main() -> None:
    """Partition the meshes and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.small", description=__doc__)
    parser.add_argument(
        "--vertices", type=int, nargs="+", default=[4_000, 40_000], help="sizes of the meshes"
    )
    parser.add_argument("-k", type=int, default=8, help="parts")
    parser.add_argument("--presets", nargs="+", default=["fast", "default"])
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=["cuda", "cpu"])
    parser.add_argument("--threads", type=int, help="CPU threads; all by default")
    parser.add_argument("--rounds", type=int, default=60, help="runs of each combination")
    parser.add_argument("--seeds", type=int, default=3, help="seeds that the rounds use in turn")
    add_markdown_option(parser)
    options = parser.parse_args()
    graphs = [jetpy.generators.delaunay(n) for n in options.vertices]
    rows = [
        [*case, *(f"{value:.2f}" for value in (min(times), median(times), max(times)))]
        for case, times in milliseconds(graphs, options).items()
    ]
    headers = ["back end", "preset", "graph", "min", "median", "max"]
    show(
        f"Milliseconds for k = {options.k}, {options.rounds} runs",
        headers,
        rows,
        left=3,
        markdown=options.markdown,
    )


if __name__ == "__main__":
    main()
