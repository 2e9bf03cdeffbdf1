"""Back ends by name.

`auto` takes a GPU where one works, and the processor elsewhere: `cuda` and `cpu` are faster than
Kokkos on the same hardware and compile in seconds, not minutes. Small graphs are an exception
(`is_for_cpu`).

A back end serves one run at a time, which owns its memory, threads and captured launches. A run
takes a back end by `lease`. Compiled code is loaded once per process, and all back ends share it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import ModuleType

from jetpy.choices import RENAMED
from jetpy.engines.base import Backend
from jetpy.engines.gpu import HOST_THREADS
from jetpy.engines.threads import after_fork, fork_safe_lock
from jetpy.engines.turns import turn_of
from jetpy.errors import BackendError, OptionError
from jetpy.graph.checks import integer, one_of

Make = Callable[[int | None, int | None], Backend]
"""Makes a back end, given numbers of threads and of a GPU."""
Choice = tuple[str, int | None, int | None]
"""Name, threads and device of a back end."""


def _cpu(threads: int | None, device: int | None) -> Backend:
    from jetpy.engines.cpu.engine import CpuBackend

    return CpuBackend(threads)


def _host() -> Backend:
    """Make the back end to which one on a GPU leaves small levels."""
    return _cpu(HOST_THREADS, None)


def _cuda(threads: int | None, device: int | None) -> Backend:
    from jetpy.engines.cuda.engine import CudaBackend

    return CudaBackend(device or 0, _host)


def _kokkos(space: str) -> Make:
    def make(threads: int | None, device: int | None) -> Backend:
        from jetpy.engines.kokkos import KokkosBackend

        return KokkosBackend(space, _host, threads, device)

    return make


BACKENDS: dict[str, Make] = {
    "cpu": _cpu,
    "cuda": _cuda,
    "kokkos-cuda": _kokkos("Cuda"),
    "kokkos-openmp": _kokkos("OpenMP"),
    "kokkos-serial": _kokkos("Serial"),
}
CPU = "cpu"
"""The one that `auto` takes where it takes no GPU."""
ON_GPU = ("cuda", "kokkos-cuda")
"""Those that run on a GPU."""
AUTO = (*ON_GPU, CPU)
"""What `auto` tries, in this order."""
MIN_GPU_WORK = 1_000_000
"""Vertices and directed edges from which `auto` starts a GPU for one partition.

