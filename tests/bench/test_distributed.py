"""`bench.distributed`: cases, and the comparison of several processes with one."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from bench.distributed import EXPERIMENT, cases, compared, instances, row_of
from bench.records import Record

ONE = {"case": "a, k = 2, fast", "processes": 0, "parts": "x", "seconds": 2.0, "pool": 1.5}
COUNTS = {"mpi_share": 0.5, "calls": 1234, "sent_bytes": 2_000_000}
TWO: Record = {**ONE, **COUNTS, "processes": 2, "threads": 1, "seconds": 1.0, "cut": 1000}


def options(**changes: Any) -> Namespace:
    words = ["cube:4", "--processes", "1", "2", "-k", "2", "--presets", "fast"]
    return Namespace(**{**vars(EXPERIMENT.parser().parse_args(words)), **changes})


def test_one_process_comes_first() -> None:
    own = options(weights=True, threads=[1, 2])
    [cube] = instances(own)
    found = [(case["processes"], case["threads"], case["case"]) for case in cases(own, cube)]
    plain, weighted = "cube:4, k = 2, fast", "cube:4 weighted, k = 2, fast"
    assert found[:4] == [(0, 2, plain), (0, 2, weighted), (1, 1, plain), (1, 1, weighted)]
    assert len(found) == 10
    assert [case["processes"] for case in cases(options(alone=True), cube)] == [1, 2]


def test_parts_and_times_are_compared_with_one_process() -> None:
    equal, different = compared([ONE, TWO, {**TWO, "parts": "y"}])
    assert (equal["equal"], different["equal"]) == (True, False)
    assert (equal["single_seconds"], equal["single_pool"]) == (2.0, 1.5)
    texts = ["1,000", "equal", "1.000", "0.50", "0.50", "1,234", "2.0"]
    assert row_of(equal) == [ONE["case"], "2", "1", *texts]


def test_compared_records_of_older_versions_stay() -> None:
    old = {**TWO, "equal": True, "single_seconds": 4.0}
    assert compared([old]) == [old]
