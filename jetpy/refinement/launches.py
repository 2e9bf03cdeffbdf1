"""Index ranges of an iteration's launches: over lists, or over all active vertices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from jetpy.engines.base import Array, Backend, Count, DualView, Workunit
from jetpy.workloads.common.control_block import BLOCK_BITS, COUNTER_STRIPES, Control
from jetpy.workloads.common.groups import MoveLists

SHARE, INDICES = 8, 1 << 18
"""Indices that share the edges of one moved vertex; maximum for all moved vertices."""
SPARE = 1024
"""Active vertices that a captured launch has room for, in addition to a fixed share."""
MAX_COUNTED = 1024
"""Maximum product of parts and stripes: each stripe has a histogram for each part."""


class Launches(ABC):
    """Index ranges of the launches on one refinement state, whose control block is given.

    Attributes
    ----------
    stripes : int
        Counters for each part and bucket; the vertices are distributed over them.
    has_any_task : bool
        Whether one launch sequence can be an iteration of any kind.
    until : Count or None
        Repeated iterations end when this number is not zero.
    reach : int
        How many times the number of indices has changed; each change invalidates captured launches.
    """

    stripes: int
    has_any_task: bool
    until: Count | None = None
    reach: int = 0

    def __init__(self, control: DualView) -> None:
        self._control = control

    @property
    @abstractmethod
    def may_rebuild(self) -> bool:
        """Whether an update may rebuild rows instead of updating them."""

    @abstractmethod
    def over(self, place: Control) -> int | Count:
        """Return the index count of a launch over what a place of the control block counts.

        The places are `PROPAGATING`, `REBALANCING`, `MOVES` and `ROWS`.
        """

    @abstractmethod
    def vertices(self) -> Array:
        """Return an int32 array for `listed`."""

    @abstractmethod
    def listed(self, count: int | Count, workunit: Workunit, /, **arguments: Any) -> int | Count:
        """List vertices by a *scan* workunit, if that saves time; return the index count."""

    def move(self) -> None:
        """Forget the last level."""
        return

    @abstractmethod
    def choose_room(self, active: int) -> None:
        """Choose how many vertices launches cover, and at how many active ones to choose again."""


class ListedLaunches(Launches):
    """Launches over lists, for back ends where the host has results at once.

    Launches read the lengths of the lists when they run.
    """

    has_any_task = True
    may_rebuild = True

    def __init__(self, control: DualView, backend: Backend, k: int, room: int) -> None:
        super().__init__(control)
        self._backend, self._room = backend, room
        most = min(COUNTER_STRIPES, MAX_COUNTED // k)
        self.stripes = max(1, min(backend.threads, most))
        self.until = self.over(Control.REQUEST)

    def over(self, place: Control) -> Count:
        """Return a number of the control block that launches read when they are due."""
        return Count(self._control.device, place)

    def vertices(self) -> Array:
        """Return a new array."""
        return self._backend.empty(self._room)

    def listed(self, count: int | Count, workunit: Workunit, /, **arguments: Any) -> Count:
        """List vertices; return their number."""
        number = self.over(Control.LISTED)
        self._backend.scan_into(number, count, workunit, **arguments)
        return number

    def choose_room(self, active: int) -> None:
        """Allow a quarter more active vertices, and `SPARE`, before they are listed again."""
        self._control.host[Control.ROOM] = active + active // 4 + SPARE


class SweepingLaunches(Launches):
    """Launches over all active vertices, for asynchronous back ends.

    They cover more vertices than are active, so that captured launches stay valid.
    """

    stripes = 1
    has_any_task = False
    _count = 0

    def __init__(self, control: DualView, active: Array) -> None:
        super().__init__(control)
        self._active = active

    @property
    def may_rebuild(self) -> bool:
        """Whether launches cover all vertices."""
        return self._count == self.over(Control.ROWS)

    def over(self, place: Control) -> int:
        """Return the count of vertices to cover, all rows, or, for moves, what keeps a GPU busy.

        Kernels do nothing if another task is due.
        """
        if place == Control.PROPAGATING or place == Control.REBALANCING:
            return self._count
        vertices = int(self._control.host[Control.VERTICES])
        if place == Control.ROWS:
            return vertices
        sections: int = -(-vertices // COUNTER_STRIPES)
        most: int = sections * COUNTER_STRIPES * SHARE
        return min(INDICES, most)

    def move(self) -> None:
        """Choose the room of the new level from scratch; beyond it, active vertices are stale."""
        self._count = 0

    def vertices(self) -> Array:
        """Return the active vertices."""
        return self._active

    def listed(self, count: int | Count, workunit: Workunit, /, **arguments: Any) -> int | Count:
        """Return `count`; nothing is listed."""
        return count

    def choose_room(self, active: int) -> None:
        """Cover half as many vertices again as are active, plus `SPARE`, if too few are covered."""
        if active > self._count:
            reached = min(self.over(Control.ROWS), active + active // 2 + SPARE)
            self.reach += int(reached != self._count)
            self._count = self._control.host[Control.ROOM] = reached


def change_stripes(backend: Backend, k: int) -> int:
    """Return the number of stripes of the weight changes of k parts."""
    if backend.is_asynchronous or backend.threads == 1:
        return 1
    most: int = max(1, min(COUNTER_STRIPES, MAX_COUNTED // k))
    return 1 << (most.bit_length() - 1)


def make_move_lists(backend: Backend, n: int) -> MoveLists:
    """Allocate the lists of moved vertices, for n vertices, ghosts included."""
    share, stripe_bits = 1, max(0, (n - 1) // COUNTER_STRIPES).bit_length()
    if backend.is_asynchronous:
        share, stripe_bits = SHARE, BLOCK_BITS
    size = -(-n // (COUNTER_STRIPES << stripe_bits)) << stripe_bits
    return MoveLists(backend.empty(COUNTER_STRIPES * size), size, stripe_bits, share)