Importing CuPy and starting CUDA takes 1 to 1.5 seconds. One CPU thread partitions a mesh of this
size in 0.2 seconds, and an R-MAT graph in 0.6. `bench/NOTES.md` says how that was measured.
"""
MAX_IDLE = 16
"""Back ends that are kept for later runs; their threads sleep."""

_idle: list[tuple[Choice, Backend]] = []
"""Back ends that no run uses, the one used last at the end."""
_keeping = fork_safe_lock()


def get_backend(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> Backend:
    """Return a back end of that name for the caller alone.

    Parameters
    ----------
    name : str
    threads : int, optional
        CPU threads; all that this process may use by default.
    device : int, optional
        Number of the GPU; `auto` then takes no other back end than those on GPUs.

    Raises
    ------
    OptionError
        If there is no back end of that name or no such GPU, `threads` is less than 1, or a back
        end on CPUs is given a device.
    BackendError
        If it does not work on this machine; the message says why.
    """
    with ExitStack() as turns:
        return _take(turns, name, threads, device)[1]


@contextmanager
def lease(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> Iterator[Backend]:
    """Give the block a back end of its own, and keep it for later runs if the block succeeds.

    The back ends of one GPU take turns, and so do those of Kokkos: the block waits until no other
    thread has one. Parameters and errors are those of `get_backend`.
    """
    with ExitStack() as turns:
        choice, backend = _take(turns, name, threads, device)
        yield backend
        _keep(choice, backend)


def check_backend(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> None:
    """Raise what `get_backend` raises, before other work is done for nothing.

    `auto` without a device always finds a back end. It is not started here, as the choice depends
    on the size of the graph.
    """
    if name == "auto" and device is None:
        _check_numbers(threads, device)
        return
    with lease(name, threads, device):
        pass


def is_for_cpu(name: str, device: int | bool | None, work: float) -> bool:
    """Return whether `auto` leaves work to the CPU, which is done sooner than CUDA has started.

    That is not so if the process has started CUDA already, or the user asks for a device.

    Parameters
    ----------
    name : str
        Back end that the user asks for.
    device : int or True, optional
        GPU that the user asks for.
    work : float
        Vertices and directed edges of the graph, times the number of partitions to find.
    """
    return name == "auto" and device is None and work < MIN_GPU_WORK and not _cuda_has_started()


def _cuda_has_started() -> bool:
    """Return whether this process has used a GPU, by jetpy or by CuPy."""
    with _keeping:
        if any(choice[0] in ON_GPU for choice, _ in _idle):
            return True
    if "cupy" not in sys.modules:
        return False
    try:
        return bool(sys.modules["cupy"].cuda.driver.ctxGetCurrent())
    except Exception:  # CUDA is not initialised, or CuPy is broken
        return False


def _check_numbers(threads: int | None, device: int | None) -> None:
    if threads is not None and integer("threads", threads) < 1:
        raise OptionError(f"threads is {threads}; threads must be at least 1")
    if device is not None and integer("device", device) < 0:
        raise OptionError(f"device is {device}; device must be at least 0")


def _take(
    turns: ExitStack, name: str, threads: int | None, device: int | None
) -> tuple[Choice, Backend]:
    """Take an idle back end, or make one; `turns` are left with the turn that it needs."""
    if name in RENAMED:
        raise OptionError(f"the back end {name} is now called {RENAMED[name]}")
    one_of(["auto", *BACKENDS], "backend", name)
    _check_numbers(threads, device)
    if name != "auto":
        return _take_one(turns, name, threads, device)
    for other in ON_GPU:
        with suppress(BackendError):
            _check_present(other, device)
            return _take_one(turns, other, threads, device)
    return _take_one(turns, CPU if device is None else "cuda", threads, device)


def _check_present(name: str, device: int | None) -> None:
    """Raise a BackendError if Kokkos has no GPU here, without waiting for a turn."""
    if name == "kokkos-cuda":
        from jetpy.engines.kokkos.runtime import check_present

        check_present("Cuda", device)


def _take_one(
    turns: ExitStack, name: str, threads: int | None, device: int | None
) -> tuple[Choice, Backend]:
    if device is not None and name not in ON_GPU:
        raise OptionError(
            f"device is given, but {name} runs on CPUs; leave device out, or use "
            f"{' or '.join(ON_GPU)}"
        )
    if name in ON_GPU:
        threads = None
    if name == "cuda":
        device = device or 0
    choice = name, threads, device
    with ExitStack() as turn:
        turn.enter_context(turn_of(name, device))
        backend = _idle_one(choice) or BACKENDS[name](threads, device)
        turns.enter_context(turn.pop_all())
    return choice, backend


def _idle_one(choice: Choice) -> Backend | None:
    """Take the back end of a choice that was used last."""
    with _keeping:
        for place in reversed(range(len(_idle))):
            if _idle[place][0] == choice:
                return _idle.pop(place)[1]
    return None


def _keep(choice: Choice, backend: Backend) -> None:
    """Keep a back end, and one less of those used longest ago."""
    with _keeping:
        _idle.append((choice, backend))
        dropped = _idle[:-MAX_IDLE]
        del _idle[:-MAX_IDLE]
    del dropped  # without the lock: their threads are waited for


def kernel_modules() -> list[ModuleType]:
    """Return the modules of jetpy's kernels, for engines to compile."""
    from jetpy import workloads

    modules: list[ModuleType] = workloads.MODULES
    return modules


def make_ready(
    engines: Iterable[Backend],
    progress: Callable[[str, int, int], None],
    *,
    completely: bool = False,
) -> float:
    """Compile what would keep a run waiting, and show it as the stage compile; return seconds.

    If `completely`, nothing is left to be compiled later.
    """
    modules, tell = kernel_modules(), partial(progress, "compile")
    if completely:
        return sum(engine.compile(modules, progress=tell) for engine in engines)
    return sum(engine.get_ready(modules, tell) for engine in engines)


@after_fork
def forget_backends() -> None:
    """Have back ends made anew when they are asked for."""
    _idle.clear()
