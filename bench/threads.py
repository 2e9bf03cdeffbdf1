"""Calls from several Python threads at once: the same parts, and how long they take.

Each round measures every case once. Prints the medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import jetpy
from jetpy.engines.threads import available_threads

SWITCH_INTERVAL = 1e-5
"""Seconds between switches of Python threads where parts are compared."""


def calls(
    graph: jetpy.Graph, k: int, options: dict[str, object], count: int, callers: int
) -> float:
    """Return the seconds that `count` calls of `jetpy.partition` from `callers` threads take."""
    started = time.perf_counter()
    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(lambda _: jetpy.partition(graph, k, **options), range(count)))  # type: ignore[arg-type]
    return time.perf_counter() - started


def cuts(graph: jetpy.Graph, k: int, options: dict[str, object]) -> list[int]:
    """Return the different cuts of 16 calls from four threads, switched every `SWITCH_INTERVAL`."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = threads.map(lambda _: jetpy.partition(graph, k, **options).cut, range(16))  # type: ignore[arg-type]
            return sorted(set(found))
    finally:
        sys.setswitchinterval(before)


def main() -> None:
    """Compare, then time."""
    parser = argparse.ArgumentParser(prog="python -m bench.threads", description=__doc__)
    parser.add_argument("--vertices", type=int, default=200_000, help="of a Delaunay graph")
    parser.add_argument("-k", type=int, default=16)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1, help="comparisons of parts")
    parser.add_argument("--only-parts", action="store_true", help="compare parts, time nothing")
    given = parser.parse_args()
    graph, processors = jetpy.generators.delaunay(given.vertices), available_threads()
    options: dict[str, object] = {"backend": given.backend}
    expected = jetpy.partition(graph, given.k, backend="cpu", threads=1).cut
    found = [cuts(graph, given.k, options) for _ in range(given.repeat)]
    equal = sum(one == [expected] for one in found)
    print(f"{equal} of {given.repeat} times, 16 calls by 4 threads found the cut of one alone")
    if equal < given.repeat:
        raise SystemExit(f"cut {expected}, but {found}")
    if given.only_parts:
        return
    one = {**options, "threads": 1} if given.backend == "cpu" else options
    ways = {
        "1 call": (one, 1, 1),
        **{f"{n} calls at once": (one, n, n) for n in (2, 4) if n <= processors},
        "16 calls in a row": (options, 16, 1),
        "16 calls at once": (options, 16, 16),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, (how, count, callers) in ways.items():
            seconds[name].append(calls(graph, given.k, how, count, callers))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    print(f"{given.backend}, {processors} processors; calls of 1 thread, 16 calls of all threads")
    for name, median in medians.items():
        base = medians["16 calls in a row" if name.startswith("16") else "1 call"]
        print(f"{name:20}{median:8.3f} s{median / base:8.2f}")


if __name__ == "__main__":
    main()
