"""One run: lease a back end, compile kernels, do the work, and return the result and its cost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from jetpy.api.request import Request
from jetpy.device.backends import CPU, ON_GPU, is_for_cpu, lease, make_ready
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.engines.oom_message import explain_oom
from jetpy.engines.workers import watch_compilations
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.graph.on_gpu import GraphOnGpu
from jetpy.multilevel.outcome import LevelTable, Outcome, cpu_threads
from jetpy.problem.options import ONCE, Effort
from jetpy.progress import Progress, ProgressOption, telling
from jetpy.result.partition import Partition

if TYPE_CHECKING:
    from jetpy.profiling.profiler import Profiler

Work = Callable[[Backend, Progress], Outcome]


@dataclass(frozen=True)
class Execution:
    """Execution options of a run, as documented for `jetpy.partition`."""

    backend: str
    threads: int | None
    device: int | bool | None
    progress: ProgressOption
    profile: bool


def run(work: Work, request: Request, execution: Execution) -> tuple[Partition, int]:
    """Lease a back end, do the work, and return the partition and its cost.

    Parameters
    ----------
    work : callable
        Called with the back end and a progress function.
    request : Request
        Describes the problem; the result repeats it.
    execution : Execution

    Raises
    ------
    OptionError, BackendError
        As `engine_for` does.
    """
    graph, backend, device = request.graph, execution.backend, execution.device
    chosen = backend_for(graph, backend, device, request.effort)
    with engine_for(graph, chosen, execution.threads, device) as engine:
        result, cost = _do(work, request, engine, execution)
    return replace(result, gpu_skipped=chosen != backend), cost


def backend_for(
    graph: Graph, backend: str, device: int | bool | None, effort: Effort = ONCE
) -> str:
    """Return the name of the back end to use: `cpu` instead of `auto` if a GPU would not pay.

    Under a time limit, the GPU is worth its start, because the run makes many partitions.
    """
    if isinstance(graph, GraphOnGpu) and graph.on_gpu is not None:
        return backend
    runs = inf if effort.time_limit is not None else effort.generations or 1
    return CPU if is_for_cpu(backend, device, runs * (graph.n + 2 * graph.m)) else backend


def engine_for(
    graph: Graph, backend: str, threads: int | None, device: int | bool | None
) -> AbstractContextManager[Backend]:
    """Lease the back end; without `device`, on the GPU that has the graph, if any.

    Raises
    ------
    OptionError, BackendError
        As `get_backend` does; OptionError also if `device` is False.
    """
    if device is False:
        raise OptionError("device is False; device must be the index of a GPU, True or None")
    on_gpu = graph.on_gpu if isinstance(graph, GraphOnGpu) else None
    number = 0 if on_gpu is None else on_gpu.number
    if device is True or (device is None and number > 0 and backend in ("auto", *ON_GPU)):
        device = number
    return lease(backend, threads, device)


def _profiler(engine: Backend) -> Profiler:
    from jetpy.profiling.profiler import Profiler

    return Profiler(engine)


def _do(
    work: Work, request: Request, engine: Backend, execution: Execution
) -> tuple[Partition, int]:
    """Compile missing kernels, do the work, and return the partition and its cost."""
    graph, problem = request.graph, request.problem
    with telling(execution.progress) as tell, watch_compilations() as compilations:
        engines = dict.fromkeys((engine, with_required_width(engine, graph)))
        loading = engine.loading_seconds
        # a profile must not time compilation, so it compiles all kernels first
        ready = make_ready(engines, tell, completely=execution.profile)
        engine = list(engines)[-1]
        launches = sum(one.all_launches for one in engines)
        profiler = _profiler(engine) if execution.profile else None
        with explain_oom(engine, graph.n, graph.m):
            outcome = work(engine if profiler is None else profiler, tell)
            on_device = execution.device is True
            device_parts = engine.from_host(outcome.parts) if on_device else None
    title = f"{graph.name}, k = {problem.k}, {engine.name}"
    partition = Partition(
        graph=graph,
        parts=outcome.parts,
        k=problem.k,
        cut=outcome.cut,
        ideals=problem.ideals,
        limits=problem.limits,
        seed=problem.seed,
        preset=request.preset,
        coarsening=problem.options.coarsen.method,
        refinement=problem.options.refine.method,
        backend=engine.name,
        threads=cpu_threads(engine),
        gpu=engine.gpu,
        seconds={"compile": ready + engine.loading_seconds - loading, **outcome.seconds},
        compiled=bool(compilations),
        levels=LevelTable(outcome.levels),
        launches=sum(one.all_launches for one in engines) - launches,
        objective=request.objective,
        generations=outcome.generations,
        disconnected=outcome.disconnected,
        device_parts=device_parts,
        profile=None if profiler is None else profiler.profile(title),
    )
    return partition, outcome.cost
