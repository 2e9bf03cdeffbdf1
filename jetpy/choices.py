"""Types of all named choices; tables elsewhere in jetpy have exactly these names."""

from __future__ import annotations

from typing import Literal

OrderingMethod = Literal["order", "nested-dissection", "minimum-degree"]
OrderingPreset = Literal["fast", "default", "best"]
Objective = Literal["cut", "volume"]
Preset = Literal[
    "default", "fast", "ultra", "max", "jet", "jet-ultra", "gkway", "gkway-journal", "igkway"
]
Coarsening = Literal["two-hop", "union-find", "constrained"]
Rating = Literal["expansion", "weight"]
Coarsest = Literal["adaptive", "jet", "per-part", "finest-share"]
Initial = Literal["bisection", "metis", "metis-kway"]
Refinement = Literal["jet", "independent-set"]
StrongFill = Literal["limit", "average"]
RebalanceBy = Literal["cost", "cut"]
Reduction = Literal["sum", "mean", "max", "first"]
Method = Literal["im", "hm", "hm-ultra"]
Backend = Literal["auto", "cpu", "cuda", "kokkos-cuda", "kokkos-openmp", "kokkos-serial"]


DISTRIBUTION = "jetpy-partitioner"
"""Name of the distribution on PyPI, where `jetpy` is another project."""
