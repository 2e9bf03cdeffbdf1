"""The names of all that can be chosen, as types; `jetpy` has no others in its tables."""

from __future__ import annotations

from typing import Literal

Objective = Literal["cut", "volume"]
Preset = Literal["default", "fast", "ultra", "max", "gkway"]
Coarsening = Literal["two-hop", "union-find", "constrained"]
Initial = Literal["bisection", "metis"]
Refinement = Literal["jet", "independent-set"]
Method = Literal["im", "hm", "hm-ultra"]
Backend = Literal["auto", "cpu", "cuda", "kokkos-cuda", "kokkos-openmp", "kokkos-serial"]

RENAMED = {"numba": "cpu"}
"""Names of back ends in earlier versions, and what they are called now."""

DISTRIBUTION = "jetpy-partitioner"
"""What pip installs; on PyPI, `jetpy` is somebody else's."""
