"""Commands other than `jetpy partition`, run in this process."""

from __future__ import annotations

import gzip
import json
from importlib.metadata import version
from pathlib import Path

import pytest

from jetpy.choices import DISTRIBUTION
from jetpy.cli.main import main
from jetpy.graph.generators import GENERATORS
from jetpy.io import read_graph
from tests.cli.conftest import Run
from tests.graphs import assert_same_graph

KINDS = {
    "grid": ([5, 3], {"rows": 5, "cols": 3}),
    "cube": ([2, 3, 4, "--neighbours", 26], {"a": 2, "b": 3, "c": 4, "neighbours": 26}),
    "tetrahedra": ([2, 1, 3], {"a": 2, "b": 1, "c": 3}),
    "delaunay": ([50, "--seed", 3], {"n": 50, "seed": 3}),
    "rgg": ([80, "--radius", 0.3, "--spatial-order"], {"n": 80, "radius": 0.3, "spatial_order": 1}),
    "rmat": ([6, "--edge-factor", 4], {"scale": 6, "edge_factor": 4}),
    "road": ([60, "--seed", 2], {"n": 60, "seed": 2}),
    "thinned": ([60, "--keep", 0.6], {"n": 60, "keep": 0.6}),
}


@pytest.mark.parametrize("command", ["", *main.commands])
def test_short_help_option_equals_the_long_one(run: Run, command: str) -> None:
    arguments = [command] if command else []
    brief, long = run(*arguments, "-h").stdout, run(*arguments, "--help").stdout
    assert brief == long
    assert brief.startswith("Usage: jetpy")


def test_version_is_printed(run: Run) -> None:
    assert run("--version").stdout == f"jetpy {version(DISTRIBUTION)}\n"


def test_evaluate_prints_a_summary(run: Run) -> None:
    words = run("evaluate", "mesh.graph", "mesh.part").stdout
    assert "cut                   90 (3.86 % of the edge weight)" in words
    assert "communication volume  180; part 1 sends most, 60" in words
    assert "neighbouring parts    1 to 2" in words
    assert "part  weight  components  volume  neighbours  boundary  isolated" in words


def test_evaluate_writes_json(run: Run) -> None:
    report = json.loads(run("evaluate", "mesh.graph", "mesh.part", "-k", 5, "--json", "-").stdout)
    assert report == {
        "version": version(DISTRIBUTION),
        "graph": "mesh",
        "n": 1200,
        "m": 2330,
        "k": 5,
        "cut": 90,
        "imbalance": 0.25,
        "boundary_vertices": 180,
        "communication_volume": 180,
        "largest_volume": 60,
        "empty_parts": 1,
        "disconnected_parts": 0,
        "isolated_vertices": 0,
        "part_weights": [300, 300, 300, 300, 0],
        "components": [1, 1, 1, 1, 0],
        "part_volumes": [30, 60, 60, 30, 0],
        "part_neighbours": [1, 2, 2, 1, 0],
        "part_boundary_vertices": [30, 60, 60, 30, 0],
        "part_isolated_vertices": [0, 0, 0, 0, 0],
    }


def test_evaluate_writes_the_cut_matrix(run: Run) -> None:
    run("evaluate", "mesh.graph", "mesh.part", "--cut-matrix", "cut.csv.gz")
    words = gzip.decompress(Path("cut.csv.gz").read_bytes())
    assert words == b"part,other,weight\n0,1,30\n1,2,30\n2,3,30\n"


def test_evaluate_lists_no_table_of_many_parts(run: Run) -> None:
    Path("own.part").write_text("".join(f"{v}\n" for v in range(1200)))
    words = run("evaluate", "mesh.graph", "own.part").stdout
    assert "k                     1,200" in words
    assert "components" not in words


@pytest.mark.parametrize("kind", GENERATORS)
def test_generate_writes_the_graph_of_the_generator(run: Run, kind: str) -> None:
    arguments, parameters = KINDS[kind]
    result = run("generate", kind, *arguments, "-o", "made.graph.gz")
    expected = GENERATORS[kind](**parameters)
    assert_same_graph(read_graph("made.graph.gz"), expected)
    assert result.stdout == (
        f"wrote made.graph.gz: {expected.name}: {expected.n} vertices, {expected.m} edges\n"
    )


def test_generate_explains_its_options(run: Run) -> None:
    words = run("generate", "rmat", "--help").stdout
    assert "Edges drawn per vertex" in words
    assert "[default: 16]" in words


def test_demo_prints_cuts_of_jetpy_and_metis(run: Run) -> None:
    words = run("demo", "--backend", "cpu").stdout
    assert "100,000" in words
    cuts = {
        line.split()[0]: int(line.split()[1].replace(",", ""))
        for line in words.splitlines()
        if line.split()[:1] in (["jetpy"], ["METIS"])
    }
    assert 0 < cuts["jetpy"] < 1.1 * cuts["METIS"]
