"""One run: a back end for it, kernels compiled, the work, and the result with what it took."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from typing import TYPE_CHECKING

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
from jetpy.problem.problem import Problem
from jetpy.progress import Progress, ProgressOption, telling
from jetpy.result.partition import Partition

if TYPE_CHECKING:
    from jetpy.profiling.profiler import Profiler

Work = Callable[[Backend, Progress], Outcome]


def run(
    work: Work,
    graph: Graph,
    problem: Problem,
    preset: str,
    *,
    backend: str,
    threads: int | None,
    device: int | bool | None,
    progress: ProgressOption,
    profile: bool,
    effort: Effort = ONCE,
    objective: str = "cut",
) -> tuple[Partition, int]:
    """Lease a back end, do the work and put the result together; return it and its cost.

    Parameters
    ----------
    work : callable
        Is called with the back end and what shows progress.
    graph, problem, preset
        What the result says of itself.
    backend, threads, device, progress, profile
        As for `jetpy.partition`.
    effort : Effort
        How many partitions the work finds.
    objective : str
        What the work makes small.

    Raises
    ------
    OptionError, BackendError
        As `engine_for` does.
    """
    chosen = backend_for(graph, backend, device, effort)
    with engine_for(graph, chosen, threads, device) as engine:
        return _do(
            work,
            graph,
            problem,
            preset,
            engine,
            progress,
            profile=profile,
            on_device=device is True,
            gpu_skipped=chosen != backend,
            objective=objective,
        )


def backend_for(
    graph: Graph, backend: str, device: int | bool | None, effort: Effort = ONCE
) -> str:
    """Return the back end to ask for: the CPU's instead of `auto` where no GPU should be started.

    A time limit is for as many partitions as possible, so that a GPU is worth its start.
    """
    if isinstance(graph, GraphOnGpu) and graph.on_gpu is not None:
        return backend
    runs = inf if effort.time_limit is not None else effort.generations or 1
    return CPU if is_for_cpu(backend, device, runs * (graph.n + 2 * graph.m)) else backend


def engine_for(
    graph: Graph, backend: str, threads: int | None, device: int | bool | None
) -> AbstractContextManager[Backend]:
    """Lease the back end that was asked for, on the GPU where the graph is if that is not said.

    Raises
    ------
    OptionError, BackendError
        As `get_backend` does; OptionError also where `device` is False.
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
    work: Work,
    graph: Graph,
    problem: Problem,
    preset: str,
    engine: Backend,
    progress: ProgressOption,
    *,
    profile: bool,
    on_device: bool,
    gpu_skipped: bool,
    objective: str,
) -> tuple[Partition, int]:
    """Compile what is missing, do the work and put the result together; return it and its cost."""
    with telling(progress) as tell, watch_compilations() as compilations:
        engines = dict.fromkeys((engine, with_required_width(engine, graph)))
        loading = engine.loading_seconds
        # a profile must not time compilation, so it compiles all kernels first
        ready = make_ready(engines, tell, completely=profile)
        engine = list(engines)[-1]
        launches = sum(one.all_launches for one in engines)
        profiler = _profiler(engine) if profile else None
        with explain_oom(engine, graph.n, graph.m):
            outcome = work(engine if profiler is None else profiler, tell)
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
        preset=preset,
        coarsening=problem.options.coarsen.method,
        refinement=problem.options.refine.method,
        backend=engine.name,
        threads=cpu_threads(engine),
        gpu=engine.gpu,
        gpu_skipped=gpu_skipped,
        seconds={"compile": ready + engine.loading_seconds - loading, **outcome.seconds},
        compiled=bool(compilations),
        levels=LevelTable(outcome.levels),
        launches=sum(one.all_launches for one in engines) - launches,
        objective=objective,
        generations=outcome.generations,
        disconnected=outcome.disconnected,
        device_parts=device_parts,
        profile=None if profiler is None else profiler.profile(title),
    )
    return partition, outcome.cost
