"""The greatest common divisor of weights, on one device and over several processes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.divisor import common_divisor_on, divided_by
from jetpy.distributed.communicator import Communicator
from jetpy.engines.cpu.engine import CpuBackend
from tests.distributed.threads import run_on_threads

WEIGHTS = st.lists(st.sampled_from([0, 4, 6, 12, 18, 30]), max_size=12)


@given(WEIGHTS, st.integers(1, 4))
def test_divisor_is_that_of_numpy(weights: list[int], sample: int) -> None:
    """A sample may have another divisor than all weights."""
    backend, array = CpuBackend(1), np.array(weights, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jetpy.device.divisor.SAMPLE", sample)
        unit = common_divisor_on(backend, array)
    assert unit == np.gcd.reduce(array, initial=0)
    divided = divided_by(backend, array, unit)
    assert np.array_equal(divided * unit, array)
    assert unit or (divided == 1).all()


@given(WEIGHTS, st.integers(0, 12))
def test_processes_agree_on_the_divisor(weights: list[int], cut: int) -> None:
    shares = np.array(weights[:cut], np.int32), np.array(weights[cut:], np.int32)

    def run(comm: Communicator) -> int:
        return common_divisor_on(CpuBackend(1), shares[comm.rank], comm.allgather_objects)

    expected = np.gcd.reduce(np.array(weights, np.int32), initial=0)
    assert run_on_threads(2, run) == [expected] * 2
