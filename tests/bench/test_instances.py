"""The graphs that the programs in `bench` find in folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import jetpy
from bench import harness
from bench.instances import Instance, selected


def found(*words: str) -> list[Instance]:
    return selected(harness.parser("example", None, {}, graphs=True).parse_args(words))


def test_folder_without_manifest_lists_all_graph_files(tmp_path: Path) -> None:
    for rows, name in ((3, "a.graph"), (4, "b.npz"), (5, "c.graph.xz")):
        jetpy.write_graph(tmp_path / name, jetpy.generators.grid(rows, 2))
    (tmp_path / "README.md").write_text("No graph.")
    (tmp_path / "a.graph").write_text("% a comment\n" + (tmp_path / "a.graph").read_text())
    listed = found("--graphs", str(tmp_path))
    assert [(own.name, own.n, own.load().n) for own in listed] == [
        ("a", 6, 6), ("b", 8, 8), ("c", 10, 10)
    ]  # fmt: skip
    assert [own.name for own in found("--graphs", str(tmp_path), "--only", "c")] == ["c"]
    sizes = ("--min-n", "7", "--max-n", "8")
    assert [own.name for own in found("--graphs", str(tmp_path), *sizes)] == ["b"]


def test_manifest_selects_the_graphs(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        jetpy.write_graph(tmp_path / name, jetpy.generators.grid(3, 3))
    (tmp_path / "MANIFEST.csv").write_text("name,n,class\nb,9,mesh / FEM\n")
    [only] = found("--graphs", str(tmp_path))
    assert (only.name, only.cls, only.n) == ("b", "mesh", 9)


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nowhere is not a folder"):
        found("--graphs", str(tmp_path / "nowhere"))
