"""Runs that order a matrix, and updates of their results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.run import Execution
from jetpy.device.backends import CPU, lease
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import OptionError
from jetpy.graph.checks import one_of
from jetpy.graph.csr import Graph, IntArray
from jetpy.io.archive import write_archive
from jetpy.io.compression import open_output
from jetpy.io.patterns import checked_permutation, pattern_graph
from jetpy.lazy import cached_property
from jetpy.multilevel.outcome import cpu_threads
from jetpy.ordering.by_component import ordered_by_component
from jetpy.ordering.compression import Mask
from jetpy.ordering.constraints import Constraints
from jetpy.ordering.effort import Effort, chosen_effort
from jetpy.ordering.elimination import analysed
from jetpy.ordering.nested_dissection import dissected
from jetpy.ordering.updates import Old, updated
from jetpy.progress import Progress, no_progress
from jetpy.result.ordering import Ordering, OrderingUpdate
from jetpy.result.ordering_choice import OrderingChoice
from jetpy.result.separator_tree import Bounds, SeparatorTree
from jetpy.result.symbolic import Symbolic

BACKENDS = get_args(choices.Backend)
Choices = tuple[OrderingChoice, ...]


@dataclass(frozen=True, eq=False)
class OrderingRun:
    """A matrix that is to be ordered, and the options.

    Attributes
    ----------
    method : {'order', 'nested_dissection'}
    options : dict
        As `used_options` returns them.
    seed : int
    constraints : Constraints
    indptr, indices : int32 or int64, shape (n + 1,), and int32, shape (entries,)
        The pattern of the matrix.
    """

    method: str
    options: Mapping[str, Any]
    seed: int
    constraints: Constraints
    indptr: IntArray
    indices: IntArray

    @cached_property
    def effort(self) -> Effort:
        """The effort of nested dissection."""
        return chosen_effort(**self.options)

    def save(self, path: str | os.PathLike[str], ordering: Ordering) -> None:
        """Write an ordering of the matrix as `Ordering.save_session` does."""
        settings = {
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "keep_last_order": self.constraints.keeps_order,
        }
        groups, tree = self.constraints.groups, ordering.tree
        assert tree is not None
        with open_output(path) as stream:
            write_archive(
                stream,
                indptr=self.indptr,
                indices=self.indices,
                perm=ordering.perm,
                parents=tree.parents,
                starts=tree.starts,
                last=self.constraints.last,
                together=np.empty(0, np.int32) if groups is None else groups.names,
                settings=np.array(json.dumps(settings)),
            )

    def order(self, graph: Graph, execution: Execution, start: IntArray | None) -> Ordering:
        """Order the matrix, which is `graph`; errors as for `jetpy.nested_dissection`.

        `start` is as `checked_start` returns it.
        """

        def find(
            engine: Backend, host: Backend, tell: Progress
        ) -> tuple[IntArray, SeparatorTree, dict[str, Any]]:
            reduced = self.constraints.reduce(graph)
            begin = None if start is None else self.constraints.reduce_order(start)
            order, tree, choices = self._find(engine, host, *reduced, tell, begin)
            return *self.constraints.expand(order, tree), {"choices": choices}

        return self._run(find, graph, execution)

    def update(
        self, old: Ordering, matrix: Any, n: int | None, *, symmetrize: bool, **options: Any
    ) -> Ordering:
        """Order a matrix with a similar pattern; errors as for `Ordering.updated`."""
        graph = pattern_graph(matrix, n, symmetrize=symmetrize)
        if graph.n < old.n:
            raise OptionError(
                f"the matrix has {graph.n} rows, but the ordering has {old.n}; leave removed rows "
                "in the matrix, without entries"
            )
        constraints = self.constraints.extended(graph.n)
        changed = replace(self, constraints=constraints, indptr=graph.indptr, indices=graph.indices)

        def find(
            engine: Backend, host: Backend, tell: Progress
        ) -> tuple[IntArray, SeparatorTree, dict[str, Any]]:
            def again(part: Graph, is_last: Mask) -> tuple[IntArray, SeparatorTree]:
                return self._find(engine, host, part, is_last, no_progress)[:2]

            reduced = constraints.reduce(graph)
            order, tree, rows = updated(
                engine, host, *reduced, self._old(old), self.effort.leaf_weight, again
            )
            counts = OrderingUpdate(*rows, old.fill)
            return *constraints.expand(order, tree), {"update": counts}

        return changed._run(find, graph, Execution(**options))

    def _old(self, ordering: Ordering) -> Old:
        """Return an ordering of this matrix in terms of the groups of rows."""
        entries, n = np.ones(len(self.indices), np.int32), ordering.n
        graph = Graph(self.indptr, self.indices, entries, np.ones(n, np.int32))
        assert ordering.tree is not None
        found = self.constraints.shrink(ordering.perm, ordering.tree)
        return Old(self.constraints.reduce(graph)[0], *found)

    def _run(self, find: Any, graph: Graph, execution: Execution) -> Ordering:
        """Run `find`, which returns the order of the rows, its tree, and further attributes."""
        backend, threads, device = execution.backend, execution.threads, execution.device
        one_of(BACKENDS, "backend", backend)

        def work(engine: Backend, tell: Progress) -> tuple[Any, ...]:
            with cpus(engine, graph, threads) as host, Stopwatch(engine, "order") as watch:
                order, tree, more = find(engine, host, tell)
                on_gpu = engine.from_host(order) if device is True else None
            return order, tree, more, on_gpu, cpu_threads(host), watch.seconds

        name = chosen_backend(backend, device)
        found, engine, cost = execution.run(work, graph, name, graph.name)
        order, tree, more, on_gpu, used_threads, seconds = found
        structure = structure_of(graph, order, threads, tree.independent_ranges())
        used = engine.name, used_threads, on_gpu
        return Ordering(
            order, structure, self.method, seconds, tree, cost.profile, *used, **more, origin=self
        )

    def _find(
        self,
        engine: Backend,
        host: Backend,
        graph: Graph,
        is_last: Mask,
        tell: Progress,
        start: IntArray | None = None,
    ) -> tuple[IntArray, SeparatorTree, Choices]:
        """Return the order of a graph, its tree, and the choices of `order`."""
        given = engine, host, graph, is_last, self.effort, self.seed, tell, start
        if self.method == "order":
            return ordered_by_component(*given)
        return *dissected(*given), ()


def checked_start(start: npt.ArrayLike | None, n: int) -> IntArray | None:
    """Return an order of n rows to start from as int32, shape (n,), if there is one.

    Raises
    ------
    OptionError
        If it is not a permutation of 0..n - 1.
    """
    return None if start is None else checked_permutation(start, n, "start")


def chosen_backend(backend: str, device: int | bool | None) -> str:
    """Return the back end to use: `auto` is `cpu` unless a GPU is given."""
    return CPU if backend == "auto" and device is None else backend


@contextmanager
def cpus(engine: Backend, graph: Graph, threads: int | None) -> Iterator[Backend]:
    """Lend the block a back end on CPUs for the same graph and profile: `engine` if it is one."""
    if not engine.copies:
        yield engine
        return
    with lease(CPU, threads) as host, host.using():
        yield engine.with_same_profile(with_required_width(host, graph))


def structure_of(
    graph: Graph, order: IntArray, threads: int | None = 1, ranges: Bounds | None = None
) -> Symbolic:
    """Return the structure of the factor; `ranges` as for `elimination_tree`."""
    with lease(CPU, threads) as host, host.using():
        return analysed(with_required_width(host, graph), graph, order, ranges)
