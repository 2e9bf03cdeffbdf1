from __future__ import annotations

import numpy as np
import pytest

from bench.formats import (
    Edges,
    read_aig,
    read_bench,
    read_hgr,
    read_matpower,
    read_metis,
    read_obj,
    read_pairs,
    read_ply,
    read_su2_cells,
    simple_graph,
)


def pairs(edges: Edges) -> set[tuple[int, int]]:
    """Return the undirected edges."""
    return {(min(u, v), max(u, v)) for u, v in edges.tolist()}


def test_simple_graph_is_the_largest_component_without_loops_and_duplicates() -> None:
    edges = np.array([(30, 10), (10, 30), (10, 20), (20, 20), (7, 8), (20, 10), (40, 10)])
    graph = simple_graph(edges, "star")
    assert graph.indptr.tolist() == [0, 3, 4, 5, 6]
    assert graph.indices.tolist() == [1, 2, 3, 0, 0, 0]
    assert (graph.edge_weights == 1).all()
    assert graph.vertex_weights.tolist() == [1] * 4


@pytest.mark.parametrize(
    "text",
    [
        b"# a comment 1 2\nFrom To\n3\t5\n5 7\n",
        b"node_1,node_2\n3,5\n5,7\n",
        b"p tw 8 2\r\n3 5\r\n5 7\r\n",
        b"3 5 {}\n5 7 {'weight': 2}",
    ],
)
def test_read_pairs_skips_headers_and_comments(text: bytes) -> None:
    assert read_pairs(text).tolist() == [[3, 5], [5, 7]]


def test_read_pairs_skips_sizes() -> None:
    text = b"%%MatrixMarket matrix coordinate real general\n% made up\n4 4 2\n1 2 -3.5\n4 1 2e-7\n"
    assert read_pairs(text, sizes=True).tolist() == [[1, 2], [4, 1]]


def test_read_metis() -> None:
    assert pairs(read_metis(b"% path\n3 2\n2\n1 3 \n2\n")) == {(1, 2), (2, 3)}
    assert pairs(read_metis(b"4 1\n4\n\n\n1\n")) == {(1, 4)}


def test_read_aig() -> None:
    # Inputs 1 and 2, latch 3 that reads gate 4 = and(1, not 2), gate 200 back from gate 4.
    text = b"aig 5 2 1 1 2\n8 0\n10\n" + bytes([8 - 5, 5 - 2]) + bytes([10 - 8, 8 - 0]) + b"c\nx"
    assert pairs(read_aig(text)) == {(3, 4), (2, 4), (1, 4), (4, 5)}


def test_read_aig_with_multibyte_numbers() -> None:
    # One gate above 300 inputs: 602 - 302 and 302 - 2 take two bytes each.
    text = b"aig 301 300 0 0 1\n" + bytes([0x80 | 300 & 127, 300 >> 7]) * 2
    assert pairs(read_aig(text)) == {(151, 301), (1, 301)}


def test_read_bench() -> None:
    text = b"# made up\nINPUT(a)\nINPUT(b)\nOUTPUT(y)\ny = NAND(a, q)\nq = DFF(y)\nz=NOT( b )\n"
    names = dict(zip([b"y", b"a", b"q", b"z", b"b"], range(5), strict=True))
    wanted = [(b"y", b"a"), (b"y", b"q"), (b"q", b"y"), (b"z", b"b")]
    assert read_bench(text).tolist() == [[names[gate], names[pin]] for gate, pin in wanted]


def test_read_hgr_as_stars_or_cliques() -> None:
    text = b"2 4 10\n1 2 3\n3 4\n5\n5\n5\n5\n"
    assert pairs(read_hgr(text, star=True)) == {(1, 5), (2, 5), (3, 5), (3, 6), (4, 6)}
    assert pairs(read_hgr(text, star=False)) == {(1, 2), (1, 3), (2, 3), (3, 4)}


def test_read_hgr_skips_cliques_of_large_nets() -> None:
    text = b"2 11\n1 2 3 4 5 6 7 8 9 10 11\n1 2\n"
    assert pairs(read_hgr(text, star=False)) == {(1, 2)}


def test_read_obj() -> None:
    text = b"v 0 0 0\nvn 1 0 0\nf 1/1/1 2/2/1 3/3/1 4/4/1\nf 4 3 5\n"
    assert pairs(read_obj(text)) == {(1, 2), (2, 3), (3, 4), (1, 4), (3, 5), (4, 5)}


def test_read_ply() -> None:
    head = b"ply\nformat binary_little_endian 1.0\nelement vertex 4\nelement face 2\nend_header\n"
    faces = b"".join(b"\3" + np.array(f, "<i4").tobytes() for f in [(0, 1, 2), (2, 1, 3)])
    text = head + np.zeros(12, "<f4").tobytes() + faces
    assert pairs(read_ply(text)) == {(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)}


def test_read_su2_cells() -> None:
    flat = b"NDIME= 2\nNELEM= 3\n5 0 1 2 0\n9 1 2 3 4 1\n5 3 4 5 2\nNPOIN= 6\n"
    assert pairs(read_su2_cells(flat)) == {(0, 1), (1, 2)}
    solid = b"NDIME= 3\nNELEM= 3\n10 0 1 2 3 0\n10 1 2 3 4 1\n10 3 4 5 6 2\nNPOIN= 7\n"
    assert pairs(read_su2_cells(solid)) == {(0, 1)}


def test_read_matpower() -> None:
    branches = b"mpc.branch = [\n\t10\t20\t0.1;\n\t20\t30\t0.2;\n];\n"
    text = b"mpc.bus = [\n\t1\t3;\n];\n" + branches + b"mpc.x = [\n1 2;\n];\n"
    assert pairs(read_matpower(text)) == {(10, 20), (20, 30)}
