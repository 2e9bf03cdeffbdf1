"""Calls that are wrong in the last process only, and the error that all processes raise.

As a program, it makes the calls in processes that MPI started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from jetpy import parmetis
from jetpy.distributed import faults
from jetpy.distributed.api import communicator
from jetpy.distributed.communicator import Communicator
from tests.distributed.test_pieces import block_of, evenly

GRID = jetpy.generators.grid(9, 5)
ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
VERSION = jetpy.__version__
WEIGHTS = "edge_weights", "vertex_weights"
Calls = Mapping[str, tuple[Callable[[], object], str]]


def changed(values: Any, place: Any, value: int) -> Any:
    """Return a copy of an array in which one value differs."""
    copy = values.copy()
    copy[place] = value
    return copy


def wrong_calls(comm: Communicator) -> Calls:
    """Return calls by name, each with the beginning of the message of all processes."""
    last, bounds = comm.size - 1, evenly(GRID.n, comm.size)
    is_wrong, v = comm.rank == last, int(bounds[last])
    block = block_of(GRID, bounds, comm.rank)
    names = "indptr", "indices", *WEIGHTS
    right = {name: np.asarray(getattr(block, name), np.int64) for name in names}
    n = block.n
    head, free = int(GRID.indices[GRID.indptr[v]]), np.full(n, -1)

    def partition(k: int = 4, **wrong: Any) -> object:
        """Partition with arrays and options of the last process; others have the usual ones."""
        own: dict[str, Any] = {**right, **(wrong if is_wrong else {})}
        usual: dict[str, Any] = {
            name: free for name in ("fixed", "home", "together") if name in wrong
        }
        arrays = tuple(own.pop(name) for name in names)
        return jetpy.distributed.partition(comm, arrays, k, **{**ENGINE, **usual, **own})

    def with_change(name: str, place: Any, value: int) -> Callable[[], object]:
        """Return a call in which one value of an array differs."""
        array = right.get(name, free)
        return partial(partition, **{name: changed(array, place, value)})

    def with_array(name: str, change: Callable[[Any], Any]) -> Callable[[], object]:
        return partial(partition, **{name: change(right[name])})

    def on_parts(function: Any, parts: Any, **options: Any) -> Callable[[], object]:
        own = parts if is_wrong else np.zeros(n, int)
        return partial(function, comm, tuple(right.values()), own, 4, **options)

    def either(wrong: Any, usual: Any) -> Any:
        return wrong if is_wrong else usual

    mesh = np.arange(2) * 3, np.arange(3)
    rows = right["indptr"], right["indices"]
    distributed, who = jetpy.distributed, f"process {last}: "
    return {
        "no tuple": (
            lambda: distributed.partition(comm, either([1], rows), 4, **ENGINE),
            f"{who}the block is a list; it must be a tuple",
        ),
        "indptr too short": (
            with_array("indptr", lambda values: values[:-1]),
            f"{who}indptr must begin with 0, must not decrease, and must end with",
        ),
        "indptr falls": (
            with_change("indptr", 2, 1),
            f"{who}indptr decreases at vertex {v + 1}: ",
        ),
        "fractional neighbours": (
            with_array("indices", lambda values: values + 0.5),
            f"{who}indices must be a one-dimensional array of integers, not float64 of shape (",
        ),
        "a neighbour outside": (
            with_change("indices", 0, GRID.n),
            f"{who}edge ({v}, {GRID.n}) leaves the graph; vertices must be in 0..44",
        ),
        "a negative neighbour": (
            with_change("indices", 0, -2),
            f"{who}edge ({v}, -2) leaves the graph; vertices must be in 0..44",
        ),
        "a loop": (with_change("indices", 0, v), f"{who}edge ({v}, {v}) is a self-loop"),
        "a neighbour twice": (
            with_change("indices", 1, head),
            f"{who}edge ({v}, {head}) is listed more than once",
        ),
        "weights too short": (
            with_array("edge_weights", lambda values: values[1:]),
            f"{who}edge_weights has ",
        ),
        "weights that are nan": (
            with_array("vertex_weights", lambda values: values * np.nan),
            f"{who}vertex_weights must be a one-dimensional array of integers, not float64",
        ),
        "a vertex weight below 0": (
            with_change("vertex_weights", 2, -1),
            f"{who}vertex_weights has -1 for vertex {v + 2}; weights must be in 0..2**31 - 1",
        ),
        "an edge weight of 2**40": (
            with_change("edge_weights", 0, 2**40),
            f"{who}edge_weights has {2**40} for edge ({v}, {head}); weights must be in",
        ),
        "weights of other processes": (
            partial(partition, vertex_weights=None),
            f"process {last} passes no vertex_weights, but process 0 does; all processes must",
        ),
        "several weights of one process": (
            partial(partition, vertex_weights=np.ones((n, 2), int)),
            f"the number of weights of each vertex is 2 in process {last}, but 1 in process 0",
        ),
        "vtxdist": (
            partial(partition, vtxdist=np.zeros(comm.size + 1, int)),
            f"{who}vtxdist does not match the blocks; it must be [0, ",
        ),
        "fixed beyond k": (
            with_change("fixed", 3, 4),
            f"{who}fixed has part 4 for vertex {v + 3}; parts must be in 0..3",
        ),
        "home too short": (
            partial(partition, home=[0]),
            f"{who}home has shape (1,); it must have one part for each of {GRID.n - v} vertices",
        ),
        "a group below -1": (
            with_change("together", 1, -7),
            f"{who}together has group -7 for vertex {v + 1}; groups must be integers from 0",
        ),
        "no groups": (
            lambda: distributed.partition(comm, rows, 4, together=either(None, free), **ENGINE),
            f"process {last} passes together='nothing', but process 0 passes together='an array'",
        ),
        "another k": (
            lambda: distributed.partition(comm, rows, either(5, 4), **ENGINE),
            f"process {last} passes k=5, but process 0 passes k=4; all processes must pass",
        ),
        "another seed": (
            partial(partition, seed=3),
            f"process {last} passes seed=3, but process 0 passes seed=0",
        ),
        "another preset": (
            partial(partition, preset="fast"),
            f"process {last} passes preset='fast', but process 0 passes preset='default'",
        ),
        "other options": (
            partial(partition, options={"refine.patience": 3}),
            f"process {last} passes options={{'refine.patience': 3}}, but process 0 passes",
        ),
        "an unknown option": (
            partial(partition, options={"patience": 3}),
            f"{who}unknown option 'patience'",
        ),
        "a word instead of a number": (
            partial(partition, small="many"),
            f"{who}small is 'many'; it must be an integer in 0..",
        ),
        "targets of fewer parts": (
            partial(partition, targets=[1, 2]),
            f"{who}targets has shape (2,); it must be 4 numbers",
        ),
        "another function": (
            on_parts(either(distributed.refine, distributed.evaluate), np.zeros(n, int)),
            f"process {last} calls refine of jetpy {VERSION}, but process 0 calls "
            f"evaluate of jetpy {VERSION}; all processes must call the same functions",
        ),
        "a part that is k": (
            on_parts(distributed.refine, changed(np.zeros(n, int), 1, 4), **ENGINE),
            f"{who}vertex {v + 1} is in part 4; parts must be in 0..3",
        ),
        "no parts": (
            on_parts(distributed.evaluate, None),
            f"{who}parts must be {GRID.n - v} integers, one for each owned vertex",
        ),
        "an order of another row": (
            lambda: distributed.nested_dissection(comm, rows, threads=1, last=either([3], None)),
            f"process {last} passes last=(3,), but process 0 passes last=()",
        ),
        "another start": (
            lambda: distributed.order(comm, rows, threads=1, start=either(np.arange(GRID.n), None)),
            f"process {last} passes start='permutation with SHA-256 ",
        ),
        "an entry outside the matrix": (
            lambda: distributed.nested_dissection(
                comm, (rows[0], changed(rows[1], 0, either(99, rows[1][0]))), threads=1
            ),
            f"{who}edge ({v}, 99) leaves the graph; vertices must be in 0..44",
        ),
        "a negative node": (
            lambda: distributed.dual_graph(comm, (mesh[0], changed(mesh[1], 1, either(-4, 1))), 1),
            f"{who}eind[1], in row 0, is -4; nodes must be in 0..",
        ),
        "another number of nodes": (
            lambda: distributed.dual_graph(comm, mesh, either(2, 1)),
            f"process {last} passes common_nodes=2, but process 0 passes common_nodes=1",
        ),
        "another vtxdist": (
            lambda: parmetis.part_kway(
                comm, bounds if comm.rank < last else bounds + 1, *rows, 4, **ENGINE
            ),
            f"{who}vtxdist is [1, ",
        ),
        "a generator's edges": (
            lambda: distributed.rmat(comm, 5, either(3, 2)),
            f"process {last} passes edge_factor=3, but process 0 passes edge_factor=2",
        ),
        "a wrong scale": (
            lambda: distributed.rmat(comm, either(0, 5)),
            f"{who}scale is 0, edge_factor 16 and seed 0; scale must be in 1..30",
        ),
        "no file": (
            lambda: distributed.read(comm, either(None, "b.graph")),
            who,  # then the words of Python, which differ between versions
        ),
        "rows of different lengths": (
            on_parts(distributed.refine, [[0], [0, 1]], **ENGINE),
            f"{who}[[0], [0, 1]] is not an array; its rows must have equal lengths",
        ),
        "another file": (
            lambda: distributed.read(comm, either("a.npz", "b.graph")),
            f"process {last} passes file='a.npz', but process 0 passes file='b.graph'",
        ),
        "a block of parts that overlaps": (
            lambda: distributed.write_parts(
                comm, "x.part", np.zeros(n, int), either(0, int(bounds[comm.rank])), GRID.n
            ),
            f"{who}first is 0, and n is 45; they must be {v} and 45",
        ),
        "fractional parts": (
            lambda: distributed.write_parts(comm, "x.part", either([0.5], [0]), 0, 1),
            f"{who}parts must be a one-dimensional array of integers, not float64",
        ),
        "a missing folder": (
            lambda: distributed.write_parts(
                comm, either("missing/x.part", "x.part"), [0], comm.rank, comm.size
            ),
            f"{who}missing/x.part: the folder ",
        ),
    }


def error_of(call: Callable[[], object]) -> str:
    """Return the message of the error that a call raises."""
    try:
        call()
    except Exception as error:
        return str(error)
    return "no error"


def main() -> None:
    """Make all calls, and the first one with another version of jetpy in the last process."""
    comm = communicator(MPI.COMM_WORLD)
    calls = dict(wrong_calls(comm))
    call, _ = next(iter(calls.values()))
    if comm.rank == comm.size - 1:
        faults._version = lambda: "99.0"  # type: ignore[assignment]
    message = f"process {comm.size - 1} calls partition of jetpy 99.0, but process 0 calls"
    assert error_of(call).startswith(message)
    faults._version = lambda: VERSION  # type: ignore[assignment]
    for name, (call, message) in calls.items():
        found = error_of(call)
        assert found.startswith(message), f"{name}: {found}"
    print("finished")


if __name__ == "__main__":
    from mpi4py import MPI

    main()
