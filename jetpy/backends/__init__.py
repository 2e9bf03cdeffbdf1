"""Back ends by name.

`auto` takes a GPU where one works, and Numba elsewhere: `cuda` and `numba` are faster than Kokkos
on the same hardware and compile in seconds, not minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

from jetpy.backends.base import Backend
from jetpy.backends.threads import after_fork
from jetpy.checks import integer, one_of
from jetpy.errors import BackendError, OptionError

Make = Callable[[int | None, int | None], Backend]
"""Makes a back end, given numbers of threads and of a GPU."""


def _numba(threads: int | None, device: int | None) -> Backend:
    from jetpy.backends.numba_engine.engine import NumbaBackend

    return NumbaBackend(threads)


def _cuda(threads: int | None, device: int | None) -> Backend:
    from jetpy.backends.cuda.engine import CudaBackend

    return _made("cuda", None, 0) if device is None else CudaBackend(device)


def _kokkos(space: str) -> Make:
    def make(threads: int | None, device: int | None) -> Backend:
        from jetpy.backends.kokkos import KokkosBackend

        return KokkosBackend(space, threads, device)

    return make


BACKENDS: dict[str, Make] = {
    "cuda": _cuda,
    "kokkos-cuda": _kokkos("Cuda"),
    "kokkos-openmp": _kokkos("OpenMP"),
    "kokkos-serial": _kokkos("Serial"),
    "numba": _numba,
}
ON_GPU = ("cuda", "kokkos-cuda")
"""Those that run on a GPU."""
AUTO = (*ON_GPU, "numba")
"""What `auto` tries, in this order."""


def get_backend(
    name: str = "auto", threads: int | None = None, device: int | None = None
) -> Backend:
    """Return the back end of that name; the same object for the same arguments.

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
    one_of(["auto", *BACKENDS], "backend", name)
    if threads is not None and integer("threads", threads) < 1:
        raise OptionError(f"threads is {threads}; at least 1 is needed")
    if device is not None and integer("device", device) < 0:
        raise OptionError(f"device is {device}; GPUs are numbered from 0")
    if name == "auto":
        for other in ON_GPU:
            with suppress(BackendError):
                return get_backend(other, threads, device)
        return get_backend("numba" if device is None else "cuda", threads, device)
    if device is not None and name not in ON_GPU:
        raise OptionError(f"{name} runs on CPUs: device is for {' and '.join(ON_GPU)}")
    return _made(name, None if name in ON_GPU else threads, device)


@cache
def _made(name: str, threads: int | None, device: int | None) -> Backend:
    return BACKENDS[name](threads, device)


@after_fork
def forget_backends() -> None:
    """Have back ends made anew when they are asked for."""
    _made.cache_clear()
