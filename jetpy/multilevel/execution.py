"""Execution of a run on a back end, the same for all kinds of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from jetpy.device.backends import make_ready
from jetpy.engines.base import Backend
from jetpy.engines.oom_message import explain_oom
from jetpy.engines.workers import watch_compilations
from jetpy.kernel_language import Width
from jetpy.progress import Progress, ProgressOption, telling

if TYPE_CHECKING:
    from jetpy.profiling.profile import Profile

STAGES = ("coarsen", "initial", "refine")
"""Stages of a partitioner's run."""

T = TypeVar("T")


class Cost(NamedTuple):
    """Wall seconds by stage, whether kernels were compiled, launches and profile.

    Of the stages, "compile" includes loading kernels, and "total" is the sum of all others.
    """

    seconds: dict[str, float]
    compiled: bool
    launches: int
    profile: Profile | None

    def share(self, count: int) -> Cost:
        """Return the cost of one of several equal tasks; each has to wait for all kernels."""
        seconds = {name: own / count for name, own in self.seconds.items()}
        return self._replace(seconds={**seconds, "compile": self.seconds["compile"]})


def execute(
    work: Callable[[Backend, Progress], T],
    engine: Backend,
    progress: ProgressOption,
    size: tuple[int, int],
    title: str | None = None,
) -> tuple[T, Cost]:
    """Compile missing kernels, do the work, and return its result and cost.

    `work` gets the back end, or its profiler if the profile has a title, and a progress function.
    `size` is the number of vertices and of undirected edges.

    Raises
    ------
    OptionError, OutOfMemoryError
        As `telling` and `explain_oom` do.
    """
    with telling(progress) as tell, watch_compilations() as compilations:
        engines = dict.fromkeys((engine.with_width(Width.NARROW), engine))
        ledger, loading = engine.ledger, engine.ledger.loading
        ledger.begin()
        # a profile must not time compilation, so it compiles all kernels first
        ready = make_ready(engines, tell, completely=title is not None)
        launches = sum(one.all_launches for one in engines)
        profiler = None
        if title is not None:
            from jetpy.profiling.profiler import Profiler

            profiler = Profiler(engine)
        with explain_oom(engine, *size):
            result = work(profiler or engine, tell)
    spent = {stage: ledger.stages[stage] for stage in STAGES}
    return result, Cost(
        {"compile": ready + ledger.loading - loading, **spent, "total": sum(spent.values())},
        bool(compilations),
        sum(one.all_launches for one in engines) - launches,
        None if profiler is None else profiler.profile(title or ""),
    )
