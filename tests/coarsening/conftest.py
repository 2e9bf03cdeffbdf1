from __future__ import annotations

import pytest

from jetpy.backends.base import Backend
from jetpy.backends.numba_engine.engine import NumbaBackend


@pytest.fixture(params=["lists", "everyone"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Two threads, with launches over lists as on a CPU, or over all vertices as on a GPU."""
    engine = NumbaBackend(2)
    engine.prefers_lists = request.param == "lists"
    return engine
