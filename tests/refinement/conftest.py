from __future__ import annotations

import pytest

from jetpy.backends.base import Backend
from jetpy.backends.numba_engine.engine import NumbaBackend


@pytest.fixture(params=["lists", "everyone", "hubs"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Two threads, launches over lists as on a CPU, or over all vertices and hubs as on a GPU."""
    engine = NumbaBackend(2)
    engine.prefers_lists = request.param == "lists"
    if request.param == "hubs":
        engine.hub_degree = 3
    return engine
