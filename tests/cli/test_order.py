"""`jetpy order` and `jetpy evaluate --ordering`, run in this process."""

from __future__ import annotations

import gzip
import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import jetpy
from jetpy.io import read_graph, write_graph
from tests.cli.conftest import ENGINE, Run
from tests.graphs import isolated
from tests.ordering.changes import with_entries

OF_METHODS = {
    "order": {"preset", "seed", "choices", "separators", "leaves", "depth"},
    "nested-dissection": {
        *("preset", "tries", "leaf_size", "seed", "separators", "leaves", "depth"),
    },
    "minimum-degree": set(),
}
"""Fields that not all methods have."""
FIELDS = {
    *("version", "graph", "n", "m", "method", "backend", "threads"),
    *("fill", "operations", "height", "critical_path", "seconds"),
}
DRAWINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
"""First bytes of drawings by suffix."""
STRUCTURE = ("fill", "operations", "height", "critical_path")


def report_of(run: Run, *arguments: object) -> dict[str, Any]:
    return dict(json.loads(run(*arguments, "--json", "-").stdout))


def words_of(run: Run, *arguments: object) -> str:
    return " ".join(run(*arguments).stdout.split())


def write_npy(name: str, values: Any) -> None:
    np.save(name, np.array(values))


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("name", ["perm.txt", "perm.npy", "perm.txt.gz", "perm"])
def test_the_file_has_the_order_of_the_library(run: Run, name: str, base: int) -> None:
    options = ("--preset", "fast", "--tries", 2, "--leaf-size", 40, "--seed", 5)
    result = run("order", "mesh.graph", "-o", name, "--base", base, *options, *ENGINE)
    expected = jetpy.nested_dissection(
        "mesh.graph", preset="fast", tries=2, leaf_size=40, seed=5, threads=1
    )
    if name.endswith(".npy"):
        rows = np.load(name)
    else:
        content = Path(name).read_bytes()
        rows = np.array((gzip.decompress(content) if ".gz" in name else content).split(), int)
    assert np.array_equal(rows, expected.perm + base)
    tree = expected.tree
    assert tree is not None
    leaves = int(tree.is_leaf.sum())
    summary = " ".join(result.stdout.split())
    for words in (
        "matrix mesh: 1,200 rows, 4,660 entries off the diagonal",
        "run method nested-dissection, preset fast, seed 5, tries 2, leaf size 40, cpu, 1 thread",
        f"fill {expected.fill:,} ({expected.fill / 3530:.2f} times the lower triangle",
        f"operations {expected.operations:.4g} height {expected.height:,}",
        f"tree {len(tree) - leaves} separators, {leaves} leaves, depth {tree.depth}",
    ):
        assert words in summary
    assert result.stderr == ""


def test_constraints(run: Run) -> None:
    Path("last.txt").write_text("# interface\n1200\n7\n")
    groups = np.full(1200, -1)
    groups[[3, 900]] = 0
    write_npy("groups.npy", groups)
    files = ("--last", "last.txt", "--together", "groups.npy", "--base", 1)
    run("order", "mesh.graph", "-o", "perm.npy", *files, "--keep-last-order", *ENGINE)
    expected = jetpy.order(
        "mesh.graph", last=[1199, 6], keep_last_order=True, together=groups, threads=1
    )
    assert np.array_equal(np.load("perm.npy"), expected.perm + 1)
    run("order", "mesh.graph", "-o", "perm.npy", *files, *ENGINE)
    assert set(np.load("perm.npy")[-2:].tolist()) == {7, 1200}


def test_start(run: Run) -> None:
    start = jetpy.minimum_degree("mesh.graph").perm
    Path("start.txt").write_text("\n".join(map(str, start + 1)))
    for method in (jetpy.order, jetpy.nested_dissection):
        name = method.__name__.replace("_", "-")
        files = ("--start", "start.txt", "--base", 1, "--method", name)
        run("order", "mesh.graph", "-o", "perm.npy", *files, *ENGINE)
        expected = method("mesh.graph", start=start, threads=1)
        assert np.array_equal(np.load("perm.npy"), expected.perm + 1)
    message = run("order", "mesh.graph", "--start", "start.txt", *ENGINE, code=1).stderr
    assert "start.txt: line" in message
    assert "row 1200 is not in 0..1199; if the file counts from 1" in message


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\n1200\n", "rows.txt: line 2: row 1200 is not in 0..1199; if the file counts from 1"),
        ("4\n5\n4\n", "line 3: row 4 is also on line 1; the file must have each row once"),
    ],
)
def test_wrong_last_rows(run: Run, rows: str, message: str) -> None:
    Path("rows.txt").write_text(rows)
    assert message in run("order", "mesh.graph", "--last", "rows.txt", *ENGINE, code=1).stderr


