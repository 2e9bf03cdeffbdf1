"""Arrays and their addresses for kernels, on the host."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.host_memory_pool import LEAST, POOL

ALIGNMENT = 64  # bytes
HEAD = object.__basicsize__
"""Offset of the address in a NumPy array object, by NumPy's ABI. Any other way to read the address
takes ten times as long."""
_word_at = ctypes.c_size_t.from_address
_type_of = cache(np.dtype)
"""Dtype of an element type, because dtypes compare faster than names."""
_element_of = cache(attrgetter("name"))
"""Element type of a dtype, because its attribute `name` is slow."""
Array = Any
"""A contiguous 1-D array of the back end's array module (numpy or cupy)."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Arena:
    """Arrays that may share one block of memory. Use them only while the arena exists.

    Attributes
    ----------
    arrays : list of Array
    """

    arrays: list[Array]


@dataclass(frozen=True, eq=False)
class DualView:
    """A small array on the host and on a back end: two copies, or one array if they share memory.

    Attributes
    ----------
    host : int64, shape (n,)
    device : int64, shape (n,)
    """

    host: npt.NDArray[np.int64]
    device: Array


class _Addresses(dict[str, dict[int, int]]):
    """Addresses by `id`, for each element type.

    A `defaultdict` could make two dictionaries for one element type: the memory for the first may
    start a garbage collection, and that calls `_forget`, where another thread can go on.
    """

    def __missing__(self, element: str) -> dict[int, int]:
        return self.setdefault(element, {})


class _Known(weakref.ref[Any]):
    """An array with a known address, which is removed when the array dies.

    The function `release` is called then, if there is one.
    """

    __slots__ = ("addresses", "alive", "key", "release")

    addresses: dict[int, int]
    alive: dict[int, _Known]
    key: int
    release: Callable[[], None] | None


def _release(places: list[tuple[dict[int, int], int]], block: memoryview) -> None:
    """Forget the addresses of the arrays of an arena, and give its block back."""
    for addresses, key in places:
        del addresses[key]
    POOL.give(block)


def _forget(known: _Known) -> None:
    del known.addresses[known.key], known.alive[known.key]
    if known.release is not None:
        known.release()


