"""`jetpy.pymetis`: its functions run jetpy with the interface of pymetis; the rest is METIS."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import warnings
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pymetis as original
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
import jetpy.pymetis as pymetis
from jetpy.errors import GraphError, OptionError
from jetpy.evaluation.metis_baseline import metis, metis_order
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.problem.metrics import edge_cut, part_weights
from tests.graphs import SMALL_GRAPHS, path, random_graph, two_cliques
from tests.strategies import weighted_graphs
from tests.test_layers import modules

GRAPH = random_graph(300, 900, 1, weighted=True)


@pytest.fixture(autouse=True)
def no_previous_warnings() -> Iterator[None]:
    pymetis._tell.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def csr(graph: Graph) -> Any:
    return pymetis.CSRAdjacency(graph.indptr, graph.indices)


def weights(graph: Graph) -> dict[str, Any]:
    return {"vweights": graph.vertex_weights, "eweights": graph.edge_weights}


def rows(graph: Graph) -> list[list[int]]:
    starts, neighbours = graph.indptr.tolist(), graph.indices.tolist()
    return [neighbours[a:b] for a, b in pairwise(starts)]


# on jetpy

SHARED = {
    "imbalance": 0.001,
    "targets": [5, 3, 2],
    "min_weights": [GRAPH.total_vertex_weight * share // 10_010 for share in (5000, 3000, 2000)],
}


@pytest.mark.parametrize(
    ("nparts", "asked", "stands_for"),
    [
        (8, {}, {"imbalance": 0.001}),
        (9, {}, {"imbalance": 0.03}),
        (8, {"recursive": False}, {"imbalance": 0.03}),
        (9, {"recursive": True}, {"imbalance": 0.001}),
        (9, {"options": {"ufactor": 200}}, {"imbalance": 0.2}),
        (4, {"options": {"ufactor": 1500}}, {"imbalance": 1.5, "large_imbalance": True}),
        (4, {"options": {"seed": 5}}, {"imbalance": 0.001, "seed": 5}),
        (4, {"options": {"seed": -2}}, {"imbalance": 0.001, "seed": 2**31 - 2}),
        (4, {"options": {"ncuts": 3}}, {"imbalance": 0.001, "generations": 3}),
        (3, {"tpwgts": np.array([0.5, 0.3, 0.2])}, SHARED),
        (3, {"tpwgts": [5, 3, 2]}, SHARED),
        (3, {"tpwgts": []}, {"imbalance": 0.001}),
    ],
)
def test_parts_equal_those_of_jetpy(
    nparts: int, asked: dict[str, Any], stands_for: dict[str, Any]
) -> None:
    if "options" in asked:
        asked = {**asked, "options": pymetis.Options(**asked["options"])}
    found = pymetis.part_graph(nparts, csr(GRAPH), **weights(GRAPH), **asked)
    expected = jetpy.partition(GRAPH, nparts, **stands_for)
    assert type(found) is original.GraphPartition
    assert type(found.edge_cuts) is int
    assert found.edge_cuts == expected.cut
    assert list(found.vertex_part) == expected.parts.tolist()


def test_objective_volume_equals_jetpy() -> None:
    options = pymetis.Options(objtype=int(pymetis.ObjType.VOL))
    found = pymetis.part_graph(9, csr(GRAPH), **weights(GRAPH), options=options)
    expected = jetpy.partition(GRAPH, 9, objective="volume")
    assert found.edge_cuts == expected.communication_volume
    assert list(found.vertex_part) == expected.parts.tolist()
    assert found.vertex_part != pymetis.part_graph(9, csr(GRAPH), **weights(GRAPH)).vertex_part


def test_sizes_count_for_the_volume_only() -> None:
    sizes, volume = np.arange(GRAPH.n) % 7, pymetis.Options(objtype=int(pymetis.ObjType.VOL))
    arguments: dict[str, Any] = {"vsize": sizes.tolist(), **weights(GRAPH)}
    found = pymetis.part_graph(9, csr(GRAPH), options=volume, **arguments)
    expected = jetpy.partition(GRAPH, 9, objective="volume", vertex_sizes=sizes)
    assert found.edge_cuts == expected.communication_volume
    assert list(found.vertex_part) == expected.parts.tolist()
    cut = pymetis.part_graph(9, csr(GRAPH), **arguments)
    assert cut == pymetis.part_graph(9, csr(GRAPH), **weights(GRAPH))
    with pytest.raises(GraphError, match="vertex 0 has size -1"):
        pymetis.part_graph(9, csr(GRAPH), options=volume, vsize=np.full(GRAPH.n, -1))


def test_options_change_the_parts() -> None:
    """The preceding test passes even if both sides ignore the options."""
    found = {
        tuple(pymetis.part_graph(9, csr(GRAPH), options=pymetis.Options(**options)).vertex_part)
        for options in ({}, {"seed": 5}, {"ufactor": 200}, {"ncuts": 20})
    }
    assert len(found) == 4


@given(weighted_graphs(), st.integers(1, 5))
def test_result_is_valid_for_random_graphs(graph: Graph, nparts: int) -> None:
    cut, parts = pymetis.part_graph(nparts, csr(graph), **weights(graph))
    assert len(parts) == graph.n
    assert set(parts) <= set(range(nparts))
    assert cut == edge_cut(graph, np.array(parts))


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_every_form_of_adjacency_gives_the_same_parts(name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    lists, given = rows(graph), weights(graph)
    expected = pymetis.part_graph(2, csr(graph), **given)
    for adjacency in (
        lists,
        [np.array(row) for row in lists],
        dict(enumerate(lists)),
        pymetis.CSRAdjacency(graph.indptr.tolist(), graph.indices.astype(np.int64)),
    ):
        assert pymetis.part_graph(2, adjacency, **given) == expected
    assert pymetis.part_graph(2, xadj=graph.indptr, adjncy=graph.indices, **given) == expected


def test_trivial_numbers_of_parts() -> None:
    assert pymetis.part_graph(1, rows(path(3))) == (0, [0, 0, 0])
    cut, parts = pymetis.part_graph(5, rows(path(3)))
    assert (cut, len(set(parts))) == (2, 3)
    assert pymetis.part_graph(2, []) == (0, array("q"))


def test_targets_are_met_exactly() -> None:
    graph = grid(10, 10)
    _, parts = pymetis.part_graph(2, csr(graph), tpwgts=[0.8, 0.2])
    assert part_weights(graph, np.array(parts), 2).tolist() == [80, 20]


def kinds(answer: Any) -> Any:
    """Return the types in a result."""
    if isinstance(answer, tuple):
        return type(answer), getattr(answer, "_fields", ()), *map(kinds, answer)
    if isinstance(answer, np.dtype):  # jetpy uses other integers without copies
        return np.dtype
    return type(answer), getattr(answer, "typecode", None)


TRIANGLES = [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


@pytest.mark.parametrize(
    "call",
    [
        lambda module: module.part_graph(1, rows(path(4))),
        lambda module: module.part_graph(2, rows(path(4))),
        lambda module: module.part_graph(2, csr(path(4)), vweights=[1, 2, 1, 1]),
        lambda module: module.part_graph(9, csr(GRAPH), **weights(GRAPH), recursive=False),
        lambda module: module.nested_dissection(rows(path(4))),
        lambda module: module.part_mesh(1, TRIANGLES),
        lambda module: module.part_mesh(2, TRIANGLES),
        lambda module: module.part_mesh(2, TRIANGLES, gtype=module.GType.DUAL, ncommon=2),
        lambda module: module.part_mesh(2, np.array(TRIANGLES), None, [0.3, 0.7]),
        lambda module: module.zero_copy_dtype(),
        lambda module: module.version,
        lambda module: module.version_tuple,
        lambda module: module.Options(),
    ],
)
def test_result_types_equal_those_of_pymetis(call: Callable[[Any], Any]) -> None:
    assert kinds(call(pymetis)) == kinds(call(original))


# warnings


def test_asymmetric_adjacency_is_repaired() -> None:
    broken, repaired = [[1, 2], [2], [3], []], [[1, 2], [0, 2], [0, 1, 3], [2]]
    with pytest.warns(UserWarning, match=r"^edge \(0, 1\) is listed, but not its reverse.*repairs"):
        found = pymetis.part_graph(2, broken)
    assert found == pymetis.part_graph(2, repaired)
    assert pymetis.part_graph(2, broken) == found  # warns only once


def test_loops_and_duplicates_are_repaired() -> None:
    with pytest.warns(UserWarning, match=r"^edge \(1, 1\) is a self-loop; jetpy repairs this"):
        assert pymetis.part_graph(2, [[1], [0, 1]]) == (1, array("q", [0, 1]))
    with pytest.warns(
        UserWarning, match=r"^edge \(0, 1\) is listed more than once; jetpy repairs this"
    ):
        cut, _ = pymetis.part_graph(2, [[1, 1], [0, 0]])
    assert cut == 2
    found = pymetis.CSRAdjacency([0, 1, 2], [1, 0])
    with pytest.warns(UserWarning, match=r"^edge \(0, 1\) has weight 2, but its reverse"):
        assert pymetis.part_graph(2, found, eweights=[2, 7])[0] == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ctype", pymetis.CType.RM),
        ("iptype", pymetis.IPType.RANDOM),
        ("rtype", pymetis.RType.GREEDY),
        ("niter", 20),
        ("no2hop", 1),
        ("minconn", 1),
        ("dbglvl", 1),
    ],
)
def test_ignored_option_warns_once(name: str, value: Any) -> None:
    options = pymetis.Options(**{name: int(value)})
    expected = pymetis.part_graph(2, csr(GRAPH))
    with pytest.warns(UserWarning, match=f"ignores METIS's option {name}, ") as caught:
        assert pymetis.part_graph(2, csr(GRAPH), options=options) == expected
    assert [record.filename for record in caught] == [__file__]
    assert pymetis.part_graph(2, csr(GRAPH), options=options) == expected


def test_options_with_default_values_do_not_warn() -> None:
    usual = {"niter": 10, "no2hop": 0, "minconn": 0, "dbglvl": 0, "contig": 0, "numbering": 0}
    for_ordering = {"nseps": 3, "compress": 1, "ccorder": 1, "pfactor": 100}
    options = pymetis.Options(**usual, **for_ordering)
    assert pymetis.part_graph(2, csr(GRAPH), options=options) == pymetis.part_graph(2, csr(GRAPH))


@pytest.mark.parametrize("asked", [{"contiguous": True}, {"options": pymetis.Options(contig=1)}])
def test_contiguous_equals_connected(asked: dict[str, Any]) -> None:
    graph = two_cliques(6)
    expected = jetpy.partition(graph, 2, imbalance=0.001, connected=True)
    assert pymetis.part_graph(2, csr(graph), **asked)[1].tolist() == expected.parts.tolist()


def test_copies_are_warned_about_on_request() -> None:
    dtype = pymetis.zero_copy_dtype()
    starts, neighbours = np.array([0, 1, 2], dtype), np.array([1, 0], dtype)
    own = pymetis.CSRAdjacency(starts, neighbours)
    pymetis.part_graph(2, own, eweights=np.ones(2, dtype), warn_on_copies=True)
    for copied, arguments in {
        "xadj": {"adjacency": pymetis.CSRAdjacency([0, 1, 2], neighbours)},
        "adjncy": {"adjacency": pymetis.CSRAdjacency(starts, neighbours.astype(np.int64))},
        "vweights": {"adjacency": own, "vweights": np.ones(4, dtype)[::2]},
        "eweights": {"adjacency": own, "eweights": [1, 1]},
    }.items():
        with pytest.warns(BytesWarning, match=f"^jetpy copies {copied};"):
            pymetis.part_graph(2, **arguments, warn_on_copies=True)
        pymetis.part_graph(2, **arguments)


# errors

EDGE = [[1], [0]]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, TypeError, "the graph is missing"),
        ({"xadj": [0, 0]}, TypeError, "the graph is missing"),
        ({"adjacency": EDGE, "adjncy": [1, 0]}, TypeError, "given twice"),
        ({"adjacency": [[1], [2]]}, GraphError, "2 is not a vertex"),
        ({"adjacency": {0: [2], 2: [0]}}, GraphError, "lacks vertex 1"),
        ({"adjacency": [[1], ["a"]]}, GraphError, "^vertex 1 has the neighbour 'a'; .* integers$"),
        ({"adjacency": [[None], [0]]}, GraphError, "^vertex 0 has the neighbour None;"),
        ({"adjacency": [[2**70], [0]]}, GraphError, f"^vertex 0 has the neighbour {2**70};"),
        ({"nparts": "2", "adjacency": EDGE}, OptionError, "^nparts is '2'; it must be an integer$"),
        ({"nparts": None, "adjacency": EDGE}, OptionError, "^nparts is None;"),
        ({"nparts": 0, "adjacency": EDGE}, OptionError, "^k is 0;"),
        ({"xadj": [0, 2], "adjncy": [0]}, GraphError, "indptr ends with 2"),
        (
            {"adjacency": EDGE, "vweights": [1, -1]},
            GraphError,
            "weights must be integers from 0 on",
        ),
        ({"adjacency": EDGE, "vweights": [1]}, GraphError, "there must be 2 of them"),
        ({"adjacency": EDGE, "eweights": [1, 0.5]}, GraphError, "not a whole number"),
        (
            {"adjacency": EDGE, "vsize": [1]},
            GraphError,
            "^vsize has length 1; give one number for each of 2 vertices$",
        ),
        (
            {"adjacency": EDGE, "tpwgts": [1, [2, 3]]},
            OptionError,
            r"^tpwgts is \[1, \[2, 3\]\]; its rows must have equal lengths$",
        ),
        ({"adjacency": EDGE, "tpwgts": [1.0]}, OptionError, "^tpwgts has length 1, .*mismatches"),
        ({"adjacency": EDGE, "tpwgts": [1.0, -1.0]}, OptionError, r"^tpwgts\[1\] is -1.0; "),
        ({"adjacency": EDGE, "tpwgts": ["a", "b"]}, OptionError, "targets must be numbers"),
        ({"adjacency": EDGE, "tpwgts": [[1], [2]]}, OptionError, "targets has shape"),
        ({"adjacency": EDGE, "tpwgts": [1.0, 0.0]}, OptionError, "the target of part 1 is 0"),
        ({"adjacency": EDGE, "options": {"numbering": 1}}, OptionError, "numbering is 1"),
        ({"adjacency": EDGE, "options": {"ufactor": -5}}, OptionError, "imbalance is -0.005"),
        ({"adjacency": EDGE, "options": {"ncuts": 0}}, OptionError, "generations is 0"),
    ],
)
def test_bad_input_is_refused(
    arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    if "options" in arguments:
        arguments = {**arguments, "options": pymetis.Options(**arguments["options"])}
    with pytest.raises(kind, match=message):
        pymetis.part_graph(**{"nparts": 2, **arguments})


# meshes


def mixed_mesh(rows: int, cols: int) -> list[list[int]]:
    """Return the elements of a grid: squares, some of them cut into two triangles."""
    elements: list[list[int]] = []
    for i in range(rows):
        for j in range(cols):
            a = i * (cols + 1) + j
            b = a + cols + 1
            square = [a, a + 1, b + 1, b]
            elements += [square[:3], [a, b + 1, b]] if (i * j) % 3 == 1 else [square]
    return elements


MESH = mixed_mesh(12, 17)
NODES = 13 * 18


def cut_pairs(pairs: set[tuple[int, int]], parts: Any) -> int:
    return sum(parts[u] != parts[v] for u, v in pairs)


def node_pairs(elements: list[list[int]]) -> set[tuple[int, int]]:
    """Return all pairs of nodes with a common element."""
    return {(u, v) for nodes in elements for u in nodes for v in nodes if u < v}


def element_pairs(elements: list[list[int]], ncommon: int) -> set[tuple[int, int]]:
    """Return all pairs of elements that METIS joins in the dual graph."""
    found = set()
    for i, own in enumerate(elements):
        for j in range(i):
            shared = len(set(own) & set(elements[j]))
            most = min(ncommon, len(own) - 1, len(elements[j]) - 1)
            if shared and shared >= most:
                found.add((j, i))
    return found


@pytest.mark.parametrize("ncommon", [1, 2, 3, 9])
def test_cuts_of_dual_graphs(ncommon: int) -> None:
    cut, elements, nodes = pymetis.part_mesh(4, MESH, gtype=pymetis.GType.DUAL, ncommon=ncommon)
    assert cut == cut_pairs(element_pairs(MESH, ncommon), elements)
    assert (len(elements), len(nodes)) == (len(MESH), NODES)


@pytest.mark.parametrize("module", [pymetis, original])
def test_cuts_of_nodal_graphs(module: Any) -> None:
    cut, elements, nodes = module.part_mesh(4, MESH)
    assert cut == cut_pairs(node_pairs(MESH), nodes)
    assert (len(elements), len(nodes)) == (len(MESH), NODES)


@pytest.mark.parametrize("asked", [{}, {"gtype": pymetis.GType.DUAL, "ncommon": 2}])
def test_induced_parts_are_balanced_parts_of_the_other_side(asked: dict[str, Any]) -> None:
    _, elements, nodes = pymetis.part_mesh(5, MESH, **asked)
    near: dict[int, set[int]] = {v: set() for v in range(NODES)}
    for part, own in zip(elements, MESH, strict=True):
        for v in own:
            near[v].add(part)
    if asked:
        assert all(part in near[v] for v, part in enumerate(nodes))
    else:
        around = [{nodes[v] for v in own} for own in MESH]
        assert all(part in own for part, own in zip(elements, around, strict=True))
    for parts in (elements, nodes):
        assert max(np.bincount(parts)) < 1.15 * len(parts) / 5


def test_mesh_parts_equal_those_of_jetpy() -> None:
    triangles = [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]
    dual = jetpy.dual_graph(np.array(triangles), "triangle")
    options = pymetis.Options(seed=3, ufactor=500)
    found = pymetis.part_mesh(
        2, triangles, options, [0.6, 0.4], gtype=pymetis.GType.DUAL, ncommon=2
    )
    expected = jetpy.partition(
        dual, 2, targets=[3, 2], min_weights=[2, 1], imbalance=0.5, large_imbalance=True, seed=3
    )
    assert list(found.element_part) == expected.parts.tolist()
    nodal = jetpy.node_graph(np.array(triangles), "triangle")
    by_nodes = jetpy.partition(nodal, 2, imbalance=0.03)
    assert list(pymetis.part_mesh(2, triangles).vertex_part) == by_nodes.parts.tolist()


def test_ptype_selects_the_imbalance_of_meshes() -> None:
    lattice = grid(15, 15)
    edges = [[u, v] for u, row in enumerate(rows(lattice)) for v in row if u < v]
    for ptype, imbalance in ((pymetis.PType.RB, 0.001), (pymetis.PType.KWAY, 0.03)):
        found = pymetis.part_mesh(2, edges, pymetis.Options(ptype=int(ptype)))
        expected = jetpy.partition(lattice, 2, imbalance=imbalance)
        assert (found.edge_cuts, list(found.vertex_part)) == (expected.cut, expected.parts.tolist())


def test_trivial_meshes() -> None:
    assert pymetis.part_mesh(2, []) == (0, array("q"), array("q"))
    assert pymetis.part_mesh(1, TRIANGLES) == (0, [0] * 3, [0] * 5)
    assert sorted(pymetis.part_mesh(2, [[], [0], []]).element_part) == [0, 0, 1]
    repeated = [[0, 1, 1, 2], [1, 2, 3, 3]]
    assert pymetis.part_mesh(2, repeated, gtype=pymetis.GType.DUAL, ncommon=2).edge_cuts == 1


def test_options_ignored_for_meshes_warn() -> None:
    with pytest.warns(UserWarning, match="ignores METIS's option niter, ") as caught:
        pymetis.part_mesh(2, TRIANGLES, pymetis.Options(niter=20))
    assert [record.filename for record in caught] == [__file__]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"connectivity": [[0, 1], [1, "a"]]}, GraphError, "^element 1 has the node 'a'; nodes"),
        ({"connectivity": [[0, 1], [1, 3]]}, GraphError, "no element has node 2, but one .* 3;"),
        ({"connectivity": [[0, -1]]}, GraphError, "^an element has node -1;"),
        ({"n_parts": 0}, OptionError, "^k is 0;"),
        ({"n_parts": 2.5}, OptionError, "^n_parts is 2.5; it must be an integer$"),
        ({"ncommon": 0}, OptionError, "^ncommon is 0;"),
        ({"gtype": 7}, OptionError, "^gtype is 7;"),
        ({"tpwgts": [1.0]}, OptionError, "^tpwgts has length 1, .*mismatches"),
        ({"tpwgts": [-1.0, 2.0]}, OptionError, "^tpwgts.* is -1.0; .*non-negative"),
        ({"options": pymetis.Options(numbering=1)}, OptionError, "is 1; METIS numbering"),
    ],
)
def test_bad_meshes_are_refused(
    arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        pymetis.part_mesh(**{"n_parts": 2, "connectivity": TRIANGLES, **arguments})


def test_targets_hold_on_both_sides() -> None:
    targets = np.array([0.1, 0.2, 0.3, 0.4])
    lattice = grid(70, 50)
    _, parts = pymetis.part_graph(4, csr(lattice), tpwgts=targets, recursive=False)
    squares = [[v, v + 1, v + 51, v + 52] for v in range(70 * 51) if v % 51 < 50]
    dual = pymetis.part_mesh(4, squares, tpwgts=targets, gtype=pymetis.GType.DUAL).element_part
    for found in (parts, dual):
        sizes = np.bincount(found)
        assert (sizes >= np.floor(targets * 3500 / 1.03)).all()
        assert (sizes <= np.ceil(targets * 3500 + 0.1) * 1.03).all()
    _, few = pymetis.part_graph(3, rows(path(4)), tpwgts=[0.3, 0.3, 0.4])
    assert np.bincount(few).sum() == 4


# orderings


def test_orderings_are_those_of_jetpy() -> None:
    perm, iperm = pymetis.nested_dissection(csr(GRAPH), options=pymetis.Options(seed=3, nseps=2))
    expected = jetpy.nested_dissection(GRAPH, seed=3, tries=2)
    assert list(perm) == expected.perm.tolist()
    assert list(iperm) == expected.iperm.tolist()
    verify: Any = pymetis.verify_nd
    assert verify(perm, iperm) == 0  # errors
    by_imbalance, _ = pymetis.nested_dissection(rows(GRAPH), options=pymetis.Options(ufactor=200))
    expected = jetpy.nested_dissection(GRAPH, imbalances=(0.2,), largest_side=0.6)
    assert list(by_imbalance) == expected.perm.tolist()
    assert [len(answer) for answer in pymetis.nested_dissection([])] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": pymetis.Options(pfactor=100)}, "option pfactor, "),
        ({"options": pymetis.Options(compress=0)}, "option compress, "),
        ({"vweights": [1, 2, 1, 1]}, "ignores vweights"),
        ({"adjacency": [[1], [], [], []]}, "not its reverse"),
    ],
)
def test_ignored_arguments_of_orderings_warn_once(arguments: Any, message: str) -> None:
    arguments = {"adjacency": rows(path(4)), **arguments}
    with pytest.warns(UserWarning, match=message):
        found = pymetis.nested_dissection(**arguments)
    assert pymetis.nested_dissection(**arguments) == found


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, TypeError, "the graph is missing"),
        ({"adjacency": [[1], [2]]}, GraphError, "2 is not a vertex"),
        ({"adjacency": [[]], "options": pymetis.Options(nseps=0)}, OptionError, "tries is 0"),
        ({"adjacency": [[]], "options": pymetis.Options(ufactor=-5)}, OptionError, "imbalances"),
        ({"adjacency": [[]], "options": pymetis.Options(numbering=1)}, OptionError, "numbering"),
    ],
)
def test_bad_input_of_orderings_is_refused(arguments: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        pymetis.nested_dissection(**arguments)


# names of pymetis


@pytest.mark.parametrize("name", ["part_graph", "part_mesh", "nested_dissection"])
def test_signature_equals_that_of_pymetis(name: str) -> None:
    """`vsize` is in no release of pymetis yet."""
    ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in (pymetis, original))
    assert {*ours} - {*theirs} <= {"vsize"}
    assert [(p.name, p.kind, p.default) for p in ours.values() if p.name in theirs] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


def test_other_names_are_those_of_pymetis() -> None:
    own = {"part_graph", "part_mesh", "nested_dissection", "zero_copy_dtype"}
    assert set(pymetis.__all__) == {*original.__all__, "CSRAdjacency"}
    for name in {*pymetis.__all__, "verify_nd", "version"} - own:
        assert getattr(pymetis, name) is getattr(original, name)
    with pytest.raises(AttributeError, match="yoink"):
        pymetis.yoink  # noqa: B018


def test_type_checkers_see_the_names_of_pymetis() -> None:
    """They read a literal `__all__`, and ignore imported names outside it."""
    tree = ast.parse(Path(pymetis.__file__).read_text("utf-8"))
    [literal] = [
        {*ast.literal_eval(node.value)}
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert {*original.__all__} - {"Status"} <= literal  # pymetis 2025.2 has Status
    assert literal <= vars(pymetis).keys()


# in pymetis's place


@pytest.fixture
def in_place() -> Iterator[None]:
    pymetis.install()
    yield
    pymetis.uninstall()


def test_install_serves_imports_before_and_after(in_place: None) -> None:
    from pymetis import _internal, nested_dissection
    from pymetis.version import version_tuple

    assert importlib.import_module("pymetis") is pymetis
    assert nested_dissection is pymetis.nested_dissection
    assert (_internal, version_tuple) == (original._internal, pymetis.version_tuple)
    for name in ("part_graph", "part_mesh", "nested_dissection"):
        assert getattr(original, name) is getattr(pymetis, name)
    for name in ("Options", "CSRAdjacency", "GraphPartition", "verify_nd", "version", "__path__"):
        assert getattr(pymetis, name) is getattr(original, name)


def test_uninstall_undoes_install() -> None:
    before = {**vars(original)}
    for step in (pymetis.uninstall, pymetis.install, pymetis.install, pymetis.uninstall):
        step()
    pymetis.uninstall()
    assert vars(original) == before
    assert importlib.import_module("pymetis") is original


def uses_of_metis() -> list[Any]:
    return [
        jetpy.partition(GRAPH, 6, preset="gkway", threads=1).parts.tolist(),
        metis(GRAPH, 6, 10_000, seed=0).parts.tolist(),
        metis_order(GRAPH, seed=0)[0].tolist(),
        type(pymetis.part_graph(2, [[1], [0]]).vertex_part),
    ]


def test_own_uses_keep_metis(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = uses_of_metis()
    for cached in (pymetis._sequence_type, pymetis._ordering_type):
        cached.cache_clear()
    pymetis.install()
    try:
        assert uses_of_metis() == expected
    finally:
        pymetis.uninstall()


def test_only_two_modules_import_pymetis() -> None:
    """Others import `jetpy.metis`, which has METIS's functions also while jetpy is in its place."""
    importing = {name for name, file in modules().items() if imports_pymetis(file)}
    assert importing == {"metis", "pymetis"}