@pytest.mark.parametrize("method", OF_METHODS)
def test_json_has_the_figures(run: Run, method: str) -> None:
    function = {
        "order": partial(jetpy.order, preset="best", threads=1),
        "nested-dissection": partial(jetpy.nested_dissection, preset="best", threads=1),
        "minimum-degree": jetpy.minimum_degree,
    }[method]
    preset = () if method == "minimum-degree" else ("--preset", "best")
    report = report_of(run, "order", "mesh.graph", "--method", method, *preset, *ENGINE)
    expected = function("mesh.graph")
    assert report.keys() == FIELDS | OF_METHODS[method]
    for field in STRUCTURE:
        assert report[field] == getattr(expected.symbolic, field)
    if method == "nested-dissection":
        assert (report["preset"], report["tries"], report["leaf_size"]) == ("best", 8, 120)
    assert report["seconds"].keys() == {"read", "total"}
    assert (report["graph"], report["n"], report["m"]) == ("mesh", 1200, 2330)


@pytest.mark.parametrize("option", ["--tries", "--leaf-size"])
def test_the_method_is_order_unless_an_option_needs_a_dissection(run: Run, option: str) -> None:
    assert report_of(run, "order", "mesh.graph", *ENGINE)["method"] == "order"
    report = report_of(run, "order", "mesh.graph", option, 8, *ENGINE)
    assert report["method"] == "nested-dissection"


def test_choices_are_printed_and_in_the_report(run: Run) -> None:
    write_graph("chain.graph", jetpy.generators.grid(50, 1))
    assert "choice given order for 50 rows reason no fill fill 99" in words_of(
        run, "order", "chain.graph"
    )
    [choice] = report_of(run, "order", "chain.graph")["choices"]
    assert choice == {
        "method": "given",
        "components": 1,
        "rows": 50,
        "operations": {"given": 197.0},
        "has_fill": False,
        "reason": "no fill",
    }


def test_comparison_with_metis(run: Run) -> None:
    report = report_of(run, "order", "mesh.graph", "--metis", *ENGINE)
    assert report.keys() == {*FIELDS, *OF_METHODS["order"], "metis"}
    metis = report["metis"]
    assert metis.keys() == {*STRUCTURE, "seconds"}
    assert report["fill"] < 1.2 * metis["fill"]
    words = words_of(run, "order", "mesh.graph", "--metis", *ENGINE)
    assert "fill operations height seconds" in words
    assert f"METIS {metis['fill']:,} {metis['operations']:.4g} {metis['height']}" in words


def test_metis_cannot_order_an_empty_matrix(run: Run) -> None:
    write_graph("empty.graph", isolated(0))
    result = run("order", "empty.graph", "--metis", "-o", "perm.txt", *ENGINE)
    assert result.stderr == "jetpy: warning: no comparison: METIS needs at least one row\n"
    assert Path("perm.txt").read_bytes() == b""
    assert report_of(run, "evaluate", "empty.graph", "--ordering", "perm.txt")["fill"] == 0


def test_a_matrix_with_values(run: Run) -> None:
    pattern = sp.csr_array(np.triu(np.eye(6) * 2 - np.eye(6, k=1) / 3))
    scipy.io.mmwrite("upper.mtx", sp.coo_matrix(pattern), symmetry="general")
    refused = run("order", "upper.mtx", *ENGINE, code=1)
    assert "upper.mtx: " in refused.stderr
    assert "symmetric" in refused.stderr
    found = report_of(run, "order", "upper.mtx", "--symmetrize", "-o", "perm.txt", *ENGINE)
    assert (found["n"], found["m"], found["fill"]) == (6, 5, 11)
    checked = report_of(run, "evaluate", "upper.mtx", "--ordering", "perm.txt", "--symmetrize")
    assert checked["fill"] == 11
    run("evaluate", "upper.mtx", "--ordering", "perm.txt", code=1)


def test_profile_and_quiet(run: Run) -> None:
    report = report_of(run, "order", "mesh.graph", "--profile", "trace.json", *ENGINE)
    assert report.keys() == {*FIELDS, *OF_METHODS["order"], "profile"}
    assert json.loads(Path("trace.json").read_text())["otherData"]["run"] == "mesh, cpu"
    assert "kernel" in run("order", "mesh.graph", "--profile", "trace.json", *ENGINE).stdout
    assert run("order", "mesh.graph", "-o", "perm.txt", "--quiet", *ENGINE).output == ""


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
@pytest.mark.parametrize("suffix", DRAWINGS)
def test_drawings(run: Run, suffix: str) -> None:
    run("order", "mesh.graph", "--plot", f"drawing{suffix}", *ENGINE)
    assert Path(f"drawing{suffix}").read_bytes().startswith(DRAWINGS[suffix])


def test_evaluate_agrees_with_order(run: Run) -> None:
    made = report_of(run, "order", "mesh.graph", "-o", "perm.txt", "--base", 1, *ENGINE)
    ordering = ("evaluate", "mesh.graph", "--ordering", "perm.txt", "--base", 1)
    found = report_of(run, *ordering)
    assert found == {k: made[k] for k in ("version", "graph", "n", "m", *STRUCTURE)}
    words = words_of(run, *ordering)
    assert "matrix mesh: 1,200 rows, 4,660 entries off the diagonal fill " in words
    assert f"height {made['height']}" in words