class Memory:
    """The memory of a back end's arrays. These methods are for the host.

    Attributes
    ----------
    xp : module
        NumPy or CuPy.
    addresses : dict of str to dict of int to int
        Addresses of living arrays, by element type and `id`.
    stream : object
        CuPy stream of the launches; None on the host.
    """

    xp: Any = np
    stream: Any = None

    def __init__(self) -> None:
        self.addresses = _Addresses()
        self._alive: dict[int, _Known] = {}
        self._without_elements: dict[Any, Array] = {}

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Return an array with the contents of a contiguous host array.

        On the host, this is the array itself, or a copy if it is read-only.
        """
        return array if array.flags.writeable else array.copy()

    def to_host(self, array: Array, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return a host array with the contents of an array: `out`, if given."""
        host: npt.NDArray[Any] = array
        if out is None:
            return host
        np.copyto(out, host)
        return out

    def fill(self, array: Array, value: int) -> None:
        """Set each element of a contiguous array to the same value, in order with launches."""
        array.fill(value)

    def dual_view(self, n: int) -> DualView:
        """Return a dual view of zeros, int64, shape (n,); on the host, both arrays are one."""
        array = np.zeros(n, np.int64)
        return DualView(array, array)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual view from the host, in order with launches."""

    def sync_host(self, array: DualView) -> None:
        """Copy a dual view to the host, in order with launches."""

    def repeatable(
        self, launches: Callable[[], None], are_loaded: Callable[[], bool]
    ) -> Callable[[], None]:
        """Return a function that does the same as `launches`, optimised for many calls.

        `are_loaded` returns whether all its kernels have been launched before.
        """
        return launches

    def synchronize(self) -> None:
        """Wait until all launches have finished; on the host, they are synchronous."""

    def using(self) -> AbstractContextManager[None]:
        """Make its device the thread's current device within the context."""
        return nullcontext()

    def in_order(self) -> AbstractContextManager[Any]:
        """Make array operations within the context use the stream of the launches."""
        return nullcontext()

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return the bytes for arrays, if `error` says that the memory is full; else None."""
        return None

    def locate(self, array: Array) -> int:
        """Return the address of an array."""
        address: int = _word_at(id(array) + HEAD).value
        return address

    def address(self, array: Array, element: str, what: str) -> int:
        """Return the address of an array, after `keep_address` if it is unknown."""
        addresses = self.addresses[element]
        if id(array) not in addresses:
            self.keep_address(array, element, what)
        return addresses[id(array)]

    def keep_address(self, array: Array, element: str, what: str) -> None:
        """Add the address of an array to `addresses` for the lifetime of the array.

        Raises
        ------
        TypeError, ValueError
            If it is not a contiguous 1-D array of this element type; the message says what is
            required.
        """
        if not isinstance(array, self.xp.ndarray):
            actual = type(array).__name__
            raise TypeError(f"{what} is a {actual}; it must be an array of {self.xp.__name__}")
        if array.dtype != _type_of(element):
            raise TypeError(
                f"{what} is an array of {array.dtype}; it must be an array of {element}"
            )
        if array.ndim != 1 or not array.flags.c_contiguous:
            raise ValueError(f"{what} must be a contiguous array of one dimension")
        self._keep(array, element)

    def empty(self, n: int, dtype: Any) -> Array:
        """Return an uninitialised array of shape (n,) with a known address.

        Empty arrays of one type are the same object, because many arguments are empty.
        """
        if n == 0 and dtype in self._without_elements:
            return self._without_elements[dtype]
        array = self.xp.empty(n, dtype)
        self._keep(array, _element_of(array.dtype))
        if n == 0:
            self._without_elements[dtype] = array
        return array

    def arena(self, sizes: Sequence[tuple[int, Any]]) -> Arena:
        """Return uninitialised arrays of some lengths and dtypes, with known addresses."""
        return Arena([self.empty(n, dtype) for n, dtype in sizes])

    def _keep(self, array: Array, element: str, release: Callable[[], None] | None = None) -> None:
        known = _Known(array, _forget)
        known.addresses, known.alive = self.addresses[element], self._alive
        known.key, known.release = id(array), release
        known.addresses[known.key], known.alive[known.key] = self.locate(array), known


class HostMemory(Memory):
    """NumPy arrays; large ones use blocks of the pool until they die."""

    def empty(self, n: int, dtype: Any) -> Array:
        """Return an uninitialised array of shape (n,) with a known address."""
        kind = np.dtype(dtype)
        size = n * kind.itemsize
        if size < LEAST:
            return super().empty(n, dtype)
        block = POOL.take(size)
        array = np.frombuffer(block, kind, n)
        self._keep(array, _element_of(kind), partial(POOL.give, block))
        return array

    def arena(self, sizes: Sequence[tuple[int, Any]]) -> Arena:
        """Return uninitialised arrays of some lengths and dtypes, with known addresses.

        All are in one block, because blocks and addresses of single arrays take longer than a small
        graph.
        """
        shapes = [(n, np.dtype(dtype)) for n, dtype in sizes]
        lengths = [-(-n * kind.itemsize // ALIGNMENT) for n, kind in shapes]
        block = POOL.take(ALIGNMENT * max(1, sum(lengths)))
        whole = np.frombuffer(block, np.uint8)
        address = self.locate(whole)
        offset = 0
        arena = Arena([])
        places: list[tuple[dict[int, int], int]] = []
        for (n, kind), length in zip(shapes, lengths, strict=True):
            array = np.frombuffer(block, kind, n, offset)
            addresses = self.addresses[_element_of(kind)]
            addresses[id(array)] = address + offset
            arena.arrays.append(array)
            places.append((addresses, id(array)))
            offset += ALIGNMENT * length
        weakref.finalize(arena, _release, places, block)
        return arena
