"""Solve random problems and check every result by plain NumPy; status 1 if there are defects."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator

from tests.fuzz.choices import Choice
from tests.fuzz.coverage import not_covered
from tests.fuzz.draws import Engine
from tests.fuzz.runs import Run, run
from tests.fuzz.workers import prepare, runs


def _engine(text: str) -> Engine:
    backend, _, threads = text.partition(":")
    return {"backend": backend, "threads": int(threads) if threads else None}


def _numbers(first: int, count: int | None, seconds: float) -> Iterator[int]:
    """Yield the numbers of runs until the time is over."""
    end = time.monotonic() + seconds
    numbers = itertools.count(first) if count is None else range(first, first + count)
    return itertools.takewhile(lambda _: time.monotonic() < end, numbers)


def _report(done: Run, seed: int) -> None:
    """Print each distinct defect in one line."""
    for check, wrong in dict.fromkeys(done.findings):
        if wrong:
            text = f"case {done.number} of seed {seed}: {check}: {wrong}; {done.problem}"
            print(" ".join(text.split()), flush=True)


def _summary(
    made: list[tuple[int, float]], checked: Counter[str], wrong: Counter[str], chosen: set[Choice]
) -> None:
    print(f"\n{'check':22}{'made':>8}{'defects':>9}")
    for check, count in sorted(checked.items()):
        print(f"{check:22}{count:8,}{wrong[check]:9,}")
    number, slowest = max(made, key=lambda one: one[1], default=(0, 0.0))
    mean = sum(seconds for _, seconds in made) / max(len(made), 1)
    print(
        f"\n{len(made):,} runs, {wrong.total():,} defects; {mean:.3f} processor seconds a run,"
        f" the slowest, case {number}, {slowest:.1f}"
    )
    missing = ", ".join(not_covered(chosen)) or "nothing"
    print(textwrap.fill(f"not covered: {missing}", 100, break_on_hyphens=False))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="run i of a seed is reproducible")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit")
    parser.add_argument("--runs", type=int, help="number of runs; unlimited by default")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--case", type=int, help="make only this run, in this process")
    parser.add_argument(
        "--engines",
        nargs="+",
        default=["cpu:1", "cpu:2"],
        metavar="BACKEND[:THREADS]",
        help="engines that must agree; the results of the first are checked",
    )
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    engines = [_engine(text) for text in options.engines]
    prepare(engines)
    checked: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    made: list[tuple[int, float]] = []
    chosen: set[Choice] = set()
    if options.case is None:
        numbers = _numbers(options.first, options.runs, options.seconds)
        found = runs(options.seed, numbers, options.jobs, engines)
    else:
        found = iter([run(options.seed, options.case, engines)])
    for done in found:
        _report(done, options.seed)
        if len(made) % 500 == 499:
            print(f"{len(made) + 1:,} runs, {wrong.total():,} defects", file=sys.stderr)
        made.append((done.number, done.seconds))
        chosen |= done.chosen
        checked.update(check for check, _ in done.findings)
        wrong.update(check for check, text in done.findings if text)
    if options.case is not None:
        print(done.problem)
    _summary(made, checked, wrong, chosen)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
