"""One run: lease a back end, compile kernels, do the work, and return the result and its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar

from jetpy.api.plans import OneRun, Plan, Solved
from jetpy.api.request import Request
from jetpy.device.backends import CPU, device_of, is_for_cpu, lease
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Array, Backend
from jetpy.evaluation.levels import LevelTable
from jetpy.graph.csr import Graph
from jetpy.graph.on_gpu import GraphOnGpu
from jetpy.multilevel.execution import Cost, execute
from jetpy.multilevel.outcome import cpu_threads
from jetpy.multilevel.small_graphs import solve_many_small
from jetpy.problem.options import ONCE, Effort
from jetpy.progress import Progress, ProgressOption
from jetpy.result.partition import Partition

T = TypeVar("T")
Work = Callable[[Backend, Progress], T]


@dataclass(frozen=True)
class Execution:
    """Execution options of a run, as documented for `jetpy.partition`."""

    backend: str
    threads: int | None
    device: int | bool | None
    progress: ProgressOption
    profile: bool = False

    def run(
        self, work: Work[T], graph: Graph, backend: str, title: str = ""
    ) -> tuple[T, Backend, Cost]:
        """Lease a back end, do the work, and return its result, the back end, and the cost.

        The back end is `backend`, whatever `self.backend` says, with the width that the graph
        requires. `title` is that of the profile, without the back end.

        Raises
        ------
        OptionError, BackendError
            As the method `lease` does.
        """
        with self.lease(graph, backend) as leased:
            engine = with_required_width(leased, graph)
            own_title = f"{title}, {engine.name}" if self.profile else None
            result, cost = execute(work, engine, self.progress, (graph.n, graph.m), own_title)
        return result, engine, cost

    def lease(self, graph: Graph, backend: str) -> AbstractContextManager[Backend]:
        """Lend a block the back end `backend`, on the GPU that the options or the graph name.

        Raises
        ------
        OptionError, BackendError
            As `jetpy.device.backends.lease` and `device_of` do.
        """
        return lease(backend, self.threads, device_of(graph, backend, self.device))


def carry_out(plan: Plan, execution: Execution) -> Partition:
    """Carry out a plan; errors as for `run`."""
    request = plan.request
    if not is_task(plan, execution):
        return run(plan.solve, request, execution)[0]
    [found] = run_small([request], execution, _backend_of(request, execution))
    return found


def is_task(plan: Plan, execution: Execution) -> bool:
    """Return whether `run_small` carries out a plan."""
    alone = execution.profile or execution.device is True
    return not alone and isinstance(plan, OneRun) and plan.request.is_small


def _backend_of(request: Request, execution: Execution) -> str:
    """Return the name of the back end for a request; a task runs on the CPU in any case."""
    device = execution.device
    chosen = backend_for(request.graph, execution.backend, device, request.effort)
    return CPU if chosen == "auto" and device is None and request.is_small else chosen


def run(work: Work[Solved], request: Request, execution: Execution) -> tuple[Partition, int]:
    """Lease a back end, do the work, and return the partition and its cost.

    Parameters
    ----------
    work : callable
        Called with the back end and a progress function.
    request : Request
        Describes the problem; the result repeats it, but for the number of parts and their limits.
    execution : Execution

    Raises
    ------
    OptionError, BackendError
        As `Execution.run` does.
    """
    graph, device = request.graph, execution.device
    chosen = _backend_of(request, execution)

    def work_on_device(backend: Backend, tell: Progress) -> tuple[Solved, Array | None]:
        result = work(backend, tell)
        parts = result.outcome.parts
        return result, backend.from_host(parts) if device is True else None

    title = f"{graph.name}, k = {request.problem.k}"
    (solved, device_parts), engine, cost = execution.run(work_on_device, graph, chosen, title)
    partition = result_of(request, solved, engine, cost, skips_gpu=chosen != execution.backend)
    return replace(partition, device_parts=device_parts), solved.outcome.cost


def run_small(requests: Sequence[Request], execution: Execution, backend: str) -> list[Partition]:
    """Partition small graphs, whose requests have the same options, by one launch.

    Each result is that of `run`. The launch is on `backend`, whatever `execution` says. A GPU
    shares the graphs with all threads of the CPU; its own host, for small levels, has fewer.
    """
    graphs = [request.graph for request in requests]
    problems = [request.problem for request in requests]
    size = sum(graph.n for graph in graphs), sum(graph.m for graph in graphs)
    with ExitStack() as leases:
        engine = leases.enter_context(execution.lease(graphs[0], backend))
        host = engine.host
        if engine.tasks_at_once and len(requests) > 1:
            host = leases.enter_context(lease(CPU, execution.threads))

        def work(backend: Backend, tell: Progress) -> list[Solved]:
            tell("refine", 0, 1)
            found = solve_many_small(backend, host, graphs, problems)
            solved = [
                Solved.of(own, outcome or own.solver.solve(backend, ONCE, tell))
                for own, outcome in zip(requests, found, strict=True)
            ]
            tell("refine", 1, 1)
            return solved

        solved, cost = execute(work, engine, execution.progress, size)
        skips_gpu, own = backend != execution.backend, cost.share(len(requests))
        return [
            result_of(request, one, engine, own, skips_gpu=skips_gpu)
            for request, one in zip(requests, solved, strict=True)
        ]


def result_of(
    request: Request, solved: Solved, engine: Backend, cost: Cost, *, skips_gpu: bool = False
) -> Partition:
    """Return the result of a run on a back end, given what it has cost."""
    outcome, problem, graph = solved.outcome, request.problem, request.graph
    return Partition(
        graph=graph,
        parts=outcome.parts,
        k=solved.k,
        cut=outcome.cut,
        ideals=solved.ideals,
        limits=solved.limits,
        lower_limits=solved.lower_limits,
        seed=problem.seed,
        preset=request.preset,
        options=problem.options,
        backend=engine.name,
        threads=cpu_threads(engine),
        gpu=engine.gpu,
        gpu_skipped=skips_gpu,
        seconds=cost.seconds,
        compiled=cost.compiled,
        levels=LevelTable(outcome.levels),
        launches=cost.launches,
        objective=request.objective,
        generations=outcome.generations,
        disconnected=outcome.disconnected,
        weights=graph.constraint_weights,
        home=None if request.places is None else request.places.home,
        profile=cost.profile,
    )


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
