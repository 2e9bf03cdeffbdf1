from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bench.formats import READERS
from bench.unseen import (
    GENERATOR,
    Entry,
    checksum,
    contents,
    difference,
    make,
    make_missing,
    read_list,
)
from jetpy import generators, read_graph

GRID = Entry("small", "mesh", 6, 7, GENERATOR, "", "rows=2 cols=3", "grid", "")


def _clone(folder: Path) -> str:
    """Create a repository with an edge list and return its commit."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    folder.mkdir()
    (folder / "edges.txt").write_text("0 1\n1 2\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "edges")
    return git("rev-parse", "HEAD")


def test_every_entry_has_a_reader_or_generator_and_a_checksum() -> None:
    """Names are unique, too."""
    entries = read_list()
    assert len({entry.name for entry in entries}) == len(entries) > 0
    for entry in entries:
        assert entry.format in (generators.GENERATORS if entry.source == GENERATOR else READERS)
        assert len(bytes.fromhex(entry.sha256)) == 32


def test_generated_graphs_use_the_arguments_of_the_entry(tmp_path: Path) -> None:
    graph = make(GRID, tmp_path)
    assert (graph.n, graph.m) == (6, 7)
    rgg = replace(GRID, format="rgg", path="n=50 seed=3 radius=0.4")
    assert checksum(make(rgg, tmp_path)) == checksum(
        generators.random_geometric(50, seed=3, radius=0.4)
    )


def test_files_are_read_from_the_commit(tmp_path: Path) -> None:
    commit = _clone(tmp_path / "me+graphs")
    (tmp_path / "me+graphs" / "edges.txt").unlink()
    entry = Entry("path", "path", 3, 2, "me/graphs", commit, "edges.txt", "pairs", "")
    assert contents(tmp_path / "me+graphs", commit, "edges.txt") == b"0 1\n1 2\n"
    assert make(entry, tmp_path).indices.tolist() == [1, 0, 2, 1]


def test_missing_or_different_graphs_are_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = replace(GRID, sha256=checksum(generators.grid(2, 3)))
    gone = replace(GRID, name="gone", source="nobody/nothing", format="pairs")
    other = replace(GRID, name="other")
    assert [entry.name for entry in make_missing([gone, other, good], tmp_path, tmp_path)] == [
        "small"
    ]
    reported = capfd.readouterr().err
    assert "gone: no clone" in reported
    assert "other: n=6, m=7, sha256" in reported
    assert read_graph(tmp_path / "small.npz").n == 6
    assert not (tmp_path / "other.npz").exists()
    assert not difference(good, read_graph(tmp_path / "small.npz"))
    before = (tmp_path / "small.npz").read_bytes()
    assert list(make_missing([good], tmp_path, tmp_path)) == [good]
    assert (tmp_path / "small.npz").read_bytes() == before
