"""Graphs of tasks as the finest levels of workers, and the number of workers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.initial.workers import OF_ENTRIES, OF_VERTICES, count_workers
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import VERTEX_ROOM
from jetpy.workloads.tasks.kway import GAIN_UNITS
from jetpy.workloads.tasks.loading import Task, Work
from tests.graphs import star
from tests.hashing import mix
from tests.modules import import_kernels
from tests.strategies import weighted_graphs
from tests.tasks.workers import RUBBISH, rows_of

probes = import_kernels("tests.tasks.probes")
ROOM = 3
WORKER, HERE = 1, int(Field.COUNT)


def joined(graphs: list[Graph], *, counts_all: bool) -> tuple[SimpleNamespace, list[list[int]]]:
    """Store graphs one after another; return the arrays and the tasks.

    Rows and ends count from the first graph with `counts_all`, otherwise from their own one.
    """
    tasks, vertex, entry, row = [], 0, 0, 0
    indptr, indices = [], []
    for number, graph in enumerate(graphs):
        task = [0] * Task.COUNT
        task[Task.VERTEX], task[Task.ROW], task[Task.N] = vertex, row, graph.n
        task[Task.ENTRY], task[Task.FIRST] = (0, vertex) if counts_all else (entry, 0)
        task[Task.SEED] = 100 + number
        tasks.append(task)
        indptr.append(graph.indptr[:-1] + entry if counts_all else graph.indptr)
        indices.append(graph.indices + (vertex if counts_all else 0))
        row += graph.n + (not counts_all)
        vertex, entry = vertex + graph.n, entry + len(graph.indices)
    arrays = SimpleNamespace(
        indptr=np.concatenate([*indptr, [entry]]).astype(np.int32),
        indices=np.concatenate(indices).astype(np.int32),
        edge_weights=np.concatenate([graph.edge_weights for graph in graphs]),
        vertex_weights=np.concatenate([graph.vertex_weights for graph in graphs]),
    )
    return arrays, tasks


@given(st.lists(weighted_graphs(), min_size=1, max_size=4), st.booleans(), st.integers(0, 9))
def test_graph_of_a_task_is_the_finest_level(
    graphs: list[Graph], counts_all: bool, spare: int
) -> None:
    for number, graph in enumerate(graphs):
        arrays, tasks = joined(graphs, counts_all=counts_all)
        n, size = graph.n, len(graph.indices)
        vertex_room, entry_room = n + 1 + spare, size + spare
        levels = SimpleNamespace(
            **{name: np.full(3 * vertex_room, RUBBISH, np.int32) for name in OF_VERTICES},
            **{name: np.full(3 * entry_room + 1, RUBBISH, np.int32) for name in OF_ENTRIES},
            numbers=np.full(3 * Field.COUNT, RUBBISH, np.int64),
        )
        rows, nothing = np.array(tasks, np.int64).ravel(), np.zeros(1, np.int32)
        work = Work(rows, len(tasks), nothing, nothing, vertex_room, entry_room)
        get_backend("cpu", 1).run_tasks(
            1, probes.load_once, worker=WORKER, task=number * Task.COUNT, room=ROOM, here=HERE,
            graph=arrays, work=work, levels=levels,
        )  # fmt: skip
        first, entry = vertex_room, entry_room
        own, edges = slice(first, first + n), slice(entry, entry + size)
        assert (levels.rows[first : first + n + 1] == entry + graph.indptr).all()
        assert (levels.ends[edges] == first + graph.indices).all()
        assert (levels.edge_weights[edges] == graph.edge_weights).all()
        assert (levels.weights[own] == graph.vertex_weights).all()
        assert (levels.sides[own] == NO_PART).all()
        assert (levels.pinned[own] == NO_PART).all()
        for name, length in (("rows", n + 1), ("weights", n), ("sides", n), ("pinned", n)):
            others = np.delete(getattr(levels, name), np.arange(first, first + length))
            assert (others == RUBBISH).all()
        for name in OF_ENTRIES:
            others = np.delete(getattr(levels, name), np.arange(entry, entry + size))
            assert (others == RUBBISH).all()
        highest = max(sum(w for _, w in row) for row in rows_of(graph))
        expected = {
            Field.BEGIN: first,
            Field.END: first + n,
            Field.ORIGIN: first,
            Field.LEVELS: 0,
            Field.LEVEL_BEGINS: first,
            Field.LAST_VERTEX: first + VERTEX_ROOM * n,
            Field.LAST_ENTRY: entry + min(ROOM * size, entry_room),
            Field.TOTAL: graph.total_vertex_weight,
            Field.UNIT: 1 + highest // GAIN_UNITS,
            Field.SEED: mix(100 + number),
        }
        found = levels.numbers.tolist()
        assert {f: found[HERE + f] for f in expected} == expected
        assert found.count(RUBBISH) == len(found) - len(expected)


def test_large_gains_have_a_unit() -> None:
    graph = star(2)
    graph.edge_weights[:] = GAIN_UNITS
    arrays, tasks = joined([graph], counts_all=False)
    levels = SimpleNamespace(
        **{name: np.zeros(8, np.int32) for name in (*OF_VERTICES, *OF_ENTRIES)},
        numbers=np.zeros(Field.COUNT, np.int64),
    )
    nothing = np.zeros(1, np.int32)
    work = Work(np.array(tasks, np.int64).ravel(), 1, nothing, nothing, 8, 8)
    get_backend("cpu", 1).run_tasks(
        1, probes.load_once, worker=0, task=0, room=1, here=0, graph=arrays, work=work,
        levels=levels,
    )  # fmt: skip
    assert levels.numbers[Field.UNIT] == 3


@pytest.mark.parametrize(
    ("threads", "at_once", "tasks", "room", "workers"),
    [
        (4, None, 9, 100, 4),
        (4, None, 3, 100, 3),
        (4, None, 9, INT32_MAX // 2, 2),
        (4, None, 9, INT32_MAX, 1),
        (4, None, 9, 0, 4),
        (4, 1000, 2000, 100, 1000),
        (4, 1000, 2000, 2**20, 64),
        (4, 1000, 2000, 2**27, 1),
    ],
)
def test_number_of_workers(
    threads: int, at_once: int | None, tasks: int, room: int, workers: int
) -> None:
    backend = SimpleNamespace(threads=threads, tasks_at_once=at_once)
    assert count_workers(backend, tasks, room) == workers
