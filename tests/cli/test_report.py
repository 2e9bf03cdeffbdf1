"""`jetpy report`: pages are read back and compared with their partitions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.evaluation import metis_baseline
from jetpy.evaluation.evaluate import part_rows
from jetpy.evaluation.levels import level_rows
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.profiling.profile import kernel_rows
from tests.cli.conftest import ENGINE, Run
from tests.graphs import isolated, two_cliques
from tests.pages.reader import Page

MAX_BYTES = 1_000_000


def page(path: str | Path = "page.html") -> Page:
    """Read a page and check the properties that every page has."""
    text = Path(path).read_text("utf-8")
    assert len(text.encode()) < MAX_BYTES
    found = Page(text)
    assert found.fetched == []
    assert not {"script", "link", "iframe", "object", "embed"} & set(found.tags)
    for word in ("http:", "https:", "url(data", "@import"):
        assert word not in text
    assert len(found.ids) == len(set(found.ids))
    return found


def number(text: str) -> int:
    return int(text.partition(" ")[0].replace(",", ""))


@pytest.mark.usefixtures("undrawn")
def test_report_as_json(run: Run) -> None:
    words = "report", "mesh.graph", "-o", "page.html", "--json"
    shown = json.loads(run(*words, "-", "-k", 4, *ENGINE).stdout)
    assert shown["page"] == "page.html"
    assert shown["bytes"] == Path("page.html").stat().st_size
    assert shown["feasible"]
    assert run(*words, "report.json", "--quiet", "mesh.part").output == ""
    assert json.loads(Path("report.json").read_text())["cut"] == 90


def test_page_of_a_run(run: Run) -> None:
    graph = delaunay(3000, 1)
    jetpy.write_graph("mesh.npz", graph)
    words = run("report", "mesh.npz", "-k", 6, "--seed", 3, "-o", "page.html", *ENGINE).stdout
    size = Path("page.html").stat().st_size
    assert words == f"wrote page.html: mesh: 6 parts, {size / 1e3:.0f} kB\n"
    shown = page()
    result = jetpy.partition(graph, 6, seed=3, backend="cpu", threads=1, profile=True)
    found = jetpy.evaluate(graph, result.parts, 6)
    heaviest = max(result.part_weights)
    assert f"heaviest part weighs {heaviest} of {result.limit} allowed." in shown.text_of("p")
    assert shown.facts["graph"] == "3,000 vertices, 8,975 edges"
    assert shown.facts["parts"] == "k = 6, seed 3, preset default, cpu, 1 thread"
    for name, value in (
        ("cut", found.cut),
        ("communication volume", found.communication_volume),
        ("boundary vertices", found.boundary_vertices),
        ("empty parts", 0),
        ("disconnected parts", found.disconnected_parts),
    ):
        assert number(shown.facts[name]) == value
    assert shown.table("part") == [list(row) for row in part_rows(found)]
    expected = [row[:-1] for row in level_rows(reversed(result.levels))]
    assert [tuple(row[:-1]) for row in shown.table("level")] == expected
    assert result.profile is not None
    calls = {(row[0], row[2]) for row in kernel_rows(result.profile)}
    assert {(row[0], row[2]) for row in shown.table("kernel")} == calls
    assert "It found the same parts." in shown.text_of("p")
    command = "jetpy report mesh.npz -k 6 --seed 3 -o page.html --backend cpu --threads 1"
    assert shown.text_of("pre") == command
    assert shown.facts["jetpy-partitioner"] == jetpy.__version__
    assert "The area around each vertex" in shown.text_of("figcaption")
    numbers = {word for words in shown.words["text"] for word in words.split()}
    assert {str(part) for part in range(6)} <= numbers


def test_metis_baseline_depends_on_the_seed() -> None:
    graph = jetpy.generators.delaunay(2000)
    found = [metis_baseline.metis(graph, 8, 260, seed).parts.tobytes() for seed in range(4)]
    assert len(set(found)) == 4


@pytest.mark.usefixtures("undrawn")
def test_page_compares_with_metis(run: Run) -> None:
    run("report", "mesh.graph", "-k", 5, "--imbalance", 0.1, "-o", "page.html", *ENGINE)
    table = {row[0]: row[1:] for row in page().table("")}
    limit = int(1.1 * 240)
    other = metis_baseline.metis(grid(40, 30), 5, limit, 0)
    found = jetpy.evaluate(grid(40, 30), other.parts, 5)
    own = jetpy.partition(grid(40, 30), 5, imbalance=0.1, backend="cpu", threads=1)
    assert found.part_weights.max() <= limit
    assert table["cut"] == [f"{own.cut}", f"{found.cut}"]
    assert table["heaviest part"] == [f"{max(own.part_weights)}", f"{max(found.part_weights)}"]
    assert table["balanced"] == ["yes", "yes"]
    assert table["largest volume"][1] == f"{found.largest_volume}"


def test_page_of_given_parts(run: Run) -> None:
    Path("mesh.graph").rename("<b>&.graph")
    run("report", "<b>&.graph", "mesh.part", "-o", "page.html", "--quiet")
    shown = page()
    assert shown.text_of("h1") == "<b>&: 4 parts"
    assert shown.text_of("pre") == "jetpy report '<b>&.graph' mesh.part -o page.html --quiet"
    assert shown.facts["parts"] == "4, from mesh.part"
    assert number(shown.facts["cut"]) == 90
    assert shown.text_of("h2") == "Parts Between parts Comparison with METIS How this page was made"
    assert "The quotient graph" in shown.text_of("figcaption")
    assert "Balanced: the heaviest part weighs 300 of 309 allowed." in shown.text_of("p")
    assert shown.table("")[0][1] == "90"


def test_page_of_unbalanced_parts(run: Run) -> None:
    Path("lame.part").write_text("0\n" * 800 + "1\n" * 400)
    run("report", "mesh.graph", "lame.part", "-k", 3, "-o", "page.html")
    shown = page()
    words = "Not balanced: 1 part of 3 above the limit of 412; the heaviest part weighs 800."
    assert words in shown.text_of("p")
    assert [row[:2] for row in shown.marked] == [["0", "800"]]
    assert shown.facts["empty parts"] == "1"


@pytest.mark.usefixtures("undrawn")
def test_infeasible_run_has_exit_code_3(run: Run) -> None:
    square = grid(2, 2)
    arrays = square.indptr, square.indices, square.edge_weights
    jetpy.write_graph("heavy.graph", Graph(*arrays, np.array([9, 1, 1, 1], np.int32)))
    words = run("report", "heavy.graph", "-k", 2, "-o", "page.html", *ENGINE, code=3).stderr
    assert "no balanced partition was found" in words
    assert "Not balanced: 1 part of 2" in page().text_of("p")


def test_coordinates_draw_the_partition(run: Run) -> None:
    places = grid(40, 30).coordinates
    assert places is not None
    np.savetxt("mesh.xy", places / 7, fmt="%.4f")
    run("report", "mesh.graph", "mesh.part", "--coordinates", "mesh.xy", "-o", "page.html")
    words = page().text_of("figcaption")
    assert "with its number" in words
    assert "Lines are edges; heavy lines are cut edges." in words


def test_page_of_a_mesh(run: Run) -> None:
    meshio = pytest.importorskip("meshio")
    corners = np.stack(np.meshgrid(*map(np.arange, (9, 9, 9)), indexing="ij"), -1).reshape(-1, 3)
    origins = np.flatnonzero((corners < 8).all(axis=1))
    steps = [0, 81, 90, 9, 1, 82, 91, 10]
    cells = origins[:, None] + np.array(steps)
    meshio.Mesh(corners.astype(float), [("hexahedron", cells)]).write("block.vtu")
    run("report", "block.vtu", "-k", 4, "-o", "page.html", *ENGINE)
    shown = page()
    assert shown.facts["graph"] == "512 vertices, 1,344 edges"
    assert "Vertices behind others are hidden" in shown.text_of("figcaption")


def test_page_of_many_parts_lists_the_heaviest(run: Run) -> None:
    graph = grid(60, 60)
    jetpy.write_graph("grid.npz", graph)
    parts = np.random.default_rng(0).integers(0, 500, graph.n)
    jetpy.write_parts("noise.part", parts)
    run("report", "grid.npz", "noise.part", "-k", 500, "-o", "page.html")
    shown = page()
    assert "The table lists the 400 heaviest of 500 parts." in shown.text_of("p")
    weights = np.sort(np.bincount(parts, minlength=500))[::-1]
    assert [number(row[1]) for row in shown.table("part")] == weights[:400].tolist()
    assert "most adjacent parts have different colours" in shown.text_of("figcaption")
    assert "each row and column stands for 2 parts" in shown.text_of("figcaption")


@pytest.mark.parametrize(
    ("graph", "k"),
    [(isolated(0), 3), (isolated(5), 1), (isolated(5), 8), (two_cliques(4), 3)],
    ids=["empty", "one part", "more parts than vertices", "two pieces"],
)
def test_page_of_awkward_graphs(run: Run, graph: Graph, k: int) -> None:
    jetpy.write_graph("awkward.graph", graph)
    run("report", "awkward.graph", "-k", k, "-o", "page.html", *ENGINE)
    shown = page()
    result = jetpy.partition(graph, k, backend="cpu", threads=1)
    assert number(shown.facts["cut"]) == result.cut
    assert number(shown.facts["empty parts"]) == result.empty_parts
    assert ("METIS did not run" in shown.text_of("p")) == bool(
        metis_baseline.unsupported_reason(graph, k)
    )


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_missing_package_is_explained(
    run: Run, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    words = run("report", "mesh.graph", "-k", 2, "-o", "page.html", code=1).stderr
    expected = f"pages and figures need {package}: pip install 'jetpy-partitioner[report]'"
    assert words == f"jetpy: error: {expected}\n"
    assert not Path("page.html").exists()
