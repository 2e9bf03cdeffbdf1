"""The kernel Triad, and the rooflines that it measures."""

from __future__ import annotations

import numpy as np
import pytest

from jetpy.engines.base import Backend
from jetpy.errors import BackendError
from jetpy.study.triad import roofline
from jetpy.workloads.common import triad
from tests.conftest import require_backend


def test_rooflines_are_measured(backend_name: str) -> None:
    found = roofline(require_backend(backend_name), 100_000, 3)
    assert 0 < found.latency < 1
    assert 1e6 < found.bandwidth < 1e14


def test_wrong_result_of_triad_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = require_backend("cpu")
    monkeypatch.setattr(type(backend), "parallel_for", lambda *args, **kwargs: None)
    with pytest.raises(BackendError, match="cpu computes a wrong result for Triad"):
        roofline(backend, 10, 1)


def test_triad_equals_numpy(backend: Backend) -> None:
    left, right = np.arange(50), np.arange(50)[::-1].copy()
    arrays = [backend.from_host(array.astype(np.int64)) for array in (left, right, 0 * left)]
    backend.parallel_for(
        50, triad.triad, left=arrays[0], right=arrays[1], factor=2, total=arrays[2]
    )
    assert (backend.to_host(arrays[2]) == left + 2 * right).all()
