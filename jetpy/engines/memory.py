"""Arrays, and the addresses that kernels take in their place; here those of the host."""

from __future__ import annotations

import ctypes
import weakref
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, DualView
from jetpy.engines.host_memory_pool import LEAST, POOL

HEAD = object.__basicsize__
"""Where NumPy's arrays keep their address, by its binary interface, which any other way of asking
takes ten times as long to tell."""
_word_at = ctypes.c_size_t.from_address


class _Types(dict[str, np.dtype[Any]]):
    """NumPy's types by name: they compare quicker than names."""

    def __missing__(self, name: str) -> np.dtype[Any]:
        self[name] = np.dtype(name)
        return self[name]


class _Elements(dict["np.dtype[Any]", str]):
    """Names of NumPy's types: a type takes longer to tell it."""

    def __missing__(self, kind: np.dtype[Any]) -> str:
        self[kind] = kind.name
        return self[kind]


class _Known(weakref.ref[Any]):
    """An array whose address is known; that is forgotten when it dies.

    `release` is called then, if it is a function.
    """

    __slots__ = ("addresses", "alive", "key", "release")

    addresses: dict[int, int]
    alive: dict[int, _Known]
    key: int
    release: Callable[[], None] | None


def _forget(known: _Known) -> None:
    del known.addresses[known.key], known.alive[known.key]
    if known.release is not None:
        known.release()


class Memory(ABC):
    """Where arrays lie.

    Attributes
    ----------
    xp : module
        NumPy or CuPy.
    addresses : dict of str to dict of int to int
        Addresses of arrays by the type of their elements and by `id`, for as long as they live.
    stream : object
        CuPy stream that launches go to; None on the host.
    """

    xp: Any
    stream: Any = None

    def __init__(self) -> None:
        self.addresses: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._types, self._elements = _Types(), _Elements()
        self._alive: dict[int, _Known] = {}
        self._without_elements: dict[Any, Array] = {}

    @abstractmethod
    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Return an array with the contents of a contiguous host array."""

    @abstractmethod
    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """Return a host array with the contents of an array."""

    @abstractmethod
    def dual_view(self, n: int) -> DualView:
        """Return an int64 array of zeros on the host and its copy, if one is needed."""

    @abstractmethod
    def sync_device(self, array: DualView) -> None:
        """Copy a dual array from the host, in order with launches."""

    @abstractmethod
    def sync_host(self, array: DualView) -> None:
        """Copy a dual array to the host, in order with launches."""

    @abstractmethod
    def repeatable(
        self, launches: Callable[[], None], are_loaded: Callable[[], bool]
    ) -> Callable[[], None]:
        """Return a function that does what `launches` does, the quickest way for many times.

        `are_loaded` says whether all its kernels have been launched before.
        """

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until every launch has finished."""

    def using(self) -> AbstractContextManager[None]:
        """Make its device the current one of this thread for a while."""
        return nullcontext()

    def in_order(self) -> AbstractContextManager[Any]:
        """Let what is done with arrays for a while go to the stream that launches go to."""
        return nullcontext()

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return how many bytes there were for arrays, if an error says that these are taken."""
        return None

    @abstractmethod
    def locate(self, array: Array) -> int:
        """Return the address of an array."""

    def address(self, array: Array, element: str, what: str) -> int:
        """Return the address of an array, put among `addresses` as `keep_address` does."""
        addresses = self.addresses[element]
        if id(array) not in addresses:
            self.keep_address(array, element, what)
        return addresses[id(array)]

    def keep_address(self, array: Array, element: str, what: str) -> None:
        """Put the address of an array among `addresses`, while the array lives.

        Raises
        ------
        TypeError, ValueError
            If it is no contiguous array of one dimension with elements of that type; the message
            says what it should have been.
        """
        if not isinstance(array, self.xp.ndarray):
            found = type(array).__name__
            raise TypeError(f"{what} is a {found}; it must be an array of {self.xp.__name__}")
        if array.dtype != self._types[element]:
            raise TypeError(
                f"{what} is an array of {array.dtype}; it must be an array of {element}"
            )
        if array.ndim != 1 or not array.flags.c_contiguous:
            raise ValueError(f"{what} must be a contiguous array of one dimension")
        self._keep(array, element)

    def empty(self, n: int, dtype: Any) -> Array:
        """Return an uninitialised array of shape (n,), its address kept.

        There is one array without elements of each type, as many arguments are nothing.
        """
        if n == 0 and dtype in self._without_elements:
            return self._without_elements[dtype]
        array = self.xp.empty(n, dtype)
        self._keep(array, self._elements[array.dtype])
        if n == 0:
            self._without_elements[dtype] = array
        return array

    def _keep(self, array: Array, element: str, release: Callable[[], None] | None = None) -> None:
        known = _Known(array, _forget)
        known.addresses, known.alive = self.addresses[element], self._alive
        known.key, known.release = id(array), release
        known.addresses[known.key], known.alive[known.key] = self.locate(array), known


class HostMemory(Memory):
    """NumPy arrays; large ones lie in blocks of a pool, which get them back when they die."""

    xp = np

    def empty(self, n: int, dtype: Any) -> Array:
        """Return an uninitialised array of shape (n,), its address kept."""
        kind = np.dtype(dtype)
        size = n * kind.itemsize
        if size < LEAST:
            return super().empty(n, dtype)
        block = POOL.take(size)
        array = np.frombuffer(block, kind, n)
        self._keep(array, self._elements[kind], partial(POOL.give, block))
        return array

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Return the array itself, or a copy of one that must not be written to."""
        return array if array.flags.writeable else array.copy()

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """Return the array itself."""
        host: npt.NDArray[Any] = array
        return host

    def dual_view(self, n: int) -> DualView:
        """Return one array as both."""
        return DualView.of_one(n)

    def sync_device(self, array: DualView) -> None:
        """There is one array only."""

    def sync_host(self, array: DualView) -> None:
        """There is one array only."""

    def repeatable(
        self, launches: Callable[[], None], are_loaded: Callable[[], bool]
    ) -> Callable[[], None]:
        """Return the very function."""
        return launches

    def synchronize(self) -> None:
        """Launches on the host return when they have finished."""

    def locate(self, array: Array) -> int:
        """Return the address of an array."""
        address: int = _word_at(id(array) + HEAD).value
        return address
