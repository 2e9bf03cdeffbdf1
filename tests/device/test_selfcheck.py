"""The self-check: working back ends pass, and each error of a broken one is described."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jetpy.device import selfcheck
from jetpy.device.backends import BACKENDS, forget_backends, get_backend
from jetpy.device.selfcheck import SIZES, Outcome, check, check_apart, differences
from jetpy.engines.base import Workunit
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.errors import BackendError


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [*SIZES, 7, 6])
def test_cpu_passes_the_self_check(n: int, threads: int) -> None:
    assert list(differences(get_backend("cpu", threads), n)) == []


class Forgetful(CpuBackend):
    """Skips the last index."""

    def parallel_for(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        super().parallel_for(n - 1, workunit, **arguments)


class Once(CpuBackend):
    """Does not repeat captured launches."""

    def capture(self, launches: Callable[[], None], /) -> Callable[[], None]:
        launches()
        return lambda: None


class Adding(CpuBackend):
    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        return super().reduce(n, workunit, **arguments) + 2

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        total = super().scan(n, workunit, **arguments)
        arguments["starts"][5] = 7
        return total + 1


def test_differences_are_described_exactly() -> None:
    numbers = (np.arange(33, dtype=np.int64) * 40503 % 1_000_003 - 250_000).tolist()
    last = numbers[4::7]
    assert list(differences(Forgetful(1), 33))[:2] == [
        f"for over 33 indices: 1 of 33 elements written are wrong; the value at index 32 is 0, not "
        f"{2 * numbers[32]}",
        "for over 33 indices: 1 of 7 atomic sums are wrong; the value at index 4 is "
        f"{sum(last[:-1])}, not {sum(last)}",
    ]
    [only] = differences(Once(1), 33)
    assert only.startswith(
        "captured for over 33 indices: 7 of 7 atomic sums are wrong; the value at index 0"
    )
    total = sum(numbers)
    assert list(differences(Adding(1), 33)) == [
        f"reduce over 33 indices: the sum is {total + 2}, not {total}",
        f"scan over 33 indices: the total is {total + 1}, not {total}",
        "scan over 33 indices: 1 of 33 offsets are wrong; the value at index 5 is 7, not "
        f"{sum(numbers[:5])}",
    ]


def _refuse(threads: int | None, device: int | None) -> Any:
    raise BackendError("there is none")


def _fail(threads: int | None, device: int | None) -> Any:
    engine = CpuBackend(1)
    engine.parallel_for = _refuse  # type: ignore[method-assign, assignment]
    return engine


def test_outcome_of_working_missing_and_failing_back_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selfcheck, "SIZES", (1, 40))
    outcome = check("cpu")
    assert (outcome.missing, outcome.wrong) == ("", [])
    assert outcome.threads >= 1
    forget_backends()
    monkeypatch.setitem(BACKENDS, "kokkos-serial", _refuse)
    assert check("kokkos-serial") == Outcome("there is none")
    forget_backends()
    monkeypatch.setitem(BACKENDS, "kokkos-serial", _fail)
    assert check("kokkos-serial").wrong[0].startswith("TypeError: ")
    forget_backends()


def test_check_runs_in_another_process() -> None:
    outcome = check_apart("cpu")
    assert (outcome.missing, outcome.wrong) == ("", [])
    assert outcome.threads >= 1


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("kill -SEGV $$", "the self-check was ended by SIGSEGV"),
        ("echo Kokkos says; echo no such luck >&2; exit 3", "ended with code 3: no such luck"),
        ("echo 1", "ended with code 0: 1"),
        ("exit 0", "the self-check ended with code 0"),
    ],
)
def test_crash_of_the_other_process_is_described(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken back end may end the process by a signal, or with exit code 0."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    [wrong] = check_apart("kokkos-cuda").wrong
    assert words in wrong


def test_endless_self_check_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(selfcheck, "PATIENCE", 0.2)
    [wrong] = check_apart("kokkos-cuda").wrong
    assert wrong.startswith("the self-check did not end within")
