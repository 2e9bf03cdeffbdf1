"""Break lines of kernels and drivers, one at a time, and print which the tests do not notice.

The seed selects the lines. Tests run in copies of the repository: first the test files nearest to
the broken module, then, if none fails, all other tests that depend on results of kernels.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from tests.broken_lines.copies import Copy, Outcome
from tests.broken_lines.sources import Case, draw, nearest_tests

NEAREST = 6
"""Number of test files that run first."""
Verdicts = dict[int, str]
"""Verdict by case number: the tests that noticed it, or that it survived."""


def near(tests: Sequence[str]) -> Sequence[str]:
    return tests[:NEAREST]


def others(tests: Sequence[str]) -> Sequence[str]:
    return tests[NEAREST:]


class Runner:
    """Runs tests on cases in copies, one case per copy at a time."""

    def __init__(self, copies: Sequence[Copy], end: float) -> None:
        self._copies, self._end = copies, end
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)
        self._sound: set[str] = set()

    def outcomes(
        self, cases: dict[int, Case], chosen: Callable[[Sequence[str]], Sequence[str]]
    ) -> Iterator[tuple[int, Outcome | None]]:
        """Yield each case's number and outcome, None if the time ran out."""
        with ThreadPoolExecutor(len(self._copies)) as pool:
            found = {n: pool.submit(self._outcome, case, chosen) for n, case in cases.items()}
            try:
                for number, outcome in found.items():
                    yield number, outcome.result()
            except BaseException:
                self._end = 0.0
                pool.shutdown(wait=False, cancel_futures=True)
                for copy in self._copies:
                    copy.stop()
                raise

    def _outcome(
        self, case: Case, chosen: Callable[[Sequence[str]], Sequence[str]]
    ) -> Outcome | None:
        copy = self._free.get()
        try:
            if time.monotonic() > self._end:
                return None
            outcome = copy.test(chosen(nearest_tests(case.path)), case)
            if outcome.test is not None and outcome.test not in self._sound:
                alone = copy.test([outcome.test])
                if alone.noticed_by is not None:
                    return replace(outcome, is_clear=False)
                self._sound.add(outcome.test)
            return outcome
        finally:
            self._free.put(copy)


def judge(runner: Runner, cases: dict[int, Case]) -> Verdicts:
    """Run the nearest tests on all cases, then the other tests on survivors; print each outcome."""
    verdicts = dict.fromkeys(cases, "not run")
    left = cases
    for name, chosen in (("nearest", near), ("others", others)):
        for number, outcome in runner.outcomes(left, chosen):
            if outcome is None:
                continue
            if outcome.noticed_by is None:
                verdicts[number] = f"survived {name}"
            else:
                verdicts[number] = f"noticed by {name}" if outcome.is_clear else "unclear"
            what = outcome.noticed_by or f"SURVIVED {name}"
            if not outcome.is_clear:
                what = f"{what}, which fails without it, too"
            print(f"{number:3} {cases[number]}: {what}, {outcome.seconds:.0f} s", flush=True)
        left = {n: cases[n] for n, verdict in verdicts.items() if verdict == f"survived {name}"}
    return verdicts


def print_table(cases: dict[int, Case], verdicts: Verdicts) -> None:
    """Print the number of mutations by kind and verdict."""
    counts = Counter((cases[n].mutation.kind, verdict) for n, verdict in verdicts.items())
    columns = sorted(set(verdicts.values()))
    print(f"\n{'kind':12}" + "".join(f"{column:>20}" for column in columns))
    for kind in sorted({kind for kind, _ in counts}):
        print(f"{kind:12}" + "".join(f"{counts[kind, column]:20}" for column in columns))
    totals = Counter(verdicts.values())
    print(f"{'all':12}" + "".join(f"{totals[column]:20}" for column in columns))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.broken_lines", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="line i of a seed is always the same")
    parser.add_argument("--count", type=int, default=20, help="how many lines")
    parser.add_argument("--folder", help="break only modules in folders of this name")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of lines, instead of all")
    parser.add_argument("--jobs", type=int, default=1, help="copies in which tests run at once")
    parser.add_argument("--seconds", type=float, default=1e9, help="when to begin no more of them")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    numbers = range(options.count) if options.only is None else options.only
    drawn = draw(options.seed, max(numbers, default=0) + 1, options.folder)
    cases = {number: drawn[number] for number in numbers}
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="broken-") as folder:
        copies = [Copy(Path(folder, str(job))) for job in range(options.jobs)]
        copies[0].compile()
        for copy in copies[1:]:
            copy.take_kernels(copies[0])
        verdicts = judge(Runner(copies, end), cases)
    print_table(cases, verdicts)


if __name__ == "__main__":
    main()
