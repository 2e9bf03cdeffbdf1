from __future__ import annotations

import pytest

from jetpy.backends import get_backend
from jetpy.backends.base import Backend


@pytest.fixture
def backend() -> Backend:
    """The back end for tests of stages: two threads, kernels compiled."""
    return get_backend("numba", 2)
