"""Index ranges of an iteration's launches: over lists, or over all active vertices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend, Count, DualView, Workunit
from jetpy.workloads.common.control_block import BLOCK_BITS, COUNTER_STRIPES, Control, Counter

SHARE, INDICES = 8, 1 << 18
"""Indices that share the edges of one moved vertex; maximum for all moved vertices."""
SPARE = 1024
"""Active vertices that a captured launch has room for, in addition to a fixed share."""
MAX_COUNTED = 1024
"""Maximum product of parts and stripes: each stripe has a histogram for each part."""


class State(Protocol):
    """The attributes of a `RefinementState` that launches depend on."""

    backend: Backend
    graph: DeviceGraph
    k: int
    room: int
    control_block: DualView
    counts: DualView
    control: Array
    active: Array
    moved: Array


class Launches(ABC):
    """Index ranges of the launches on one refinement state.

    Attributes
    ----------
    share : int
        Indices that share the edges of one moved vertex.
    stripe_bits : int
        2**stripe_bits consecutive vertices share one list of moved vertices.
    stripes : int
        Counters for each part and bucket; the vertices are distributed over them.
    has_any_task : bool
        Whether one launch sequence can be an iteration of any kind.
    until : Count or None
        Repeated iterations end when this number is not zero.
    reach : int
        How many times the number of indices has changed; each change invalidates captured launches.
    """

    share: int
    stripe_bits: int
    stripes: int
    has_any_task: bool
    until: Count | None = None
    reach: int = 0

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    @abstractmethod
    def may_rebuild(self) -> bool:
        """Whether an update may rebuild rows instead of updating them."""

    @abstractmethod
    def over_active(self, task: Control) -> int | Count:
        """Return the index count of a launch over the active vertices, if `task` is due."""

    @abstractmethod
    def over_moves(self) -> int | Count:
        """Return the index count of a launch over the edges of moved vertices."""

    @abstractmethod
    def over_rows(self) -> int | Count:
        """Return the index count of a launch over the rows to rebuild."""

    @abstractmethod
    def vertices(self) -> Array:
        """Return an int32 array for `listed`."""

    @abstractmethod
    def listed(self, count: int | Count, workunit: Workunit, /, **arguments: Any) -> int | Count:
        """List vertices by a *scan* workunit, if that saves time; return the index count."""

    @abstractmethod
    def choose_room(self) -> None:
        """Choose how many vertices launches cover, and at how many active ones to choose again."""

    @property
    def active_count(self) -> int:
        """Number of active vertices, at least 1."""
        return max(1, int(self._state.counts.host[Counter.ACTIVE]))


class ListedLaunches(Launches):
    """Launches over lists, for back ends where the host has results at once.

    Launches read the lengths of the lists when they run.
    """

    share = 1
    has_any_task = True
    may_rebuild = True

    def __init__(self, state: State, n: int) -> None:
        super().__init__(state)
        self.stripe_bits = max(0, (n - 1) // COUNTER_STRIPES).bit_length()
        most = min(COUNTER_STRIPES, MAX_COUNTED // state.k)
        self.stripes = max(1, min(state.backend.threads, most))
        self.until = self._number(Control.REQUEST)

    def _number(self, place: Control) -> Count:
        """Return a number of the control block that launches read when they are due."""
        return Count(self._state.control, place)

    def over_active(self, task: Control) -> Count:
        """Return the number of active vertices, or 0 if another task is due."""
        return self._number(task)

    def over_moves(self) -> Count:
        """Return the number of moved vertices."""
        return self._number(Control.MOVES)

    def over_rows(self) -> Count:
        """Return the number of rows, or 0 if none is rebuilt."""
        return self._number(Control.ROWS)

    def vertices(self) -> Array:
        """Return a new array."""
        return self._state.backend.empty(self._state.room)

    def listed(self, count: int | Count, workunit: Workunit, /, **arguments: Any) -> Count:
        """List vertices; return their number."""
        number = self._number(Control.LISTED)
        self._state.backend.scan_into(number, count, workunit, **arguments)
        return number

    def choose_room(self) -> None:
        """Allow a quarter more active vertices, and `SPARE`, before they are listed again."""
        room = self.active_count + self.active_count // 4 + SPARE
        self._state.control_block.host[Control.ROOM] = room


class SweepingLaunches(Launches):
    """Launches over all active vertices, for asynchronous back ends.

    They cover more vertices than are active, so that captured launches stay valid.
    """

    share = SHARE
    stripe_bits = BLOCK_BITS
    stripes = 1
    has_any_task = False
    _count = 0

    @property
    def may_rebuild(self) -> bool:
        """Whether launches cover all vertices."""
        return self._count == self._state.graph.n

    def over_active(self, task: Control) -> int:
        """Return the number of vertices to cover; kernels do nothing if another task is due."""
        return self._count

    def over_moves(self) -> int:
        """Return an index count that keeps a GPU busy."""
        return min(INDICES, len(self._state.moved) * SHARE)

    def over_rows(self) -> int:
        """Return the number of all rows."""
        return self._state.graph.n

    def vertices(self) -> Array:
        """Return the active vertices."""
        return self._state.active

    def listed(self, count: int | Count, workunit: Workunit, /, **arguments: Any) -> int | Count:
        """Return `count`; nothing is listed."""
        return count

    def choose_room(self) -> None:
        """Cover half as many vertices again as are active, plus `SPARE`, if too few are covered."""
        state, count = self._state, self.active_count
        if count > self._count:
            reached = min(state.graph.n, count + count // 2 + SPARE)
            self.reach += int(reached != self._count)
            self._count = state.control_block.host[Control.ROOM] = reached


def launches_for(state: State, n: int) -> Launches:
    """Return the launches on a state with room for n vertices, ghosts included."""
    return SweepingLaunches(state) if state.backend.is_asynchronous else ListedLaunches(state, n)
