"""Self-check of a back end: compare each verb and atomic with NumPy.

``python -m jetpy.device.selfcheck BACKEND`` runs it in a separate process, because a broken back
end may end the process, and prints the outcome as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, Backend
from jetpy.engines.child_processes import answer_of
from jetpy.errors import BackendError
from jetpy.workloads.common.selfcheck import Tallies

SIZES = (1, 33, 2049, 1_000_003)
"""Less than two warps, several thread blocks, and many thread blocks with a partial last one."""
BUCKETS = 7
REPETITIONS = 3
PATIENCE = 900
"""Seconds after which a self-check counts as hung; compiling its kernels may take minutes."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a self-check.

    Attributes
    ----------
    missing : str
        Reason why the back end cannot run; empty if it can.
    wrong : list of str
        Wrong results and other failures.
    threads : int
    """

    missing: str = ""
    wrong: list[str] = field(default_factory=list)
    threads: int = 0


def check_apart(name: str) -> Outcome:
    """Check a back end in a separate process."""
    try:
        answer, reason = answer_of(__name__, name, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return Outcome(wrong=[f"the self-check did not end within {PATIENCE // 60} minutes"])
    return Outcome(wrong=[f"the self-check {reason}"]) if answer is None else Outcome(**answer)


def check(name: str) -> Outcome:
    """Check a back end in this process."""
    from jetpy.device.backends import get_backend

    try:
        backend = get_backend(name)
    except BackendError as error:
        return Outcome(missing=str(error))
    try:
        wrong = [words for size in SIZES for words in differences(backend, size)]
    except BackendError as error:
        return Outcome(missing=str(error))
    except Exception as error:
        wrong = [f"{type(error).__name__}: {error}"]
    return Outcome("", wrong, backend.threads)


def differences(backend: Backend, n: int) -> Iterator[str]:
    """Run the self-check's workunits over `n` indices; yield a sentence for each wrong result."""
    from jetpy.workloads.common import selfcheck as kernels

    numbers = (np.arange(n) * 40503 % 1_000_003 - 250_000).astype(np.int32)
    device = backend.from_host(numbers)

    tallies, launch = _tally(backend, device)
    launch()
    yield from _compare(backend, n, vars(tallies), _expected(numbers, 1), "for")

    tallies, launch = _tally(backend, device)
    play = backend.capture(launch)
    for _ in range(REPETITIONS):
        play()
    yield from _compare(backend, n, vars(tallies), _expected(numbers, REPETITIONS), "captured for")

    total = int(numbers.sum(dtype=np.int64))
    found = backend.reduce(n, kernels.add_up, numbers=device)
    if found != total:
        yield f"reduce over {n:,} indices: the sum is {found}, not {total}"

    starts = backend.full(n, -1, np.int64)
    found = backend.scan(n, kernels.offset, numbers=device, starts=starts)
    if found != total:
        yield f"scan over {n:,} indices: the total is {found}, not {total}"
    expected = {"offsets": np.cumsum(numbers, dtype=np.int64) - numbers}
    yield from _compare(backend, n, {"offsets": starts}, expected, "scan")


def _tally(backend: Backend, numbers: Array) -> tuple[Tallies, Callable[[], None]]:
    """Return new tallies, and a function that launches the workunit that fills them."""
    from jetpy.workloads.common import selfcheck as kernels

    n = len(numbers)
    tallies = Tallies(
        doubled=backend.full(n, 0),
        sums=backend.full(BUCKETS, 0, np.int64),
        least=backend.full(BUCKETS, 2**31 - 1),
        most=backend.full(BUCKETS, -(2**31)),
    )

    def launch() -> None:
        backend.parallel_for(n, kernels.tally, numbers=numbers, tallies=tallies, buckets=BUCKETS)

    return tallies, launch


def _expected(numbers: npt.NDArray[np.int32], times: int) -> dict[str, npt.NDArray[Any]]:
    buckets = [numbers[bucket::BUCKETS] for bucket in range(BUCKETS)]
    return {
        "doubled": 2 * numbers,
        "sums": np.array([times * own.sum(dtype=np.int64) for own in buckets]),
        "least": np.array([own.min(initial=2**31 - 1) for own in buckets]),
        "most": np.array([own.max(initial=-(2**31)) for own in buckets]),
    }


NAMES = {
    "doubled": "elements written",
    "sums": "atomic sums",
    "least": "atomic minima",
    "most": "atomic maxima",
    "offsets": "offsets",
}


def _compare(
    backend: Backend,
    n: int,
    outputs: Mapping[str, Array],
    expected: dict[str, npt.NDArray[Any]],
    verb: str,
) -> Iterator[str]:
    for name, array in outputs.items():
        found, right = backend.to_host(array), expected[name]
        differs = np.flatnonzero(found != right)
        if len(differs) > 0:
            first = differs[0]
            yield (
                f"{verb} over {n:,} indices: {len(differs):,} of {len(right):,} {NAMES[name]} are "
                f"wrong; the value at index {first} is {found[first]}, not {right[first]}"
            )


if __name__ == "__main__":
    print(json.dumps(asdict(check(sys.argv[1]))))
