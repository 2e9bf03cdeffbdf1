"""Back ends by name.

`auto` takes CUDA where it works and Numba elsewhere: on CPUs that is faster than Kokkos's OpenMP
and compiles in seconds, not minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

from jetpy.backends.base import Backend
from jetpy.backends.threads import after_fork
from jetpy.errors import BackendError, OptionError


def _numba(threads: int | None) -> Backend:
    from jetpy.backends.numba_engine.engine import NumbaBackend

    return NumbaBackend(threads)


def _kokkos(space: str) -> Callable[[int | None], Backend]:
    def make(threads: int | None) -> Backend:
        from jetpy.backends.kokkos import KokkosBackend

        return KokkosBackend(space, threads)

    return make


BACKENDS: dict[str, Callable[[int | None], Backend]] = {
    "kokkos-cuda": _kokkos("Cuda"),
    "kokkos-openmp": _kokkos("OpenMP"),
    "kokkos-serial": _kokkos("Serial"),
    "numba": _numba,
}
AUTO = ("kokkos-cuda", "numba")
"""What `auto` tries, in this order."""


@cache
def get_backend(name: str = "auto", threads: int | None = None) -> Backend:
    """Return the back end of that name; the same object for the same arguments.

    `threads` is the number of CPU threads (None: all that this process may use).

    Raises
    ------
    OptionError
        If there is no back end of that name, or `threads` is less than 1.
    BackendError
        If it does not work on this machine; the message says why.
    """
    if threads is not None and threads < 1:
        raise OptionError(f"threads is {threads}; at least 1 is needed")
    if name == "auto":
        *others, last = AUTO
        for other in others:
            with suppress(BackendError):
                return get_backend(other, threads)
        return get_backend(last, threads)
    if name not in BACKENDS:
        raise OptionError(f"unknown backend {name!r}: choose auto or one of {', '.join(BACKENDS)}")
    return BACKENDS[name](threads)


after_fork(get_backend.cache_clear)
