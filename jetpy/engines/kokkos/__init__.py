"""The `kokkos-*` back ends: PyKokkos translates workunits to C++, and Kokkos runs them.

PyKokkos is used only for compilation, in separate processes. A run loads the compiled code and
calls it directly, which takes microseconds; PyKokkos's own dispatch takes hundreds.
"""

from jetpy.engines.kokkos.engine import KokkosBackend

__all__ = ["KokkosBackend"]