def imports_pymetis(file: Path) -> bool:
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [
        node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
    ]
    return any(name.partition(".")[0] == "pymetis" for name in names)


PROGRAM = """
import sys
from pymetis import part_graph
print(__name__, part_graph.__module__, *sys.argv[1:])
sys.exit(5)
"""


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"], ["sub/../program.py"]])
def test_program_runs_with_jetpy(tmp_path: Path, how: list[str]) -> None:
    tmp_path.joinpath("program.py").write_text(PROGRAM)
    tmp_path.joinpath("sub").mkdir()
    done = run_program(tmp_path, *how, "-m", "--help")
    assert (done.stdout, done.stderr) == ("__main__ jetpy.pymetis -m --help\n", "")
    assert done.returncode == 5


def test_missing_program_is_refused(tmp_path: Path) -> None:
    done = run_program(tmp_path, "none.py")
    assert done.returncode == 2
    assert "none.py does not exist; name a file, or a module after -m" in done.stderr


def run_program(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jetpy.pymetis", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


# threads


@pytest.mark.parametrize(("side", "threads"), [(20, 1), (200, None)])
def test_small_calls_use_one_thread(
    monkeypatch: pytest.MonkeyPatch, side: int, threads: int | None
) -> None:
    class Called(Exception):
        pass

    def stop(*_: Any, **options: Any) -> None:
        raise Called(options["threads"])

    lattice = csr(grid(side, side))
    squares = jetpy.generators.grid(side, side)
    edges = [[u, v] for u, row in enumerate(rows(squares)) for v in row if u < v]
    for call in (
        lambda: pymetis.part_graph(2, lattice),
        lambda: pymetis.part_mesh(2, edges),
        lambda: pymetis.nested_dissection(lattice),
    ):
        monkeypatch.setattr(jetpy, "partition", stop)
        monkeypatch.setattr(jetpy, "nested_dissection", stop)
        with pytest.raises(Called) as raised:
            call()
        assert raised.value.args == (threads,)
