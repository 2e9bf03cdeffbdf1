"""Back ends with 64-bit kernels."""

from __future__ import annotations

import pytest

from jetpy.engines.base import Backend
from jetpy.errors import BackendError
from jetpy.kernel_language import Width


def wide_backend(backend: Backend) -> Backend:
    """Return the back end with 64-bit kernels; skip the test if it has none."""
    try:
        return backend.with_width(Width.WIDE)
    except BackendError as error:
        pytest.skip(str(error))
