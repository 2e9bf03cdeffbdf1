"""The roofline of a back end: ``python -m jetpy.study.triad BACKEND THREADS``.

Triad reads two arrays and writes a third. On large arrays it measures the memory bandwidth, on one
entry the minimum time of a launch. Source: McCalpin, "Memory bandwidth and machine balance in
current high performance computers", IEEE TCCA Newsletter, 1995.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np

from jetpy.device.backends import get_backend
from jetpy.engines.base import Backend
from jetpy.errors import BackendError
from jetpy.study.answers import answering

ENTRIES = 2**25
TIMES = 10


@dataclass(frozen=True)
class Roofline:
    """Roofline of a back end: the limits of all launches.

    Attributes
    ----------
    bandwidth : float
        Bytes per second, to and from memory.
    latency : float
        Seconds of a launch over one index, including the wait for its end.
    """

    bandwidth: float
    latency: float


def roofline(backend: Backend, entries: int = ENTRIES, times: int = TIMES) -> Roofline:
    """Measure the roofline of a back end: the best of several launches.

    Raises
    ------
    BackendError
        If the result is wrong.
    """
    from jetpy.workloads.common.triad import triad

    left, right, total = (backend.full(entries, value, np.int64) for value in (1, 2, 0))

    def seconds(n: int) -> float:
        backend.synchronize()
        start = perf_counter()
        backend.parallel_for(n, triad, left=left, right=right, factor=3, total=total)
        backend.synchronize()
        return perf_counter() - start

    def best(n: int) -> float:
        seconds(n)  # compiles, and touches all memory
        return min(seconds(n) for _ in range(times))

    whole, single = best(entries), best(1)
    if not (backend.to_host(total) == 7).all():
        raise BackendError(f"{backend.name} computes a wrong result for Triad; run jetpy doctor")
    return Roofline(bandwidth=float(3 * total.nbytes / whole), latency=single)


def main() -> None:
    """Answer with the roofline, or with the reason why the back end is absent."""
    answer = answering()
    name, threads = sys.argv[1:]
    try:
        answer(asdict(roofline(get_backend(name, int(threads)))))
    except BackendError as error:
        answer({"absent": str(error)})


if __name__ == "__main__":
    main()
