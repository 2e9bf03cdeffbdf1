from __future__ import annotations

import csv
from pathlib import Path

import pytest
from scipy.sparse import csgraph, csr_array

from jetpy.io import read_graph

FOLDER = Path(__file__).parents[3] / "shared" / "graphs"
SMALL = ("add20", "uk", "fe_pwt", "tv80_gates", "rgg_n_2_15_s0", "wb_dma_gates")


@pytest.mark.skipif(not FOLDER.exists(), reason="the collection of real graphs is missing")
@pytest.mark.parametrize("name", SMALL)
def test_real_graphs_equal_their_manifest(name: str) -> None:
    with (FOLDER / "MANIFEST.csv").open() as lines:
        row = next(row for row in csv.DictReader(lines) if row["name"] == name)
    graph = read_graph(FOLDER / f"{name}.graph.xz")
    assert (graph.n, graph.m) == (int(row["n"]), int(row["m"]))
    assert graph.degrees.max() == int(row["max_degree"])
    assert (graph.degrees == 0).sum() == int(row["isolated"])
    matrix = csr_array((graph.edge_weights, graph.indices, graph.indptr))
    assert csgraph.connected_components(matrix)[0] == int(row["components"])
