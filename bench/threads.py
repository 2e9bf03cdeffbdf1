"""Times of concurrent calls of `jetpy.partition` from several Python threads.

Each round measures every case once. The table has medians.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import jetpy
from bench.harness import Experiment, Option, no_graphs
from bench.records import Record
from bench.tables import show
from jetpy.engines.threads import available_threads

BASES = {
    "1 call": "1 call",
    "2 calls at once": "1 call",
    "4 calls at once": "1 call",
    "16 calls in a row": "16 calls in a row",
    "16 calls at once": "16 calls in a row",
}
"""For each case, the case by whose time the table divides its time."""
FIELDS = ("vertices", "k", "backend", "rounds")


def seconds_of_calls(
    graph: jetpy.Graph, k: int, engine: dict[str, Any], count: int, callers: int
) -> float:
    """Return the seconds of `count` calls of `jetpy.partition` from `callers` threads."""
    start = time.perf_counter()
    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(lambda _: jetpy.partition(graph, k, **engine), range(count)))
    return time.perf_counter() - start


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Yield the median seconds of 1 to 4 calls with one thread each, and 16 with all threads."""
    processors = available_threads()
    for case in cases:
        graph, k = jetpy.generators.delaunay(case["vertices"]), case["k"]
        engine = {"backend": case["backend"]}
        single = {**engine, "threads": 1} if case["backend"] == "cpu" else engine
        jetpy.partition(graph, k, **engine)  # type: ignore[arg-type]
        calls: dict[str, tuple[dict[str, Any], int, int]] = {
            "1 call": (single, 1, 1),
            **{f"{n} calls at once": (single, n, n) for n in (2, 4) if n <= processors},
            "16 calls in a row": (engine, 16, 1),
            "16 calls at once": (engine, 16, 16),
        }
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(case["rounds"]):
            for name, how in calls.items():
                seconds[name].append(seconds_of_calls(graph, k, *how))
        medians = {name: round(median(times), 6) for name, times in seconds.items()}
        yield {"processors": processors, "seconds": medians}


def ratios(record: Record) -> dict[str, str]:
    """Return the seconds of each case divided by those of its base, which is left out."""
    own = record["seconds"]
    return {
        f"{name} / {base}": f"{own[name] / own[base]:.2f}"
        for name, base in BASES.items()
        if name in own and name != base
    }


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print a table of ratios, with a column for each record."""
    headers = [f"{record['backend']}, {record['processors']} processors" for record in records]
    columns = [ratios(record) for record in records]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [[name, *(column.get(name, "") for column in columns)] for name in names]
    title = "seconds; 1 to 4 calls use one thread each, 16 calls all threads"
    show(title, ["", *headers], rows, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="threads",
    doc=__doc__,
    options={
        "vertices": Option(200_000, "number of vertices of the Delaunay graph"),
        "k": 16,
        "backend": "cpu",
        "rounds": 5,
    },
    measure=measure,
    show=summarise,
    same=FIELDS,
    select=no_graphs,
    has_graphs=False,
    needs_arrays=False,
)

if __name__ == "__main__":
    EXPERIMENT.main()
