"""The comparison with other distributed partitioners; none is installed here."""

from __future__ import annotations

from ctypes import CDLL
from pathlib import Path

import numpy as np
import pytest

import jetpy
from bench import distributed_peers as peers
from bench.child import Unavailable
from bench.distributed_peers import Record, job_of, mean_rows, records_of, results
from bench.distributed_tools import TOOLS, Job
from jetpy.study.arrays import checksum_of_parts
from tests.distributed.threads import run_on_threads

DEFAULT, FAST = peers.JETPY


def record(tool: str, processes: int, cut: int, seconds: float, **about: object) -> Record:
    return {
        "graph": "cube:9",
        "k": 8,
        "processes": processes,
        "tool": tool,
        "seeds": [0],
        "cuts": [cut],
        "imbalances": [0.03],
        "seconds": [seconds],
        "parts": ["a"],
        **about,
    }


RECORDS = [
    record(DEFAULT, 1, 8, 4.0),
    record(DEFAULT, 2, 8, 2.0),
    record(FAST, 1, 9, 2.0),
    record(FAST, 2, 9, 1.0),
    record("parmetis", 1, 10, 1.0),
    record("parmetis", 2, 16, 1.0, parts=["b"], imbalances=[0.04]),
    record("parmetis", 2, 4, 4.0, parts=["b"], graph="cube:10"),
    record("ptscotch", 2, 4, 8.0),
    record("ptscotch", 2, 8, 8.0, graph="cube:10"),
    record(DEFAULT, 2, 2, 8.0, graph="cube:10"),
    record(FAST, 2, 4, 1.0, graph="cube:10"),
    record("parhip", 2, 4, 8.0, graph="cube:11"),
]


def test_mean_rows_compare_each_tool_with_jetpy() -> None:
    rows = mean_rows(results([record(DEFAULT, 1, 99, 99.0), *RECORDS]))
    by_tool = {(tool, size): values for tool, size, *values in rows}
    assert by_tool["parmetis", "1"] == ["1", "1", "0", "0.800", "4.000", "0.900", "2.000"]
    assert by_tool["parmetis", "2"] == ["2", "1", "0", "0.500", "2.000", "0.750", "0.500"]
    assert by_tool["ptscotch", "2"][:5] == ["2", "2", "0", "0.707", "0.500"]
    assert by_tool[DEFAULT, "2"][:5] == ["2", "2", "1", "1.000", "1.000"]
    assert by_tool["parhip", "2"] == ["1", "1", "0", *["-"] * 4]


def test_case_rows_list_each_graph_and_number_of_processes() -> None:
    rows = peers.case_rows("parmetis", results(RECORDS))
    assert [row[:7] for row in rows] == [
        ["cube:10", "8", "2", "4", "0.0300", "4.00", "-"],
        ["cube:9", "8", "1", "10", "0.0300", "1.00", "differ"],
        ["cube:9", "8", "2", "16", "0.0400", "1.00", "differ"],
    ]
    assert rows[2][7:] == ["0.500", "2.000", "0.562", "1.000"]


def test_records_are_computed_from_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(None, "cube:8", [])
    striped = np.arange(512, dtype=np.int32) % 2
    monkeypatch.setitem(TOOLS, "striped", lambda job: lambda k, seed: striped)
    [found] = records_of(job, "striped", [2], [3])
    assert (found["cuts"], found["imbalances"]) == ((7 * 64,), (0.0,))
    [own] = records_of(job, FAST, [4], [0])
    expected = jetpy.partition(
        jetpy.generators.cube(8, 8, 8), 4, preset="fast", backend="cpu", threads=1
    )
    assert (own["cuts"], own["parts"]) == ((expected.cut,), (checksum_of_parts(expected.parts),))


@pytest.mark.parametrize("size", [1, 3])
def test_vertices_have_two_weights(size: int) -> None:
    """They depend on the id of a vertex alone, and are equal in each of 16 ranges."""
    jobs = run_on_threads(size, lambda comm: job_of(comm, "cube:8*2", []))
    weights = np.concatenate([job.block.vertex_weights for job in jobs])
    assert weights.shape == (512, 2)
    assert np.array_equal(weights, np.repeat(weights[::32], 32, axis=0))
    assert len(np.unique(weights, axis=0)) > 10
    [found] = records_of(job_of(None, "cube:8*2", []), FAST, [2], [0])
    expected = jetpy.partition(
        jetpy.generators.cube(8, 8, 8),
        2,
        vertex_weights=weights,
        preset="fast",
        backend="cpu",
        threads=1,
    )
    assert (found["cuts"], found["parts"]) == (
        (expected.cut,),
        (checksum_of_parts(expected.parts),),
    )


@pytest.mark.parametrize(("graph", "count"), [("cube:8", 5), ("cube:8*2", 3)])
def test_only_some_tools_balance_two_weights(graph: str, count: int) -> None:
    options = peers.EXPERIMENT.parser().parse_args([graph, "--processes", "2", "--ks", "8"])
    [instance] = peers.instances(options)
    assert len({case["tool"] for case in peers.cases(options, instance)}) == count


@pytest.mark.parametrize("tool", ["parmetis", "ptscotch", "parhip"])
def test_missing_library_raises_unavailable(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, mode: int) -> CDLL:
        raise OSError(f"{name} is not there")

    monkeypatch.setattr("bench.libraries.CDLL", missing)
    with pytest.raises(Unavailable, match="is not there"):
        TOOLS[tool](job_of(None, "cube:4", []))


def test_library_in_the_nearest_folder_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("usr/lib/long", "usr/lib"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "liba.so").touch()
    loaded: list[str] = []
    monkeypatch.setattr("bench.libraries.CDLL", lambda name, mode: loaded.append(name))
    job = job_of(None, "cube:2", [tmp_path])
    Job.load(job, "liba.so", "libb.so")
    assert loaded == [str(tmp_path / "usr/lib/liba.so"), "libb.so"]


@pytest.mark.slow
def test_folders_of_libraries_are_optional(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mpi4py")
    words = "cube:6 --tools jetpy/fast --processes 1 --ks 2 --markdown"
    peers.EXPERIMENT.main([*words.split(), "--results", str(tmp_path)])
    assert "| cube:6 | 2 | 1 | 36 |" in capsys.readouterr().out


def test_unknown_graph_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        peers.EXPERIMENT.main(["mesh.graph"])
    assert "mesh.graph is neither cube:SIDE nor rmat:SCALE:EDGE_FACTOR" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        peers.EXPERIMENT.main(["cube:9*1"])
    assert "cube:9*1 must end with a number of weights from 2 on" in capsys.readouterr().err
