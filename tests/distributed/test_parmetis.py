"""`jetpy.parmetis`: the parts of one process for any blocks, and one error for wrong arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy import parmetis
from jetpy.distributed.communicator import Communicator
from jetpy.errors import GraphError, JetpyError, OptionError
from jetpy.graph.csr import Graph
from tests.distributed.test_meshes import elements_of
from tests.distributed.test_pieces import block_of, weighted
from tests.distributed.test_processes import launched
from tests.distributed.threads import run_on_threads

GRAPH = weighted(jetpy.generators.grid(17, 13))
CPU: dict[str, Any] = {"backend": "cpu", "threads": 1}
TARGETS = [1, 2, 1, 3]
MPI_PROGRAM = Path(__file__).with_name("with_parmetis.py")
SQUARES = [0, 4, 8], [0, 1, 4, 3, 1, 2, 5, 4]


def blocks_for(n: int, size: int) -> Any:
    """Return the first vertices of processes of uneven sizes; that of rank 1 is empty."""
    inner = [n // 3, n // 3, n // 3 + 5][: size - 1]
    return np.array([0, *inner, n])


def arrays_of(graph: Graph, bounds: Any, rank: int) -> tuple[Any, ...]:
    """Return vtxdist, xadj, adjncy, adjwgt and vwgt."""
    block = block_of(graph, bounds, rank)
    return bounds, block.indptr, block.indices, block.edge_weights, block.vertex_weights


def parts_of_all(size: int, work: Callable[[Communicator], parmetis.KwayPartition]) -> Any:
    """Return the cut and all parts that `size` processes find."""
    results = run_on_threads(size, work)
    [cut] = {result.edgecut for result in results}
    for result in results:
        assert result.part.dtype == np.int32
    return cut, np.concatenate([result.part for result in results])


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_parts_equal_those_of_one_process(size: int) -> None:
    bounds = blocks_for(GRAPH.n, size)

    def work(comm: Communicator) -> parmetis.KwayPartition:
        vtxdist, xadj, adjncy, adjwgt, vwgt = arrays_of(GRAPH, bounds, comm.rank)
        return parmetis.part_kway(
            *(comm, vtxdist, xadj, adjncy, 4),
            vwgt=vwgt,
            adjwgt=adjwgt,
            wgtflag=3,
            tpwgts=np.array(TARGETS) / 7,
            ubvec=[1.1],
            seed=5,
            preset="fast",
            **CPU,
        )

    cut, parts = parts_of_all(size, work)
    expected = jetpy.partition(
        GRAPH, 4, targets=np.array(TARGETS) / 7, imbalance=0.1, seed=5, preset="fast", **CPU
    )
    assert (cut, parts.tolist()) == (expected.cut, expected.parts.tolist())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_refined_parts_equal_those_of_one_process(size: int) -> None:
    bounds, given = blocks_for(GRAPH.n, size), np.arange(GRAPH.n) * 5 // GRAPH.n

    def work(comm: Communicator) -> parmetis.KwayPartition:
        vtxdist, xadj, adjncy, adjwgt, vwgt = arrays_of(GRAPH, bounds, comm.rank)
        own = given[vtxdist[comm.rank] : vtxdist[comm.rank + 1]]
        weights = {"vwgt": vwgt, "adjwgt": adjwgt}
        return parmetis.refine_kway(comm, vtxdist, xadj, adjncy, 5, own, **weights, **CPU)

    cut, parts = parts_of_all(size, work)
    expected = jetpy.refine(GRAPH, given, 5, imbalance=0.05, **CPU)
    assert (cut, parts.tolist()) == (expected.cut, expected.parts.tolist())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_repartitioned_parts_equal_those_of_one_process(size: int) -> None:
    """The previous part of a vertex is given, or the process that owns it."""
    bounds, nearly = blocks_for(GRAPH.n, size), np.arange(GRAPH.n) * 4 // GRAPH.n

    def work(given: Any, comm: Communicator) -> parmetis.KwayPartition:
        vtxdist, xadj, adjncy, adjwgt, vwgt = arrays_of(GRAPH, bounds, comm.rank)
        own = None if given is None else given[vtxdist[comm.rank] : vtxdist[comm.rank + 1]]
        weights = {"vwgt": vwgt, "vsize": vwgt, "adjwgt": adjwgt}
        k = size if given is None else 4
        return parmetis.adaptive_repart(
            comm, vtxdist, xadj, adjncy, k, own, **weights, ipc2redist=2, **CPU
        )

    owner = np.searchsorted(bounds, np.arange(GRAPH.n), "right") - 1
    for given, k, home in ((nearly, 4, nearly), (None, size, owner)):
        cut, parts = parts_of_all(size, partial(work, given))
        expected = jetpy.partition(GRAPH, k, home=home, migration=0.5, imbalance=0.05, **CPU)
        assert (cut, parts.tolist()) == (expected.cut, expected.parts.tolist())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"part": None}, "process 0: part is None, but nparts is 3, and there are 2 processes"),
        ({"ipc2redist": 0}, "process 0: ipc2redist is 0; it must be positive"),
        ({"ipc2redist": "all"}, "process 0: ipc2redist is 'all'; it must be a finite number"),
        ({"vsize": np.arange(4)}, "process 0: vsize must equal vwgt"),
        ({"vsize": np.arange(3)}, "process 0: vsize has 3 entries; it must have 4"),
        ({"part": [0, 1, 2, 3]}, "process 0: home has part 3 for vertex 3; parts must be in 0..2"),
    ],
)
def test_wrong_repartitioning_is_one_error(changes: dict[str, Any], message: str) -> None:
    def work(comm: Communicator) -> str:
        ring = np.stack([np.arange(-1, 7) % 8, np.arange(1, 9) % 8], axis=1)
        own = ring[4 * comm.rank : 4 * comm.rank + 4].ravel()
        options = {"part": [0, 1, 2, 0], **(changes if comm.rank == 0 else {}), **CPU}
        with pytest.raises(JetpyError) as failed:
            parmetis.adaptive_repart(comm, [0, 4, 8], 2 * np.arange(5), own, 3, **options)
        return str(failed.value)

    first, other = run_on_threads(2, work)
    assert first == other
    assert first.startswith(message)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_parts_of_elements_equal_those_of_one_process(size: int) -> None:
    cells = np.array([[v, v + 1, v + 15, v + 14] for v in range(14 * 11) if v % 14 < 13])
    bounds, weights = blocks_for(len(cells), size), np.arange(len(cells)) % 5 + 1

    def work(comm: Communicator) -> parmetis.KwayPartition:
        eptr, eind = elements_of(np.full(len(cells), 4), cells.ravel(), bounds, comm.rank)
        own = weights[bounds[comm.rank] : bounds[comm.rank + 1]]
        return parmetis.part_mesh_kway(comm, bounds, eptr, eind, 2, 6, elmwgt=own, **CPU)

    cut, parts = parts_of_all(size, work)
    dual = jetpy.dual_graph(cells, "quad")
    whole = dual.indptr, dual.indices, None, weights
    expected = jetpy.partition(whole, 6, imbalance=0.05, **CPU)
    assert (cut, parts.tolist()) == (expected.cut, expected.parts.tolist())


TWO_WEIGHTS = np.stack([1 + np.arange(GRAPH.n) % 3, np.arange(GRAPH.n) % 5], axis=1)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["part_kway", "refine_kway"])
def test_parts_with_several_weights_equal_those_of_one_process(name: str, size: int) -> None:
    """The weights of a vertex are next to each other, and so are the shares of a part."""
    bounds, given = blocks_for(GRAPH.n, size), np.arange(GRAPH.n) * 5 % 4

    def work(comm: Communicator) -> parmetis.KwayPartition:
        vtxdist, xadj, adjncy, adjwgt, _ = arrays_of(GRAPH, bounds, comm.rank)
        own = slice(*bounds[comm.rank : comm.rank + 2])
        part = [given[own]] if name == "refine_kway" else []
        return getattr(parmetis, name)(
            *(comm, vtxdist, xadj, adjncy, 4, *part),
            vwgt=TWO_WEIGHTS[own].ravel(),
            adjwgt=adjwgt,
            ncon=2,
            tpwgts=np.repeat(TARGETS, 2),
            ubvec=[1.1, 1.3],
            **CPU,
        )

    cut, parts = parts_of_all(size, work)
    weighted_graph = (GRAPH.indptr, GRAPH.indices, GRAPH.edge_weights, TWO_WEIGHTS)
    goal: dict[str, Any] = {"targets": TARGETS, "imbalance": [0.1, 0.3], **CPU}
    if name == "part_kway":
        expected = jetpy.partition(weighted_graph, 4, **goal)
    else:
        expected = jetpy.refine(weighted_graph, given, 4, **goal)
    assert (cut, parts.tolist()) == (expected.cut, expected.parts.tolist())


def test_elements_may_have_several_weights() -> None:
    """The best cut for the first weights, in the middle, breaks the limit of the second ones."""
    strip = np.arange(5)[:4, None] + [0, 1, 6, 5]
    mesh = np.arange(0, 17, 4), strip.ravel()
    loads = np.array([[1, 1], [1, 1], [1, 0], [1, 0]])
    given: dict[str, Any] = {"ncommonnodes": 2, "nparts": 2, "ncon": 2, **CPU}
    found = parmetis.part_mesh_kway(None, [0, 4], *mesh, elmwgt=loads.ravel(), ubvec=1, **given)
    dual = jetpy.dual_graph(strip, "quad")
    expected = jetpy.partition(dual, 2, vertex_weights=loads, imbalance=0, **CPU)
    assert found.part.tolist() == expected.parts.tolist()
    assert (found.edgecut, np.bincount(found.part).tolist()) == (2, [2, 2])


def test_missing_weights_count_as_ones_in_each_constraint() -> None:
    vtxdist, xadj, adjncy, _, _ = arrays_of(GRAPH, np.array([0, GRAPH.n]), 0)
    found = parmetis.part_kway(None, vtxdist, xadj, adjncy, 3, ncon=2, **CPU)
    ones = np.ones((GRAPH.n, 2), int)
    expected = jetpy.partition((xadj, adjncy, None, ones), 3, imbalance=0.05, **CPU)
    assert found.part.tolist() == expected.parts.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tpwgts": [1, 2]}, r"tpwgts is \[1, 2\]; it must be 4 positive numbers, one for each"),
        ({"tpwgts": [1, 1, 2, 3]}, r"tpwgts of part 1 is \[2, 3\]; a part must have the same"),
        ({"ubvec": [1, 1, 1]}, r"ubvec is \[1, 1, 1\]; it must be one number, or 2, of at least"),
        ({"ncon": 65}, r"ncon is 65; it must be an integer in 1\.\.64"),
    ],
)
def test_wrong_constraints_are_refused(changes: dict[str, Any], message: str) -> None:
    path = [0, 4], [0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]
    with pytest.raises(OptionError, match=message):
        parmetis.part_kway(None, *path, 2, **{"ncon": 2, **changes}, **CPU)


def test_repartitioning_takes_a_single_weight() -> None:
    path = [0, 4], [0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]
    with pytest.raises(OptionError, match="ncon is 2; it must be 1: adaptive_repart counts"):
        parmetis.adaptive_repart(None, *path, 2, [0, 0, 1, 1], ncon=2, vwgt=[1] * 8, **CPU)


@pytest.mark.parametrize("wgtflag", [None, 0, 1, 2, 3])
def test_wgtflag_selects_weights(wgtflag: int | None) -> None:
    vtxdist, xadj, adjncy, adjwgt, vwgt = arrays_of(GRAPH, np.array([0, GRAPH.n]), 0)
    found = parmetis.part_kway(
        *(None, vtxdist, xadj, adjncy, 3), vwgt=vwgt, adjwgt=adjwgt, wgtflag=wgtflag, **CPU
    )
    flag = 3 if wgtflag is None else wgtflag
    chosen = xadj, adjncy, adjwgt if flag & 1 else None, vwgt if flag & 2 else None
    expected = jetpy.partition(chosen, 3, imbalance=0.05, **CPU)
    assert (found.edgecut, found.part.tolist()) == (expected.cut, expected.parts.tolist())


def test_wgtflag_ignores_weights_of_elements() -> None:
    given: dict[str, Any] = {"ncommonnodes": 2, "nparts": 2, "elmwgt": [1, 0], **CPU}
    assert parmetis.part_mesh_kway(None, [0, 2], *SQUARES, wgtflag=0, **given).edgecut == 1
    with pytest.raises(OptionError, match="wgtflag is 2, but elmwgt is None"):
        parmetis.part_mesh_kway(None, [0, 2], *SQUARES, **{**given, "elmwgt": None}, wgtflag=2)


def test_process_without_vertices_needs_no_weights() -> None:
    def work(comm: Communicator) -> parmetis.KwayPartition:
        xadj, adjncy, weights = ([0, 1, 2], [1, 0], [1, 1]) if comm.rank else ([0], [], None)
        given = {"vwgt": weights, "adjwgt": weights, "wgtflag": 3}
        return parmetis.part_kway(comm, [0, 0, 2], xadj, adjncy, 2, **given, **CPU)

    cut, parts = parts_of_all(2, work)
    assert (cut, sorted(parts.tolist())) == (1, [0, 1])


@pytest.mark.parametrize("ubvec", [1.05, [1.05], np.array([1.05], np.float32), np.float64(1.05)])
def test_ubvec_is_a_number_or_an_array_of_one(ubvec: Any) -> None:
    """The cheapest cut needs a part of weight 105, all that 5 % allow."""
    chain = [0, 4], [0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]
    weights: dict[str, Any] = {"vwgt": [95, 5, 5, 95], "adjwgt": [1, 1, 9, 9, 9, 9]}
    assert parmetis.part_kway(None, *chain, 2, ubvec=ubvec, **weights, **CPU).edgecut == 1
    assert parmetis.part_kway(None, *chain, 2, ubvec=1.04, **weights, **CPU).edgecut == 9


# wrong arguments

ROWS: dict[str, Any] = {"vtxdist": [0, 2, 4], "xadj": [0, 1, 3], "adjncy": [1, 0, 2], "nparts": 2}
OTHER_ROWS: dict[str, Any] = {**ROWS, "xadj": [0, 2, 3], "adjncy": [1, 3, 2]}
"""Arguments of the processes 0 and 1 for a path of four vertices."""


def one_message(work: Callable[[Communicator], Any], kind: type[JetpyError]) -> str:
    """Return the message of the error that both processes raise."""

    def refusal(comm: Communicator) -> str:
        with pytest.raises(kind) as failed:
            work(comm)
        return str(failed.value)

    [message] = set(run_on_threads(2, refusal))
    return message


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"vtxdist": [0, 2]}, GraphError, "process 1: vtxdist is [0, 2]; it must have 3 entries"),
        ({"vtxdist": [1, 2, 4]}, GraphError, "process 1: vtxdist is [1, 2, 4]; it must have 3"),
        ({"vtxdist": [0, 5, 4]}, GraphError, "process 1: vtxdist is [0, 5, 4]; it must have 3"),
        ({"vtxdist": None}, GraphError, "process 1: vtxdist must be a one-dimensional array"),
        (
            {"vtxdist": [0, 3, 5]},
            OptionError,
            "process 1 passes vtxdist=(0, 3, 5), but process 0 passes vtxdist=(0, 2, 4)",
        ),
        (
            {"vtxdist": [0, 1, 4]},
            GraphError,
            "process 1: xadj has 3 entries; it must have 4, because vtxdist gives this process 3",
        ),
        ({"xadj": [0, 2, 3, 3]}, GraphError, "process 1: xadj has 4 entries; it must have 3"),
        ({"xadj": [0.0, 2, 3]}, GraphError, "process 1: xadj must be a one-dimensional array of"),
        ({"xadj": [0, 2, 4]}, GraphError, "process 1: xadj must begin with 0, must not decrease"),
        ({"xadj": [0, 4, 3]}, GraphError, "process 1: xadj decreases at vertex 3: 4, then 3"),
        ({"adjncy": [[1, 3], [2]]}, GraphError, "process 1: adjncy must be a one-dimensional"),
        ({"adjncy": [1, 4, 2]}, GraphError, "process 1: edge (2, 4) leaves the graph; vertices"),
        ({"adjncy": [1, 3, 3]}, GraphError, "process 1: edge (3, 3) is a self-loop"),
        ({"adjncy": [0, 3, 2]}, GraphError, "the graph is not symmetric"),
        ({"vwgt": [1]}, GraphError, "process 1: vwgt has 1 entries; it must have 2"),
        ({"vwgt": [[1, 2], [1, 2]]}, GraphError, "process 1: vwgt must be a one-dimensional"),
        ({"vwgt": [1, 1]}, OptionError, "process 0 passes no vwgt, but process 1 does; all"),
        ({"adjwgt": [1, 1, 1]}, OptionError, "process 0 passes no adjwgt, but process 1 does; all"),
        ({"adjwgt": [1, 1]}, GraphError, "process 1: adjwgt has 2 entries; it must have 3"),
        ({"adjwgt": [1, 1, 0.5]}, GraphError, "process 1: adjwgt must be a one-dimensional"),
        ({"wgtflag": 4}, OptionError, "process 1: wgtflag is 4; it must be None or an integer in"),
        ({"wgtflag": 1}, OptionError, "process 1: wgtflag is 1, but adjwgt is None; pass the"),
        ({"wgtflag": 3, "adjwgt": [1, 1, 1]}, OptionError, "process 1: wgtflag is 3, but vwgt"),
        ({"wgtflag": 0}, OptionError, "process 1 passes wgtflag=0, but process 0 passes wgtflag="),
        ({"numflag": 1}, OptionError, "process 1: numflag is 1; it must be 0: jetpy numbers"),
        ({"numflag": None}, OptionError, "process 1: numflag is None; it must be an integer in"),
        ({"ncon": 2}, OptionError, "process 1 passes ncon=2, but process 0 passes ncon=1"),
        ({"ncon": 2, "vwgt": [1, 2]}, GraphError, "process 1: vwgt has 2 entries; it must have 4"),
        ({"ncon": 0}, OptionError, "process 1: ncon is 0; it must be an integer in 1.."),
        ({"nparts": 0}, OptionError, "process 1: nparts is 0; it must be an integer in 1..1677"),
        ({"nparts": 2.0}, OptionError, "process 1: nparts is 2.0; it must be an integer in 1.."),
        ({"nparts": 3}, OptionError, "process 1 passes nparts=3, but process 0 passes nparts=2"),
        ({"tpwgts": [0.5]}, OptionError, "process 1: tpwgts is [0.5]; it must be 2 positive"),
        ({"tpwgts": [1.0, 0.0]}, OptionError, "process 1: tpwgts is [1.0, 0.0]; it must be 2"),
        ({"tpwgts": [1, np.inf]}, OptionError, "process 1: tpwgts is [1, inf]; it must be 2"),
        ({"tpwgts": "even"}, OptionError, "process 1: tpwgts is 'even'; it must be 2 positive"),
        ({"tpwgts": [[1], [2, 3]]}, OptionError, "process 1: tpwgts is [[1], [2, 3]]; its rows"),
        ({"tpwgts": [1, 2]}, OptionError, "process 1 passes tpwgts=(1, 2), but process 0 passes"),
        ({"ubvec": 0.05}, OptionError, "process 1: ubvec is 0.05; it must be one number of at"),
        ({"ubvec": [1.05, 1.05]}, OptionError, "process 1: ubvec is [1.05, 1.05]; it must be one"),
        ({"ubvec": np.nan}, OptionError, "process 1: ubvec is nan; it must be one number of at"),
        ({"ubvec": None}, OptionError, "process 1: ubvec is None; it must be one number of at"),
        ({"ubvec": 1.1}, OptionError, "process 1 passes ubvec=1.1, but process 0 passes ubvec=1.0"),
        ({"seed": -1}, OptionError, "process 1: seed is -1"),
        ({"seed": 1}, OptionError, "process 1 passes seed=1, but process 0 passes seed=0"),
        ({"preset": "best"}, OptionError, "process 1: unknown preset 'best'"),
    ],
)
def test_wrong_argument_of_one_process_is_one_error(
    changes: dict[str, Any], kind: type[JetpyError], message: str
) -> None:
    def work(comm: Communicator) -> Any:
        given = {**OTHER_ROWS, **changes} if comm.rank else ROWS
        return parmetis.part_kway(comm, **{**CPU, **given})

    assert message in one_message(work, kind)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([0], "process 1: parts must be 2 integers, one for each owned vertex"),
        ([0, 2], "process 1: vertex 3 is in part 2; parts must be in 0..1"),
        ([0.0, 1.0], "process 1: parts must be 2 integers"),
    ],
)
def test_wrong_part_of_one_process_is_one_error(part: Any, message: str) -> None:
    def work(comm: Communicator) -> Any:
        given = {**OTHER_ROWS, "part": part} if comm.rank else {**ROWS, "part": [0, 1]}
        return parmetis.refine_kway(comm, **given, **CPU)

    assert message in one_message(work, GraphError)


MESH: dict[str, Any] = {"elmdist": [0, 2, 4], "eptr": SQUARES[0], "eind": SQUARES[1]}
MESH |= {"ncommonnodes": 2, "nparts": 2}


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"elmdist": [0, 2]}, GraphError, "process 1: elmdist is [0, 2]; it must have 3 entries"),
        ({"elmdist": [0, 3, 5]}, OptionError, "process 1 passes elmdist=(0, 3, 5), but process 0"),
        ({"eptr": [0, 8]}, GraphError, "process 1: eptr has 2 entries; it must have 3, because"),
        ({"eptr": [0, 4, 9]}, GraphError, "process 1: eptr must begin with 0, must not decrease"),
        ({"eind": [*SQUARES[1][:-1], -4]}, GraphError, "process 1: eind[7], in row 1, is -4;"),
        ({"elmwgt": [1, 2, 3]}, GraphError, "process 1: elmwgt has 3 entries; it must have 2"),
        ({"elmwgt": [1, 3]}, OptionError, "process 0 passes no elmwgt, but process 1 does; all"),
        ({"ncommonnodes": 0}, OptionError, "process 1: ncommonnodes is 0; it must be an integer"),
        ({"ncommonnodes": 1}, OptionError, "process 1 passes ncommonnodes=1, but process 0 "),
        ({"ncon": 3}, OptionError, "process 1 passes ncon=3, but process 0 passes ncon=1"),
        ({"nparts": 4}, OptionError, "process 1 passes nparts=4, but process 0 passes nparts=2"),
    ],
)
def test_wrong_mesh_of_one_process_is_one_error(
    changes: dict[str, Any], kind: type[JetpyError], message: str
) -> None:
    def work(comm: Communicator) -> Any:
        given = {**MESH, **changes} if comm.rank else MESH
        return parmetis.part_mesh_kway(comm, **given, **CPU)

    assert message in one_message(work, kind)


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_processes_find_the_parts_of_one(size: int) -> None:
    done = launched(size, str(MPI_PROGRAM))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * size
