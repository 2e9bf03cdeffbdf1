"""Error message for a full GPU memory, with the size of a graph that would fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jetpy.engines.base import Backend
from jetpy.errors import OutOfMemoryError

VERTEX_BYTES, EDGE_BYTES = 90, 48
"""Approximate bytes that partitioning needs per vertex and per undirected edge of the graph."""
MOST = 0.9
"""Maximum share of a graph that the message says would fit."""


@contextmanager
def explain_oom(backend: Backend, n: int, m: int) -> Iterator[None]:
    """Use a back end's device for a graph of n vertices and m edges.

    Raises
    ------
    OutOfMemoryError
        If its memory is full; the message says what size would fit.
    """
    with backend.using():
        try:
            yield
        except MemoryError as error:
            room = backend.available_bytes(error)
            if room is None or n == 0:
                raise
            raise OutOfMemoryError(_explain(n, m, room)) from error


def bytes_of(n: int, m: int) -> int:
    """Return about how many bytes partitioning needs for n vertices and m undirected edges."""
    return VERTEX_BYTES * n + EDGE_BYTES * m


def _explain(n: int, m: int, room: int) -> str:
    """Return a message with the numbers of vertices and edges that fit into `room` bytes.

    >>> _explain(64_000_000, 191_520_000, 8 << 30).partition(": ")[0]
    'the memory of the GPU is full'
    """
    share = min(MOST, room / bytes_of(n, m))
    return (
        f"the memory of the GPU is full: a graph of {n:,} vertices and {m:,} edges needs more "
        f"than the {room / (1 << 30):.1f} GiB available; about {_rounded(share * n):,} vertices "
        f"and {_rounded(share * m):,} edges would fit"
    )


def _rounded(number: float) -> int:
    """Return a number rounded to two significant digits.

    >>> _rounded(123_456.0), _rounded(7.0)
    (120000, 7)
    """
    return int(float(f"{number:.1e}"))
