"""`bench.orderings`: means over METIS, the two halves, the matrices, and each tool that is here."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL
from pathlib import Path

import numpy as np
import pytest

import jetpy
from bench import orderings
from bench.child import Unavailable
from bench.matrices import HALF_A, HALVES, LARGE_MATRICES, MATRICES, half_of, stencil, with_unknowns
from bench.ordering_tools import BASELINE, DEFAULT, TOOLS, Job, Order, Tool
from bench.orderings import (
    better_rows,
    by_matrix,
    mean_rows,
    ratios,
    time_ratios,
)
from bench.records import Record
from jetpy.io.patterns import checked_permutation

OURS = "jetpy/default"


def record(graph: str, tool: str, fill: list[int], **about: object) -> Record:
    squares = [value**2 for value in fill]
    return {
        "graph": graph,
        "half": half_of(graph),
        "n": 10,
        "tool": tool,
        "threads": 1,
        "backend": "cpu",
        "fill": fill,
        "operations": squares,
        "height": fill,
        "critical_path": squares,
        "seconds": [2.0] * len(fill),
        "metis_seconds": [2.0, 8.0],
        **about,
    }


RECORDS = [
    record("uk", BASELINE, [10, 40], seconds=[1.0, 1.0]),
    record("uk", OURS, [10]),
    record("uk", "amd", [16]),
    record("add20", BASELINE, [100, 100]),
    record("add20", OURS, [1], threads=2),
    record("add20", OURS, [200], n=100_000, seconds=[8.0]),
    record("add20", "amd", [400]),
    record("add32", OURS, [5]),
]
FOUND = by_matrix(RECORDS, 1)


def test_ratios_use_geometric_means_of_seeds() -> None:
    assert ratios(FOUND[OURS], [FOUND[BASELINE]], "fill") == pytest.approx(
        {"uk": 0.5, "add20": 2.0}
    )
    better = ratios(FOUND[OURS], [FOUND[BASELINE], FOUND["amd"]], "fill")
    assert better == pytest.approx({"uk": 0.625, "add20": 2.0})


def test_times_are_compared_within_a_process() -> None:
    assert time_ratios(FOUND[OURS]) == pytest.approx({"uk": 0.5, "add20": 2.0, "add32": 0.5})
    assert time_ratios(FOUND[OURS], 100_000) == pytest.approx({"add20": 2.0})


def test_rows_of_means() -> None:
    rows = {row[0]: row[1:] for row in mean_rows(FOUND)}
    worst = "4.000 add20"
    assert rows[OURS] == ["2", "1.000", "1.000", worst, "1.000", "1.000", worst, "0.794", "2.000"]
    assert rows[BASELINE][:3] == ["2", "1.000", "1.000"]
    assert better_rows(FOUND) == [[OURS, "2", "1.118", "1.250", "4.000 add20"]]


def test_other_tools_have_one_thread() -> None:
    found = by_matrix(RECORDS, 2)
    assert found[OURS]["add20"]["fill"] == [1]
    assert found[BASELINE] == FOUND[BASELINE]


def test_both_halves_have_generated_matrices() -> None:
    counts = {half: sum(half_of(name) == half for name in MATRICES) for half in HALVES}
    assert min(counts.values()) >= 5
    assert not HALF_A & LARGE_MATRICES.keys()
    assert half_of("a graph of somebody") == "B"


def test_stencils_and_unknowns() -> None:
    assert [stencil(5, 5).degrees.max(), stencil(3, 3, 3).degrees.max()] == [8, 26]
    found = with_unknowns(jetpy.generators.grid(2, 2), 3)
    assert (found.n, found.degrees.tolist()) == (12, [8] * 12)
    assert (found.edge_weights == 1).all()


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_return_orders_of_elimination(tool: str) -> None:
    """In the reverse order of elimination, a grid has much more fill."""
    graph = jetpy.generators.grid(20, 20)
    try:
        order = TOOLS[tool].prepare(Job(graph, 1, "cpu", ()))
    except (Unavailable, ImportError) as reason:
        pytest.skip(str(reason))
    perm, seconds = order(1)
    checked_permutation(perm, graph.n)
    assert 2 * jetpy.symbolic(graph, perm).fill < jetpy.symbolic(graph, np.argsort(perm)).fill
    assert seconds > 0


@pytest.mark.parametrize("tool", ["amd"])
def test_missing_libraries_are_reported(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, mode: int) -> CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr("bench.libraries.CDLL", missing)
    with pytest.raises(Unavailable, match=r"\.so.*: cannot open"):
        TOOLS[tool].prepare(Job(jetpy.generators.grid(2, 2), 1, "cpu", ()))


def test_order_and_seconds_of_the_program_of_mt_metis(tmp_path: Path) -> None:
    """The program writes the column of each row; here, it reverses the rows."""
    program = tmp_path / "mtmetis"
    program.write_text(
        "#!/bin/sh\n"
        'echo "$@" > "${0%/*}/arguments"\n'
        'for column in 5 4 3 2 0 1; do echo $column; done > "$7"\n'
        'echo "Input: 9.00s"; echo "Total Time:   0.25s"\n'
    )
    program.chmod(0o755)
    order = TOOLS["mt-metis"].prepare(Job(jetpy.generators.grid(2, 3), 3, "cpu", (tmp_path,)))
    perm, seconds = order(2)
    assert (perm.tolist(), seconds) == ([4, 5, 3, 2, 1, 0], 0.25)
    assert (tmp_path / "arguments").read_text().startswith("-p nd -t -T3 -s2 ")


def test_measured_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int]] = []

    def tool(name: str) -> Callable[[Job], Order]:
        def order(seed: int) -> tuple[np.ndarray, float]:
            calls.append((name, seed))
            return np.arange(9), 10.0 - len(calls)

        return lambda job: order

    monkeypatch.setitem(TOOLS, BASELINE, Tool(tool(BASELINE), (1, 2)))
    monkeypatch.setitem(TOOLS, "amd", Tool(tool("amd"), (0,)))
    job = Job(jetpy.generators.grid(3, 3), 1, "cpu", ())
    found = orderings.measured("amd", job, 2)
    assert calls == [(BASELINE, 1), (BASELINE, 2), ("amd", 0)] * 2
    assert (found["seconds"], found["metis_seconds"]) == ([4.0], [6.0, 5.0])
    assert found["fill"] == [jetpy.symbolic(job.graph).fill]


def test_program_measures_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pymetis")
    graphs, results = tmp_path / "graphs", tmp_path / "results"
    graphs.mkdir()
    jetpy.write_graph(graphs / "uk.npz", jetpy.generators.grid(9, 9))
    jetpy.write_graph(graphs / "other.npz", jetpy.generators.grid(9, 9))
    words = ["--graphs", str(graphs), "--results", str(results), "--markdown"]
    tools = ["--tools", "jetpy/minimum_degree", BASELINE]
    orderings.EXPERIMENT.main([*words, *tools, "--half", "A"])
    printed = capsys.readouterr()
    assert "half A" in printed.out
    assert "uk 1 cpu jetpy/minimum_degree" in printed.err
    assert "other" not in printed.out + printed.err
    assert {path.name for path in results.iterdir()} == {
        *("orderings.jsonl", "orderings-jetpy.jsonl", "provenance.json")
    }
    orderings.EXPERIMENT.main([*words, *tools, "--half", "A"])
    assert "uk" not in capsys.readouterr().err  # nothing is measured twice


def test_tools_that_are_not_measured_by_default() -> None:
    assert set(TOOLS) - set(DEFAULT) == {"mt-metis"}
