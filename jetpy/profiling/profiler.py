"""A back end that forwards all calls to another one and records their times."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

from jetpy.engines.base import Array, Backend, Captured, Count, DualView, Workunit
from jetpy.engines.launching import repeated
from jetpy.engines.ledger import Ledger
from jetpy.kernel_language import Width
from jetpy.profiling.profile import Event, Kind, Owner, Profile
from jetpy.profiling.traffic import traffic

T = TypeVar("T")


class _Log:
    """Events of a back end and its host engine, and the stack of open steps.

    Loading kernels takes no time.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.events: list[Event] = []
        self.nanoseconds: dict[Owner, int] = {}
        self._open: list[tuple[str, Owner, int]] = []
        self._began = self._charged = self.now()

    def now(self) -> int:
        """Return the time in nanoseconds."""
        return time.perf_counter_ns() - round(1e9 * self._ledger.loading)

    @property
    def owner(self) -> Owner:
        """Stage and level of the current work."""
        return self._open[-1][1] if self._open else ("besides", None)

    def enter(self, stage: str, level: int | None) -> None:
        """Begin a step. A step within the step of a level belongs to this level."""
        now = self._charge()
        name = stage if level is None else f"{stage}, level {level}"
        owner = self.owner if self.owner[1] is not None else (stage, level)
        self._open.append((name, owner, now))

    def leave(self, backend: str) -> None:
        """End the step that began last."""
        now = self._charge()
        name, owner, start = self._open.pop()
        self._append(Kind.STEP, name, start, now, owner, 0, backend)

    def add(
        self, kind: Kind, name: str, start: int, size: int, backend: str, traffic: int = 0
    ) -> None:
        """Record an event that began at `start` and ends now."""
        end = self.now()
        self._append(kind, name, start, end, self.owner, size, backend, traffic)

    def _append(
        self,
        kind: Kind,
        name: str,
        start: int,
        end: int,
        owner: Owner,
        size: int,
        backend: str,
        traffic: int = 0,
    ) -> None:
        self.nanoseconds.setdefault(owner, 0)
        self.events.append(
            Event(kind, name, start - self._began, end - start, owner, size, backend, traffic)
        )

    def _charge(self) -> int:
        """Charge the time since the last charge to the open step; return the time now."""
        now = self.now()
        if self._open:
            self.nanoseconds[self.owner] = self.nanoseconds.get(self.owner, 0) + now - self._charged
        self._charged = now
        return now


def _forwarded(name: str) -> Callable[..., Any]:
    """Return a method that calls that of the engine with this name."""

    def method(profiler: Profiler, *args: Any, **options: Any) -> Any:
        return getattr(profiler._engine, name)(*args, **options)

    return method


class Profiler(Backend):
    """Times and counts all calls to a back end; the results do not change.

    The profiler synchronises a GPU before and after each timed call, so kernels do not overlap with
    work of the host, and it runs captured launches one by one. A run therefore takes longer. These
    synchronisations are not counted.

    Parameters
    ----------
    engine : Backend
        The back end that does the work.
    """

    def __init__(self, engine: Backend, log: _Log | None = None) -> None:
        for attribute in Backend.__annotations__:
            setattr(self, attribute, getattr(engine, attribute))
        self.launches, self.ledger, self._tape = 0, engine.ledger, None
        self._engine = engine
        self._log = log or _Log(engine.ledger)
        if engine.host_engine is not None:
            self.host_engine = Profiler(engine.host_engine, self._log)

    def with_width(self, width: Width) -> Backend:
        """Return a profiler of the same back end with kernels of a width."""
        return Profiler(self._engine.with_width(width), self._log)

    def with_same_profile(self, other: Backend) -> Backend:
        """Return a profiler of another back end whose events are in the same profile."""
        return Profiler(other, self._log)

    def profile(self, title: str) -> Profile:
        """Return the profile of all events so far."""
        seconds = {owner: spent / 1e9 for owner, spent in self._log.nanoseconds.items()}
        return Profile(title, list(self._log.events), seconds)

    def enter(self, stage: str, level: int | None) -> None:
        """Begin a step."""
        self._log.enter(stage, level)

    def leave(self) -> None:
        """End the step that began last."""
        self._log.leave(self.name)

    def _timed(self, kind: Kind, name: str, size: int, work: Callable[..., T], /, *args: Any) -> T:
        return self._logged(kind, name, size, 0, lambda: work(*args))

    def _logged(self, kind: Kind, name: str, size: int, traffic: int, work: Callable[[], T]) -> T:
        self._engine.synchronize()
        start = self._log.now()
        result = work()
        self._engine.synchronize()
        self._log.add(kind, name, start, size, self.name, traffic)
        return result

    def _recorded(
        self, n: int, workunit: Workunit, arguments: dict[str, Any], launch: Callable[[], Any]
    ) -> Any:
        self.launches += 1
        signature = self._engine._launcher(workunit).signature
        least = traffic(n, signature, arguments)
        return self._logged(Kind(signature.kind.value), workunit.__name__, n, least, launch)

    def _launch(
        self,
        n: int | Count,
        workunit: Workunit,
        arguments: dict[str, Any],
        total: Count | None = None,
    ) -> Any:
        count, launch = operator.index(n), self._engine._launch
        return self._recorded(
            count, workunit, arguments, lambda: launch(count, workunit, arguments)
        )

    def run_tasks(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run and time a *for* workunit whose indices are long tasks."""
        run_tasks = self._engine.run_tasks
        self._recorded(n, workunit, arguments, lambda: run_tasks(n, workunit, **arguments))

    def capture(
        self,
        launches: Callable[[], None],
        /,
        until: Count | None = None,
        most: int = 1,
        agree: Callable[[bool], bool] = bool,
    ) -> Captured:
        """Return a function that makes the launches one by one, so that each is timed."""
        return Captured(lambda: repeated(launches, until, most), lambda _: True)

    def repeat(self, times: int, launches: Callable[[], None], /) -> None:
        """Make the launches one by one, so that each is timed."""
        repeated(launches, None, times)

    arena, dual_view, empty = map(_forwarded, ("arena", "dual_view", "empty"))
    fill, full = map(_forwarded, ("fill", "full"))
    compile, get_ready, perform = map(_forwarded, ("compile", "get_ready", "perform"))
    available_bytes, using, _load = map(_forwarded, ("available_bytes", "using", "_load"))

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Copy a NumPy array to the back end."""
        return self._timed(Kind.UPLOAD, "from_host", array.nbytes, self._engine.from_host, array)

    def to_host(self, array: Array, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return the NumPy array with the same contents: `out`, if given."""
        return self._timed(Kind.DOWNLOAD, "to_host", array.nbytes, self._engine.to_host, array, out)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual view from the host to the back end."""
        self._timed(Kind.UPLOAD, "push", array.host.nbytes, self._engine.sync_device, array)

    def sync_host(self, array: DualView) -> None:
        """Copy a dual view to the host; does not synchronise by itself."""
        self._timed(Kind.PULL, "pull", array.host.nbytes, self._engine.sync_host, array)

    def synchronize(self) -> None:
        """Wait until every launch has finished."""
        self._timed(Kind.WAIT, "synchronize", 0, self._engine.synchronize)

    def sorted(self, keys: Array) -> Array:
        """Return the keys in ascending order."""
        return self._timed(Kind.SORT, "sorted", len(keys), self._engine.sorted, keys)
