"""`jetpy partition --session` and `jetpy update`, run in this process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.io import read_graph
from tests.cli.conftest import ENGINE, Run

LIVE = {"backend": "cpu", "threads": 1}


@pytest.fixture
def session(run: Run) -> Path:
    files = "-o", "mesh.part", "--session", "mesh.npz"
    run("partition", "mesh.graph", "-k", 4, *files, "--quiet", *ENGINE)
    return Path("mesh.npz")


def test_update_applies_batches_and_writes_the_session(run: Run, session: Path) -> None:
    Path("changes.txt").write_text("+v 2\n+e 1200 0\n+e 1200 40 3\n---\n-v 17\n-e 0 1\n")
    result = run("update", session, "changes.txt", "-o", "out.part", *ENGINE)
    graph = read_graph("mesh.graph")
    start = jetpy.partition(graph, 4, **LIVE).parts
    live = jetpy.IncrementalPartitioner(graph, 4, parts=start, **LIVE)
    live.update(
        jetpy.Batch(insert_vertices=[2], insert_edges=[(1200, 0), (1200, 40)], edge_weights=[1, 3])
    )
    live.update(jetpy.Batch(delete_vertices=[17], delete_edges=[(0, 1)]))
    parts = [int(line) for line in Path("out.part").read_text().splitlines()]
    assert parts == live.partition.tolist()
    assert parts[17] == -1
    again = jetpy.IncrementalPartitioner.load(session, **LIVE)
    assert (again.partition == live.partition).all()
    assert f"{live.cut:,}" in result.stdout
    assert f"{live.n:,} vertices" in result.stdout


@pytest.mark.parametrize("name", ["out.npy", "out.npz", "out.csv.gz", "out.json"])
def test_suffix_selects_the_format_of_parts(run: Run, session: Path, name: str) -> None:
    Path("changes.txt").write_text("+v\n")
    run("update", session, "changes.txt", "-o", name, "--quiet", *ENGINE)
    assert jetpy.read_parts(name, 1201).tolist()[:1200] == jetpy.read_parts("mesh.part").tolist()


def test_update_writes_json(run: Run, session: Path) -> None:
    Path("changes.txt").write_text("+v\n---\n+e 0 1200\n")
    report = json.loads(run("update", session, "changes.txt", "--json", "-", *ENGINE).stdout)
    live = jetpy.IncrementalPartitioner.load(session, **LIVE)
    assert set(report) == {
        *("version", "n", "m", "k", "preset", "cut", "limit", "feasible", "part_weights"),
        "updates",
    }
    assert (report["n"], report["cut"], report["k"]) == (1201, live.cut, 4)
    assert [update["vertices"] for update in report["updates"]] == [[1200], []]
    assert report["updates"][0]["action"] == "placed"


def test_save_keeps_the_old_session(run: Run, session: Path) -> None:
    before = session.read_bytes()
    Path("changes.txt").write_text("-v 5\n")
    run("update", session, "changes.txt", "--save", "new.npz", "--quiet", *ENGINE)
    assert session.read_bytes() == before
    assert jetpy.IncrementalPartitioner.load("new.npz", **LIVE).n == 1199


def test_bad_modifier_writes_nothing(run: Run, session: Path) -> None:
    before = session.read_bytes()
    Path("changes.txt").write_text("-v 5\n---\n-v 5\n")
    result = run("update", session, "changes.txt", "-o", "out.part", *ENGINE, code=1)
    assert "changes.txt: batch 2, line 3: vertices to delete: vertex 5 is deleted" in result.stderr
    assert session.read_bytes() == before
    assert not Path("out.part").exists()


CHANGES = "+v 2\n+e 1200 0\n+e 1200 40 3\n-v 17\n-v 18\n"


@pytest.mark.usefixtures("undrawn")
def test_evaluate_and_report_read_sessions(run: Run, session: Path) -> None:
    Path("changes.txt").write_text(CHANGES)
    run("update", session, "changes.txt", "-o", "out.part", "--quiet", *ENGINE)
    live = jetpy.IncrementalPartitioner.load(session, **LIVE)
    expected = jetpy.evaluate(live.graph, live.partition[live.vertices], 4)
    for parts in ((), ("out.part",)):
        report = json.loads(run("evaluate", session, *parts, "--json", "-").stdout)
        assert (report["graph"], report["n"], report["k"]) == ("mesh", 1199, 4)
        assert report["cut"] == expected.cut == live.cut
        assert report["part_volumes"] == expected.part_volumes.tolist()
        words = "report", session, *parts, "-o", "page.html", "--json", "-"
        assert json.loads(run(*words).stdout)["cut"] == live.cut
    words = run("report", session, "--preset", "fast", "-o", "p.html", code=2).stderr
    assert "--preset needs -k; without -k, jetpy report shows the parts" in words
    report = json.loads(run("report", session, "-k", 3, "-o", "p.html", "--json", "-").stdout)
    assert (report["k"], report["n"]) == (3, 1199)


def test_files_use_the_vertex_ids_of_the_session(run: Run, session: Path) -> None:
    Path("changes.txt").write_text("-v 17\n")
    run("update", session, "changes.txt", "--quiet", *ENGINE)
    Path("own.part").write_text("0\n" * 17 + "-1\n" + "1\n" * 1182)
    Path("weights.txt").write_text("1\n" * 17 + "9\n" + "2\n" * 1182)
    options = "--vertex-weights", "weights.txt", "--json", "-"
    report = json.loads(run("evaluate", session, "own.part", *options).stdout)
    assert report["part_weights"] == [17, 2364]
    np.savetxt("mesh.xy", np.random.default_rng(0).random((1200, 2)))
    drawn = "--coordinates", "mesh.xy", "-o", "page.html"
    run("report", session, "own.part", *drawn)
    Path("few.part").write_text("-1\n" * 1200)
    words = run("evaluate", session, "few.part", code=1).stderr
    assert "few.part: vertex 0 has no part" in words
    Path("few.part").write_text("0\n" * 1199)
    words = run("evaluate", session, "few.part", code=1).stderr
    assert "few.part: the file has 1199 part ids, but the graph has 1200 vertices" in words


def test_session_with_deleted_vertices_is_not_a_graph(run: Run, session: Path) -> None:
    Path("changes.txt").write_text("+v\n+e 1200 7\n")
    run("update", session, "changes.txt", "--quiet", *ENGINE)
    assert read_graph(session).n == 1201
    Path("changes.txt").write_text("-v 17\n")
    run("update", session, "changes.txt", "--quiet", *ENGINE)
    words = run("partition", session, "-k", 2, *ENGINE, code=1).stderr
    assert "mesh.npz: this is a session with deleted vertices" in words


def test_parts_of_deleted_vertices_need_the_session(run: Run, session: Path) -> None:
    Path("changes.txt").write_text("-v 17\n")
    run("update", session, "changes.txt", "-o", "out.part", "--quiet", *ENGINE)
    words = " ".join(run("evaluate", "mesh.graph", "out.part", code=1).stderr.split())
    assert "out.part: line 18: part -1 is negative; jetpy update writes it for a deleted" in words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.npz", "changes.txt"), "does not exist"),
        (("mesh.graph", "changes.txt"), "mesh.graph: this is not a session"),
        (("mesh.npz", "mesh.graph"), "mesh.graph: line 1: '1200' is not a modifier"),
        (("mesh.npz", "changes.txt", "-o", "mesh.npz"), "given twice"),
        (("mesh.npz", "changes.txt", "--save", "no/where.npz"), "cannot be written"),
    ],
)
def test_bad_file_is_refused(
    run: Run, session: Path, arguments: tuple[str, ...], message: str
) -> None:
    Path("changes.txt").write_text("+v\n")
    code = 2 if "exist" in message or "twice" in message else 1
    result = run("update", *arguments, *ENGINE, code=code)
    assert message in result.stderr


def test_infeasible_update_has_exit_code_3(run: Run) -> None:
    np.savez("pair.npz", indptr=[0, 1, 2], indices=[1, 0])
    run("partition", "pair.npz", "-k", 2, "--session", "s.npz", "--quiet", *ENGINE)
    Path("changes.txt").write_text("+v 9\n")
    result = run("update", "s.npz", "changes.txt", *ENGINE, code=3)
    assert "no balanced partition" in result.stderr
