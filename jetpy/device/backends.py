"""Back ends by name.

`auto` uses a GPU if one works, and the CPU otherwise. On the same hardware, it prefers `cuda` and
`cpu` to Kokkos, because they are faster and compile in seconds, not minutes. Small graphs are an
exception (`is_for_cpu`).

A back end serves one run at a time, which owns its memory, threads and captured launches. A run
takes a back end by `lease`. Compiled code is loaded once per process, and all back ends share it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import ModuleType

from jetpy.engines.base import Backend
from jetpy.engines.gpu import HOST_THREADS
from jetpy.engines.threads import after_fork, fork_safe_lock
from jetpy.engines.turns import turn_of
from jetpy.errors import BackendError, OptionError
from jetpy.graph.checks import integer, one_of
from jetpy.graph.csr import Graph
from jetpy.graph.on_gpu import GraphOnGpu

Make = Callable[[int | None, int | None], Backend]
"""Creates a back end from a number of threads and the index of a GPU."""
Choice = tuple[str, int | None, int | None]
"""Name, threads and device of a back end."""


def _cpu(threads: int | None, device: int | None) -> Backend:
    from jetpy.engines.cpu.engine import CpuBackend

    return CpuBackend(threads)


def _host() -> Backend:
    """Create the CPU back end on which a GPU back end runs small levels."""
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
"""The back end that `auto` uses without a GPU."""
ON_GPU = ("cuda", "kokkos-cuda")
"""The back ends that run on a GPU."""
AUTO = (*ON_GPU, CPU)
"""The back ends that `auto` tries, in this order."""
MIN_GPU_WORK = 1_000_000
"""Minimum of vertices plus directed edges for which `auto` starts a GPU for one partition.

Importing CuPy and starting CUDA takes 1 to 1.5 seconds. One CPU thread partitions a mesh of this
size in 0.2 seconds, and an R-MAT graph in 0.6. `bench/NOTES.md` describes the measurement.
"""
MAX_IDLE = 16
"""Maximum number of back ends kept for later runs; their threads sleep."""

_idle: list[tuple[Choice, Backend]] = []
"""Idle back ends, the most recently used last."""
_keeping = fork_safe_lock()


def get_backend(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> Backend:
    """Return a back end for exclusive use by the caller.

    Parameters
    ----------
    name : str
    threads : int, optional
        CPU threads; by default all that this process may use.
    device : int, optional
        Index of the GPU; `auto` then considers only back ends on GPUs.

    Raises
    ------
    OptionError
        If there is no back end of that name or no such GPU, `threads` is less than 1, or `device`
        is given for a back end on CPUs.
    BackendError
        If the back end does not work on this machine; the message gives the reason.
    """
    with ExitStack() as turns:
        return _take(turns, name, threads, device)[1]


@contextmanager
def lease(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> Iterator[Backend]:
    """Lend the block a back end for exclusive use; keep it for later runs if the block succeeds.

    The back ends of one GPU take turns, and so do the back ends of Kokkos: the block waits until no
    other thread uses one. Parameters and errors are as for `get_backend`.
    """
    with ExitStack() as turns:
        choice, backend = _take(turns, name, threads, device)
        yield backend
        _keep(choice, backend)


def check_backend(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> None:
    """Raise the errors of `get_backend`, before other work is done in vain.

    `auto` without a device always finds a back end. It is not started here, because the choice
    depends on the size of the graph.
    """
    if name == "auto" and device is None:
        check_numbers(threads, device)
        return
    with lease(name, threads, device):
        pass


def device_of(graph: Graph, name: str, device: int | bool | None) -> int | None:
    """Return the index of the GPU to use: by default, the GPU that has the graph, if any.

    Raises
    ------
    OptionError
        If `device` is False.
    """
    if device is False:
        raise OptionError("device is False; device must be the index of a GPU, True or None")
    on_gpu = graph.on_gpu if isinstance(graph, GraphOnGpu) else None
    number = 0 if on_gpu is None else on_gpu.number
    if device is True or (device is None and number > 0 and name in ("auto", *ON_GPU)):
        return number
    return device


def is_for_cpu(name: str, device: int | bool | None, work: float) -> bool:
    """Return whether `auto` leaves work to the CPU, which finishes before CUDA has started.

    The result is False if the process has started CUDA already, or the user specifies a device.

    Parameters
    ----------
    name : str
        Back end that the user specifies.
    device : int or True, optional
        GPU that the user specifies.
    work : float
        Vertices plus directed edges of the graph, times the number of partitions to find.
    """
    return name == "auto" and device is None and work < MIN_GPU_WORK and not _cuda_has_started()


def _cuda_has_started() -> bool:
    """Return whether this process has used a GPU, through jetpy or CuPy."""
    with _keeping:
        if any(choice[0] in ON_GPU for choice, _ in _idle):
            return True
    if "cupy" not in sys.modules:
        return False
    try:
        return bool(sys.modules["cupy"].cuda.driver.ctxGetCurrent())
    except Exception:  # CUDA is not initialised, or CuPy is broken
        return False


def check_numbers(threads: int | None, device: int | None = None) -> None:
    """Raise an OptionError if a number of threads or a GPU cannot exist."""
    if threads is not None and integer("threads", threads) < 1:
        raise OptionError(f"threads is {threads}; threads must be at least 1")
    if device is not None and integer("device", device) < 0:
        raise OptionError(f"device is {device}; device must be at least 0")


def _take(
    turns: ExitStack, name: str, threads: int | None, device: int | None
) -> tuple[Choice, Backend]:
    """Take an idle back end or create one; enter its turn in `turns`."""
    one_of(["auto", *BACKENDS], "backend", name)
    check_numbers(threads, device)
    if name != "auto":
        return _take_one(turns, name, threads, device)
    for other in ON_GPU:
        with suppress(BackendError):
            _check_present(other, device)
            return _take_one(turns, other, threads, device)
    return _take_one(turns, CPU if device is None else "cuda", threads, device)


def _check_present(name: str, device: int | None) -> None:
    """Raise a BackendError if Kokkos finds no GPU, without waiting for a turn."""
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
    """Remove and return the most recently used idle back end of a choice; None if there is none."""
    with _keeping:
        for place in reversed(range(len(_idle))):
            if _idle[place][0] == choice:
                return _idle.pop(place)[1]
    return None


def _keep(choice: Choice, backend: Backend) -> None:
    """Keep a back end; drop the least recently used ones above `MAX_IDLE`."""
    with _keeping:
        _idle.append((choice, backend))
        dropped = _idle[:-MAX_IDLE]
        del _idle[:-MAX_IDLE]
    del dropped  # outside the lock, because this waits for their threads


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
    """Compile kernels that a run would wait for, and report the stage "compile"; return seconds.

    If `completely`, compile all kernels.
    """
    modules, tell = kernel_modules(), partial(progress, "compile")
    if completely:
        return sum(engine.compile(modules, progress=tell) for engine in engines)
    return sum(engine.get_ready(modules, tell) for engine in engines)


@after_fork
def forget_backends() -> None:
    """Drop the idle back ends of the parent process after a fork."""
    _idle.clear()
