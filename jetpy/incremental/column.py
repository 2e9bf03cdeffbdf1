"""Per-vertex values that are stored on the host and on a back end."""

from __future__ import annotations

import numpy as np

from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import IntArray
from jetpy.workloads.incremental import buckets as kernels

GROWTH = 1.5
"""Growth factor of a full array."""


class HostColumn:
    """An int32 value per vertex, on the host."""

    def __init__(self, values: IntArray) -> None:
        self._size = len(values)
        self._take(np.array(values, np.int32))

    def __len__(self) -> int:
        return self._size

    @property
    def host(self) -> IntArray:
        """The values on the host, shape (len(self),)."""
        return self._host[: self._size]

    def extend(self, values: IntArray) -> None:
        """Append values of new vertices."""
        size = self._size + len(values)
        if size > len(self._host):
            grown = np.empty(int(GROWTH * size), np.int32)
            grown[: self._size] = self.host
            self._take(grown)
        self._host[self._size : size] = values
        self._size = size

    def _take(self, values: IntArray) -> None:
        self._host = values


class Column(HostColumn):
    """An int32 value per vertex on the host and on a back end, in two arrays or a shared one.

    The host never reads the values back, because every change originates there.
    """

    def __init__(self, backend: Backend, values: IntArray) -> None:
        self._backend = backend
        super().__init__(values)

    @property
    def device(self) -> Array:
        """The values on the back end, followed by spare capacity; a full array is replaced.

        The first launch with a new array takes longer.
        """
        return self._device

    def set(self, vertices: IntArray, values: IntArray) -> None:
        """Set the values of distinct vertices on both sides."""
        self._host[vertices] = values
        if self._backend.copies and len(vertices):
            uploaded, new = upload_together(self._backend, vertices, values)
            self._backend.parallel_for(
                len(vertices), kernels.assign, vertices=uploaded, values=new, array=self._device
            )

    def set_on_host(self, vertices: IntArray, values: IntArray | int) -> None:
        """Set values on the host that a launch sets on the back end."""
        self._host[vertices] = values

    def extend_with(self, values: IntArray, uploaded: Array) -> None:
        """Append values of new vertices, given on both sides."""
        size = self._size
        self.extend(values)
        if self._backend.copies:
            self._device[size : self._size] = uploaded

    def extend_by(self, count: int, value: int) -> None:
        """Append `count` copies of a value."""
        size = self._size
        self.extend(np.full(count, value, np.int32))
        if self._backend.copies:
            self._backend.fill(self._device[size : self._size], value)

    def _take(self, values: IntArray) -> None:
        super()._take(values)
        self._device = self._backend.from_host(values)


class BlankColumn:
    """An int32 scratch value per vertex on a back end.

    A function that writes values must reset them with `blank`.
    """

    def __init__(self, backend: Backend, blank: int) -> None:
        self._backend, self._blank = backend, blank
        self._device = backend.empty(0)

    def for_size(self, size: int) -> Array:
        """Return an array of at least `size` values, all blank."""
        if len(self._device) < size:
            self._device = self._backend.full(int(GROWTH * size), self._blank)
        return self._device

    def blank(self, vertices: Array) -> None:
        """Reset the values of listed vertices to blank."""
        self._backend.parallel_for(
            len(vertices),
            kernels.assign_one,
            vertices=vertices,
            value=self._blank,
            array=self._device,
        )


def row_offsets(lengths: IntArray) -> IntArray:
    """Return the starts of consecutive rows of these lengths, then the end, int32.

    >>> row_offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def upload_together(backend: Backend, *arrays: IntArray) -> list[Array]:
    """Upload int32 arrays to a back end in one transfer."""
    if not backend.copies:
        return [backend.from_host(array) for array in arrays]
    whole = backend.from_host(np.concatenate(arrays))
    ends = np.cumsum([len(array) for array in arrays]).tolist()
    return [whole[end - len(array) : end] for end, array in zip(ends, arrays, strict=True)]