def test_evaluate_an_ordering_of_any_tool(run: Run) -> None:
    rows = np.random.default_rng(3).permutation(1200)
    write_npy("perm.npy", rows.astype(np.uint16))
    Path("perm.txt").write_text("# rows\n" + "".join(f"{row}\n" for row in rows))
    expected = jetpy.symbolic(read_graph("mesh.graph"), rows)
    for name in ("perm.npy", "perm.txt"):
        found = report_of(run, "evaluate", "mesh.graph", "--ordering", name)
        assert [found[field] for field in STRUCTURE] == [getattr(expected, f) for f in STRUCTURE]


SHIFT = "; if the file counts from {0}, pass base={0} (--base {0})\n"


@pytest.mark.parametrize(
    ("content", "base", "message"),
    [
        ("0\n1\n", 0, "perm.txt: the file has 2 rows, but the matrix has 3\n"),
        ("0\n1\n2\n3\n", 0, "perm.txt: the file has 4 rows, but the matrix has 3\n"),
        ("0\n\n1\n2\n", 0, "line 2: the line has 0 integers; it must have one row\n"),
        ("0 1 2\n", 0, "line 1: the line has 3 integers; it must have one row\n"),
        ("2\n0\n2\n", 0, "perm.txt: line 3: row 2 is also on line 1; a permutation has each row"),
        ("# head\n0\n-1\n2\n", 0, "perm.txt: line 3: row -1 is not in 0..2\n"),
        ("3\n1\n2\n", 0, "perm.txt: line 1: row 3 is not in 0..2" + SHIFT.format(1)),
        ("2\n1\n0\n", 1, "perm.txt: line 3: row 0 is not in 1..3" + SHIFT.format(0)),
        ("0\n1\n7\n", 1, "perm.txt: line 1: row 0 is not in 1..3\n"),
        ("zero\n1\n2\n", 0, "perm.txt: line 1"),
        ("0.5\n1\n2\n", 0, "perm.txt: line 1"),
    ],
)
def test_files_that_are_no_permutations(run: Run, content: str, base: int, message: str) -> None:
    write_graph("three.graph", isolated(3))
    Path("perm.txt").write_text(content)
    options = ("--ordering", "perm.txt", "--base", base)
    assert message in run("evaluate", "three.graph", *options, code=1).stderr


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 1.0, 2.0], "has shape (3,) and type float64; it must have one integer for each"),
        ([[0, 1, 2]], "has shape (1, 3) and type int64"),
        ([0, 2, 2], "entry 2: row 2 is also on entry 1"),
        ([0, 1, 2**40], "entry 2: row 1099511627776 is not in 0..2"),
        ([0, 1], "the file has 2 rows, but the matrix has 3"),
    ],
)
def test_arrays_that_are_no_permutations(run: Run, values: Any, message: str) -> None:
    write_graph("three.graph", isolated(3))
    write_npy("perm.npy", values)
    assert message in run("evaluate", "three.graph", "--ordering", "perm.npy", code=1).stderr


def test_nothing_is_written_if_the_matrix_cannot_be_drawn(run: Run, folder: Path) -> None:
    (folder / "empty.graph").write_text("0 0\n")
    before = sorted(folder.iterdir())
    result = run("order", "empty.graph", "-o", "perm.txt", "--plot", "a.png", code=1)
    assert "no rows" in result.stderr
    assert sorted(folder.iterdir()) == before


def test_a_session_is_updated(run: Run) -> None:
    graph = jetpy.generators.grid(30, 20)
    write_graph("old.graph", graph)
    new = with_entries(graph, [(0, 21)])
    write_graph("new.graph", new)
    given = ("--preset", "fast", "--seed", 3, "--session", "order.npz")
    run("order", "old.graph", *given, *ENGINE)
    update = ("order", "new.graph", "--update", "order.npz", "-o", "new.perm", *ENGINE)
    report = report_of(run, *update)
    expected = jetpy.order(graph, preset="fast", seed=3).updated(new)
    assert expected.update is not None
    assert report["update"] == expected.update._asdict()
    assert {"preset", "seed"} & set(report) == set()
    assert report["method"] == "order"
    assert np.loadtxt("new.perm", dtype=int).tolist() == expected.perm.tolist()
    assert "2 changed rows" in words_of(run, *update, "--session", "order.npz")
    again = report_of(run, "order", "new.graph", "--update", "order.npz", *ENGINE)
    assert again["update"]["changed"] == 0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--update", "mesh.part"), 1, "not an ordering"),
        (("--update", "none.npz"), 2, "none.npz"),
        (("--update", "mesh.part", "--seed", 0), 2, "--seed cannot be combined with --update"),
        (("--update", "mesh.part", "--method", "order"), 2, "--method cannot be combined"),
        (("--session", "s.npz", "--method", "minimum-degree"), 2, "--session cannot be combined"),
        (("--session", "mesh.graph"), 2, "mesh.graph"),
    ],
)
def test_wrong_sessions_are_refused(
    run: Run, options: tuple[object, ...], code: int, message: str
) -> None:
    assert message in run("order", "mesh.graph", *options, code=code).stderr
