"""Concurrent calls of `jetpy.partition` from several Python threads: their cuts and times.

Each round measures every case once. The program prints medians and appends them to the result file.
"""

from __future__ import annotations

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import jetpy
from bench.harness import Option, parser
from bench.records import append_record
from bench.tables import show
from jetpy.engines.threads import available_threads

SWITCH_INTERVAL = 1e-5
"""Seconds between switches of Python threads while the program compares cuts."""
FILE = "threads.jsonl"
BASES = {
    "1 call": "1 call",
    "2 calls at once": "1 call",
    "4 calls at once": "1 call",
    "16 calls in a row": "16 calls in a row",
    "16 calls at once": "16 calls in a row",
}
"""For each case, the case by whose time the table divides its time."""


OPTIONS = {
    "vertices": Option(200_000, "number of vertices of the Delaunay graph"),
    "k": 16,
    "backend": "cpu",
    "rounds": 5,
    "repeat": Option(1, "how often to compare the cuts of 16 calls"),
    "only_parts": Option(False, "compare the cuts, but do not measure times"),
}


def seconds_of_calls(
    graph: jetpy.Graph, k: int, engine: dict[str, object], count: int, callers: int
) -> float:
    """Return the seconds of `count` calls of `jetpy.partition` from `callers` threads."""
    start = time.perf_counter()
    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(lambda _: jetpy.partition(graph, k, **engine), range(count)))  # type: ignore[arg-type]
    return time.perf_counter() - start


def cuts(graph: jetpy.Graph, k: int, engine: dict[str, object]) -> list[int]:
    """Make 16 calls from four threads, which switch often. Return the distinct cuts."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = threads.map(lambda _: jetpy.partition(graph, k, **engine).cut, range(16))  # type: ignore[arg-type]
            return sorted(set(found))
    finally:
        sys.setswitchinterval(before)


def main() -> None:
    """Compare the cuts, then measure the times and print the table."""
    options = parser("threads", __doc__, OPTIONS, results=True).parse_args()
    graph, processors = jetpy.generators.delaunay(options.vertices), available_threads()
    engine: dict[str, object] = {"backend": options.backend}
    expected = jetpy.partition(graph, options.k, backend="cpu", threads=1).cut
    found = [cuts(graph, options.k, engine) for _ in range(options.repeat)]
    equal = sum(distinct == [expected] for distinct in found)
    print(
        f"{equal} of {options.repeat} times, 16 calls by 4 threads found the cut of a single call"
    )
    if equal < options.repeat:
        raise SystemExit(f"a single call finds cut {expected}, 16 calls find {found}")
    if options.only_parts:
        return
    single = {**engine, "threads": 1} if options.backend == "cpu" else engine
    cases = {
        "1 call": (single, 1, 1),
        **{f"{n} calls at once": (single, n, n) for n in (2, 4) if n <= processors},
        "16 calls in a row": (engine, 16, 1),
        "16 calls at once": (engine, 16, 16),
    }
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(options.rounds):
        for name, (case_engine, count, callers) in cases.items():
            seconds[name].append(seconds_of_calls(graph, options.k, case_engine, count, callers))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    fields = ("vertices", "k", "backend", "rounds")
    record = {name: getattr(options, name) for name in fields}
    append_record(
        options.results / FILE,
        {
            **record,
            "processors": processors,
            "seconds": {name: round(value, 6) for name, value in medians.items()},
        },
    )
    rows = [
        [name, f"{value:.3f}", f"{value / medians[BASES[name]]:.2f}"]
        for name, value in medians.items()
    ]
    title = (
        f"{options.backend}, {processors} processors: 1 to 4 calls use one thread each, "
        "16 calls use all threads"
    )
    show(title, ["case", "seconds", "ratio"], rows, markdown=options.markdown)


if __name__ == "__main__":
    main()
