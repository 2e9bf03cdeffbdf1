"""Captured launches: counts and seconds of the host's calls, and runs that capture less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from unittest.mock import patch

from jetpy.engines.base import Backend, Captured, Count
from jetpy.engines.gpu_memory import CudaMemory
from jetpy.profiling.profiler import Profiler


@dataclass
class HostCalls:
    """The host's calls for captured launches: their numbers, and their seconds.

    Attributes
    ----------
    creations : int
        Sequences of launches that were captured.
    instantiations : int
        Captured sequences that were made executable: a CUDA graph on a GPU, a program on a CPU.
    launches : int
        Calls that run an executable sequence.
    creating, instantiating, launching : float
        Seconds of these calls. `creating` includes the exchange of arguments between levels. On a
        CPU, `launching` includes the kernels; on a GPU, these run later.
    """

    creations: int = 0
    instantiations: int = 0
    launches: int = 0
    creating: float = 0.0
    instantiating: float = 0.0
    launching: float = 0.0


@contextmanager
def counted() -> Iterator[HostCalls]:
    """Count the calls of all runs within the context."""
    calls = HostCalls()
    capture, capture_graph = Backend.capture, CudaMemory._capture

    def instantiate(make: Callable[..., Any]) -> Callable[..., Any]:
        def instantiated(*arguments: Any) -> Any:
            start = perf_counter()
            made = make(*arguments)
            calls.instantiations += made is not None
            calls.instantiating += perf_counter() - start
            return made

        return instantiated

    def create(self: Backend, *arguments: Any, **named: Any) -> Captured:
        start, before = perf_counter(), calls.instantiating
        if self.copies:  # a GPU instantiates at a later launch
            captured = capture(self, *arguments, **named)
        else:
            with patch.object(self, "_repeatable", instantiate(self._repeatable)):
                captured = capture(self, *arguments, **named)
        calls.creations += 1
        calls.creating += perf_counter() - start - (calls.instantiating - before)

        def replay() -> None:
            start, before = perf_counter(), calls.instantiating
            captured.replay()
            calls.launches += 1
            calls.launching += perf_counter() - start - (calls.instantiating - before)

        def exchange(others: Mapping[int, Any]) -> bool:
            start = perf_counter()
            can = captured.exchange(others)
            calls.creating += perf_counter() - start
            return can

        return Captured(replay, exchange)

    with (
        patch.object(Backend, "capture", create),
        patch.object(CudaMemory, "_capture", instantiate(capture_graph)),
    ):
        yield calls


@contextmanager
def without_loops() -> Iterator[None]:
    """Return to the host after every repetition of captured launches within the context."""
    capture = Backend.capture

    def capture_once(
        self: Backend,
        launches: Callable[[], None],
        /,
        until: Count | None = None,
        most: int = 1,
        agree: Callable[[bool], bool] = bool,
    ) -> Captured:
        return capture(self, launches, None, 1, agree)

    with patch.object(Backend, "capture", capture_once):
        yield


@contextmanager
def one_by_one() -> Iterator[None]:
    """Make all launches one by one within the context; nothing is captured."""
    with patch.object(Backend, "capture", Profiler.capture):
        yield
