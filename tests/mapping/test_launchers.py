"""Files for launchers: the host and slot of each rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.mapping import read_hosts, write_rankfile, write_slurm_hostfile
from jetpy.problem.machine import machine
from jetpy.result.mapping import Mapping
from tests.graphs import path


@pytest.fixture
def mapping() -> Mapping:
    """Map six ranks to the PEs 0, 5, 2, 11, 7, 10 of 2:3:2."""
    found = jetpy.map_processes(path(6), "2:3:2", "1:10:100", backend="cpu", threads=1)
    pe = np.array([0, 5, 2, 11, 7, 10], np.int32)
    return replace(found, partition=replace(found.partition, parts=pe))


def ranks(mapping: Mapping, hosts: list[str] | None = None) -> list[str]:
    write_rankfile("ranks", mapping, hosts)
    return Path("ranks").read_text().splitlines()


@pytest.mark.parametrize(
    ("hosts", "places"),
    [
        (None, "+n0:0:0 +n0:2:1 +n0:1:0 +n1:2:1 +n1:0:1 +n1:2:0"),
        ("x y", "x:0:0 x:2:1 x:1:0 y:2:1 y:0:1 y:2:0"),
        ("x", "x:0:0 x:0:5 x:0:2 x:1:5 x:1:1 x:1:4"),
        ("a b c d e f", "a:0 c:1 b:0 f:1 d:1 f:0"),
        ("a b c d e f g h i j k l", "a:0 f:0 c:0 l:0 h:0 k:0"),
    ],
)
def test_rankfile_and_hostfile_place_each_rank(
    mapping: Mapping,
    hosts: str | None,
    places: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    split = [place.split(":", 1) for place in places.split()]
    lines = [f"rank {i}={host} slot={slot}" for i, (host, slot) in enumerate(split)]
    assert ranks(mapping, None if hosts is None else hosts.split()) == lines
    if hosts is not None:
        write_slurm_hostfile("lines", mapping, hosts.split())
        assert Path("lines").read_text() == "".join(f"{host}\n" for host, _ in split)


def test_levels_of_arity_one_are_not_hosts(mapping: Mapping, tmp_path: Path) -> None:
    """Hosts of 2:1:3 have one level or two; the file names processors and cores."""
    flat = replace(mapping, machine=machine("2:1:3:2", "1:2:3:4"))
    write_rankfile(tmp_path / "ranks", flat, list("abcdef"))
    assert (tmp_path / "ranks").read_text().splitlines()[1] == "rank 1=c slot=0:1"


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (["x", "y", "z"], "there are 3 hosts, but the hierarchy 2:3:2, .* has 1 or 2 or 6 or 12"),
        ([], "there are 0 hosts"),
        (["x", "x"], "host 'x' is not a valid name; each must be unique and without blanks"),
        (["x", "a b"], "host 'a b' is not a valid name"),
        (["x", ""], "host '' is not a valid name"),
    ],
)
def test_bad_hosts_are_refused(
    mapping: Mapping, hosts: list[str], words: str, tmp_path: Path
) -> None:
    for write in (write_rankfile, write_slurm_hostfile):
        with pytest.raises(jetpy.OptionError, match=words):
            write(tmp_path / "file", mapping, hosts)
    assert not list(tmp_path.iterdir())


def test_mapping_that_no_launcher_can_start_is_refused(mapping: Mapping, tmp_path: Path) -> None:
    crowded = jetpy.map_processes(path(13), "2:3:2", "1:10:100", backend="cpu", threads=1)
    with pytest.raises(
        jetpy.OptionError, match="there are 13 tasks, but 12 PEs; a launcher starts one"
    ):
        write_rankfile(tmp_path / "file", crowded)
    matrix = replace(mapping, machine=machine(None, 1 - np.eye(12, dtype=int)))
    with pytest.raises(jetpy.OptionError, match="the machine has no hierarchy, so it has no hosts"):
        write_rankfile(tmp_path / "file", matrix)
    with pytest.raises(jetpy.JetpyError, match="cannot be written"):
        write_rankfile(tmp_path / "nowhere" / "file", mapping)


def test_hosts_are_read_from_file_or_text(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("node1 slots=4\n\n# comment\n node2 # far\nnode1\n")
    assert read_hosts(str(file)) == ["node1", "node2"]
    assert read_hosts("a, b,a") == ["a", "b"]
    file.write_text("# none\n")
    for nothing in (str(file), "", " , "):
        with pytest.raises(jetpy.OptionError, match="which has no host name"):
            read_hosts(nothing)
    file.write_text("n[1-2]\nm\n")
    assert read_hosts(str(file)) == ["n1", "n2", "m"]
    with pytest.raises(jetpy.JetpyError, match="cannot be read"):
        read_hosts(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n[1-4]", "n1 n2 n3 n4"),
        ("n[01-03,7],m2", "n01 n02 n03 n7 m2"),
        ("n[9-11]", "n9 n10 n11"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("r[1-2]n[5,7]-ib", "r1n5-ib r1n7-ib r2n5-ib r2n7-ib"),
        ("n[2,1-3] , a.b.org", "n2 n1 n3 a.b.org"),
        ("a,", "a"),
        (",".join(f"host-number-{i}" for i in range(99)), None),
    ],
)
def test_ranges_of_hosts_are_expanded(text: str, hosts: str | None) -> None:
    assert read_hosts(text) == (text.split(",") if hosts is None else hosts.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n[1-4", r"its brackets must match, as in n\[1-4\]"),
        ("n1-4]", "its brackets must match"),
        ("n[[1-2]]", "its brackets must match"),
        ("n[4-1]", "has the range '4-1'; ranges must be like 1-4"),
        ("n[]", "has the range ''"),
        ("n[a-b]", "has the range 'a-b'"),
        ("n[1-999999999]", "has the range '1-999999999'; it may have 65536 numbers"),
        ("n[1-999][1-999]", "stands for 998001 hosts; there may be 65536"),
    ],
)
def test_bad_ranges_of_hosts_are_refused(text: str, words: str) -> None:
    with pytest.raises(jetpy.OptionError, match=words):
        read_hosts(text)


@pytest.mark.parametrize("text", ["hosts.txt", "nowhere/hosts", "hosts", "a b"])
def test_missing_file_of_hosts_is_an_error(text: str) -> None:
    with pytest.raises(jetpy.MissingFileError, match=r"there is no such file; give names.*comma"):
        read_hosts(text)
