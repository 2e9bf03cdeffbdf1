"""Tables and settings of studies are written and read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jetpy.errors import JetpyError
from jetpy.study.cases import Case
from jetpy.study.files import CHECKSUMS, KERNELS, PERFORMANCE
from jetpy.study.machine import FILE, read_machines, write_machines
from jetpy.study.merge import merge
from jetpy.study.results import read_results
from jetpy.study.study import Study
from tests.study.made import kernel, machine, row, study

CPU, CUDA = (
    Case("mesh", 8, 0.03, "jetpy", "default", backend, threads, 0)
    for backend, threads in (("cpu", 2), ("cuda", 1))
)
METIS = Case("mesh", 8, 0.03, "metis", "k-way", "", 2, 0)


def test_last_row_of_a_key_counts(tmp_path: Path) -> None:
    PERFORMANCE.append(tmp_path, [row("a", CPU)])
    PERFORMANCE.append(tmp_path, [row("a", METIS), row("a", CPU, cut=9)])
    assert [found["cut"] for found in PERFORMANCE.read(tmp_path)] == ["9", "10"]


def test_unfinished_line_is_ignored_and_overwritten(tmp_path: Path) -> None:
    PERFORMANCE.append(tmp_path, [row("a", CPU), row("a", METIS)])
    file = tmp_path / PERFORMANCE.name
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    assert len(PERFORMANCE.read(tmp_path)) == 1
    PERFORMANCE.append(tmp_path, [row("a", METIS)])
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "the columns do not match this version of jetpy"),
        (
            ",".join(PERFORMANCE.columns) + "\n1,2\n",
            "line 2: the line has 2 cells, but must have [0-9]+; remove the line",
        ),
    ],
)
def test_foreign_table_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / PERFORMANCE.name).write_text(text)
    with pytest.raises(JetpyError, match=words):
        PERFORMANCE.read(tmp_path)


def test_settings_are_written_and_read_back(tmp_path: Path) -> None:
    assert read_machines(tmp_path) is None
    machines = {"a": machine(), "b": machine("b", ("H200",))}
    write_machines(tmp_path, machines)
    assert read_machines(tmp_path) == machines


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"machines": {"a": {}}, "imbalance": 1}'])
def test_foreign_settings_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(JetpyError, match="jetpy study did not write this file"):
        read_machines(tmp_path)


def both(tmp_path: Path) -> tuple[Path, Path]:
    """Write studies of one graph on a machine without a GPU and on one with a GPU."""
    here = study(
        tmp_path / "here", "box", machine(),
        [row("box", CPU, parts_sha="x"), row("box", METIS, parts_sha="z")],
    )  # fmt: skip
    there = study(
        tmp_path / "there", "gpu", machine("b", ("H200",)),
        [row("gpu", CUDA, parts_sha="x", kernels=1)],
        [kernel("gpu", CUDA, "propose", 3, 0.1, 100)],
    )  # fmt: skip
    return here, there


def test_merged_study_contains_both(tmp_path: Path) -> None:
    merge(both(tmp_path), tmp_path / "all")
    found = read_results(tmp_path / "all")
    assert found.platforms == ["box cpu-2", "gpu gpu"]
    assert [run["machine"] for run in found.runs] == ["box", "box", "gpu"]
    assert found.machines.keys() == {"box", "gpu"}
    assert len(found.kernels) == 1
    assert found.unequal == []
    assert "the same parts in all of 1 partition, each found 2 times" in found.summary


def test_parts_are_compared_across_machines(tmp_path: Path) -> None:
    here, there = both(tmp_path)
    study(there, "gpu", machine("b", ("H200",)), [row("gpu", CUDA, parts_sha="y")])
    merge([here, there], tmp_path / "all")
    found = read_results(tmp_path / "all")
    assert found.unequal == ["mesh, k = 8, imbalance 0.03, default, seed 0"]
    checksums = CHECKSUMS.read(tmp_path / "all")
    assert [(row["machine"], row["parts_sha"], row["equal"]) for row in checksums] == [
        ("box", "x", "yes"),
        ("gpu", "y", "no"),
    ]


def test_copied_rows_are_not_compared(tmp_path: Path) -> None:
    serial = [
        Case("mesh", 8, 0.03, "jetpy", "default", "kokkos-serial", threads, 0) for threads in (1, 2)
    ]
    rows = [row("box", case, parts_sha="x", measured_threads=1) for case in serial]
    found = read_results(study(tmp_path / "s", "box", machine(), rows))
    assert found.verdict == "parts were not compared: each was found once"


def test_study_merged_with_itself_is_unchanged(tmp_path: Path) -> None:
    here, _ = both(tmp_path)
    merge([here, here], tmp_path / "all")
    for file in here.iterdir():
        assert (tmp_path / "all" / file.name).read_bytes() == file.read_bytes()


def _other_machine(here: Path) -> None:
    study(here, "gpu", machine("c"), [row("gpu", CPU)])


def _other_graph(here: Path) -> None:
    study(here, "box", machine(), [row("box", CPU, n=10)])


def _other_edges(here: Path) -> None:
    study(here, "gpu", machine("b", ("H200",)), [row("gpu", CPU, graph_sha="x")])
    study(here.parent / "there", "box", machine(), [row("box", CPU, graph_sha="y")])


def _other_version(here: Path) -> None:
    other = machine()
    facts = {**other.facts, "version": "2"}
    study(here, "box", replace(other, facts=facts), [row("box", CPU)])


def _other_result(here: Path) -> None:
    study(here, "gpu", machine("b", ("H200",)), [row("gpu", CUDA, cut=11)])


def _nothing(here: Path) -> None:
    for file in here.iterdir():
        file.unlink()


def _no_kernels(here: Path) -> None:
    PERFORMANCE.write(here, [row("box", CPU, kernels=2)])
    KERNELS.write(here, [kernel("box", CPU, "propose", 3, 0.1, 100)])


def _no_machine(here: Path) -> None:
    (here / FILE).unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_other_machine, "two machines have the name gpu"),
        (_other_graph, "two different graphs have the name mesh"),
        (_other_edges, "two different graphs have the name mesh"),
        (_other_version, "has runs of jetpy 1, but this is 2"),
        (_other_result, "different rows for mesh 8 0.03 jetpy default cuda 1 0 gpu"),
        (_nothing, "performance.csv is missing"),
        (_no_machine, "machine.json is missing"),
        (
            _no_kernels,
            "kernels.csv lacks the kernels of 1 run, for example mesh k=8 imbalance=0.03 on box",
        ),
    ],
)
def test_contradictory_studies_are_not_merged(spoil, words: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    here, there = both(tmp_path)
    spoil(here)
    with pytest.raises(JetpyError, match=words):
        merge([here, there], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_merge_does_not_overwrite_a_study(tmp_path: Path) -> None:
    here, there = both(tmp_path)
    with pytest.raises(JetpyError, match="already contains a study"):
        merge([there], here)


def test_another_program_of_a_tool_is_refused(tmp_path: Path) -> None:
    jet, other, heipa = (
        replace(machine(), programs=own) for own in ({"jet": "x"}, {"jet": "y"}, {"gpu-heipa": "z"})
    )
    here = study(tmp_path / "here", "box", jet, [row("box", CPU)])
    there = study(tmp_path / "there", "box", other, [row("box", METIS)])
    words = "the machine box has runs of another program jet; use another folder"
    with pytest.raises(JetpyError, match=words):
        Study.opened(here, "box", other)
    with pytest.raises(JetpyError, match=words):
        merge([here, there], tmp_path / "all")
    study(there, "box", heipa, [row("box", METIS)])
    merge([here, there], tmp_path / "all")
    Study.opened(here, "box", heipa)
    for folder in (here, tmp_path / "all"):
        machines = read_machines(folder)
        assert machines is not None
        assert machines["box"].programs == {"jet": "x", "gpu-heipa": "z"}


def test_studies_with_different_imbalances_are_merged(tmp_path: Path) -> None:
    here, there = both(tmp_path)
    uneven = row("gpu", CUDA._replace(allowed_imbalance=0.1))
    study(there, "gpu", machine("b", ("H200",)), [uneven])
    merge([here, there], tmp_path / "all")
    found = read_results(tmp_path / "all")
    assert [f"{problem}" for problem in found.problems] == [
        "mesh k=8 imbalance=0.03",
        "mesh k=8 imbalance=0.1",
    ]
    assert found.verdict == "parts were not compared: each was found once"


def test_results_need_the_description_of_their_machine(tmp_path: Path) -> None:
    here, _ = both(tmp_path)
    write_machines(here, {"other": machine()})
    with pytest.raises(JetpyError, match="does not describe the machine box"):
        read_results(here)
    with pytest.raises(JetpyError, match="does not contain a study with runs"):
        read_results(tmp_path)
