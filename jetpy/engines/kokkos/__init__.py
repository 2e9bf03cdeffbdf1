"""The `kokkos-*` back ends: PyKokkos translates workunits to C++, Kokkos runs them.

PyKokkos works at compile time only, in processes of its own. A run loads what it has compiled
and calls that directly, which costs microseconds where PyKokkos's own dispatch takes hundreds.
"""

from jetpy.engines.kokkos.engine import KokkosBackend

__all__ = ["KokkosBackend"]
