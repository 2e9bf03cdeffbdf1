"""A back end that imitates a GPU: its arrays refuse operations with host arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np

from jetpy.api import run
from jetpy.engines.base import Arena, Array, DualView
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.memory import HostMemory, Memory


class DeviceArray(np.ndarray):
    """An array like CuPy's: operations with host arrays are errors, not copies."""

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any
    ) -> Any:
        _refuse_host(*inputs, *out)
        if out:
            kwargs["out"] = tuple(map(_plain, out))
        return _wrapped(getattr(ufunc, method)(*map(_plain, inputs), **kwargs))

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise TypeError(f"{function} is a function for host arrays")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an implicit copy to the host")

    def __getitem__(self, key: Any) -> Any:
        _refuse_host(key)
        return _wrapped(_plain(self)[_plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        _refuse_host(key, value)
        _plain(self)[_plain(key)] = _plain(value)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, DeviceArray) else value


def _wrapped(value: Any) -> Any:
    return value.view(DeviceArray) if isinstance(value, np.ndarray) else value


def _refuse_host(*values: Any) -> None:
    for value in values:
        if isinstance(value, np.ndarray) and not isinstance(value, DeviceArray) and value.ndim:
            raise TypeError("an operation on a host array and a device array")


class _ArrayModule:
    """NumPy's functions for device arrays."""

    __name__ = "numpy"
    ndarray = DeviceArray

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)

        def call(*values: Any, **kwargs: Any) -> Any:
            for value in values:
                _refuse_host(*(value if isinstance(value, list) else [value]))
            plain = (list(map(_plain, v)) if isinstance(v, list) else _plain(v) for v in values)
            return _wrapped(function(*plain, **kwargs))

        return call


class DeviceMemory(HostMemory):
    """Memory separate from that of the host."""

    xp = _ArrayModule()

    def empty(self, n: int, dtype: Any) -> Array:
        return Memory.empty(self, n, dtype)

    def arena(self, sizes: Sequence[tuple[int, Any]]) -> Arena:
        return Memory.arena(self, sizes)

    def from_host(self, array: np.ndarray) -> Array:
        assert not isinstance(array, DeviceArray)
        return _wrapped(array.copy())

    def to_host(self, array: Array, out: np.ndarray | None = None) -> np.ndarray:
        assert isinstance(array, DeviceArray)
        if out is None:
            return array.view(np.ndarray).copy()
        np.copyto(out, array.view(np.ndarray))
        return out

    def dual_view(self, n: int) -> DualView:
        return DualView(np.zeros(n, np.int64), _wrapped(np.zeros(n, np.int64)))

    def repeatable(
        self, launches: Callable[[], None], are_loaded: Callable[[], bool]
    ) -> Callable[[], None]:
        """Stop calling `are_loaded` once the launches are captured, as on a GPU."""
        is_captured = False

        def repeat() -> None:
            nonlocal is_captured
            is_captured = is_captured or are_loaded()
            launches()

        return repeat

    def sync_device(self, array: DualView) -> None:
        np.copyto(_plain(array.device), array.host)

    def sync_host(self, array: DualView) -> None:
        np.copyto(array.host, _plain(array.device))


class DeviceBackend(CpuBackend):
    """`cpu` with separate memory and a host engine for small levels."""

    def __init__(self, threads: int | None = None) -> None:
        super().__init__(threads, DeviceMemory())
        self.copies, self.is_asynchronous, self.warp_size = True, True, 32
        self.longest_row = 16
        self.host_engine, self.host_size = CpuBackend(threads), 10_000


def lent(engine: CpuBackend) -> AbstractContextManager[object]:
    """Make public functions run on a back end."""
    return patch.object(run, "lease", lambda *_: nullcontext(engine))
