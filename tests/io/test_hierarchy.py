"""Hierarchies in files: what is saved is read, and damage is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.errors import FileFormatError, JetpyError, MissingFileError
from tests.graphs import from_edges, isolated

CPU: dict[str, Any] = {"backend": "cpu", "threads": 2}
Arrays = dict[str, Any]
Change = Callable[[Arrays], Arrays]


def made(**options: Any) -> jetpy.Hierarchy:
    graph = jetpy.generators.delaunay(3000, seed=2)
    weights = 1 + np.arange(3000) % 5
    return jetpy.coarsen(graph, 4, vertex_weights=weights, **options, **CPU)


@pytest.mark.parametrize("name", ["levels.npz", "levels", "levels.npz.gz"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preset": "jet", "seed": 5, "imbalance": 0.1},
        {"options": {"refine.finest_ratios": (75, 25), "initial.max_entries": None}},
        {"options": jetpy.Options(branches=(), cycles=0)},
    ],
    ids=str,
)
def test_reads_what_was_saved(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    hierarchy = made(**options)
    hierarchy.save(tmp_path / name)
    found = jetpy.read_hierarchy(tmp_path / name)
    for attribute in ("k", "imbalance", "seed", "preset", "options"):
        assert getattr(found, attribute) == getattr(hierarchy, attribute)
    for one, two in zip(found.levels, hierarchy.levels, strict=True):
        assert one.graph.name == two.graph.name
        for array in ("indptr", "indices", "edge_weights", "vertex_weights"):
            first, second = getattr(one.graph, array), getattr(two.graph, array)
            assert first.dtype == second.dtype
            assert np.array_equal(first, second)
        assert np.array_equal(one.coarse_of, two.coarse_of)
    assert np.array_equal(found.graph.coordinates, hierarchy.graph.coordinates)
    assert np.array_equal(found.partition(**CPU).parts, hierarchy.partition(**CPU).parts)


@pytest.mark.parametrize("graph", [isolated(0), isolated(3), from_edges(2, [(0, 1)])], ids=str)
def test_small_ones(tmp_path: Path, graph: jetpy.Graph) -> None:
    jetpy.Hierarchy(graph, []).save(tmp_path / "small.npz")
    found = jetpy.read_hierarchy(tmp_path / "small.npz")
    assert found.k is None
    assert [level.n for level in found.levels] == [graph.n]


def changed(**arrays: Any) -> Change:
    return lambda saved: {**saved, **arrays}


def without(name: str) -> Change:
    return lambda saved: {key: value for key, value in saved.items() if key != name}


def plus(name: str, position: int, difference: int) -> Change:
    """Change one entry."""

    def change(saved: Arrays) -> Arrays:
        array = saved[name].copy()
        array[position] += difference
        return {**saved, name: array}

    return change


def setting(*path: str, value: Any) -> Change:
    def change(saved: Arrays) -> Arrays:
        settings = place = json.loads(str(saved["settings"]))
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return {**saved, "settings": np.array(json.dumps(settings))}

    return change


def text(settings: str) -> Change:
    return changed(settings=np.array(settings))


DAMAGE: dict[str, tuple[Change, str]] = {
    "nothing": (lambda _: {}, "not a hierarchy: it has no array 'indptr_0'"),
    "no settings": (without("settings"), "not a hierarchy: it has no array 'settings'"),
    "no weights": (without("vertex_weights_1"), "damaged: it has no array 'vertex_weights_1'"),
    "no map": (without("coarse_of_0"), "damaged: it has no array 'coarse_of_0'"),
    "no level 1": (without("indptr_1"), "damaged: it has no array 'indptr_1'"),
    "no levels": (setting("levels", value=0), "levels is 0"),
    "levels as text": (setting("levels", value="3"), "levels is '3'"),
    "a billion levels": (setting("levels", value=10**9), "damaged: it has no array 'indptr_"),
    "finest weight": (plus("vertex_weights_0", 0, 1), "level 1: vertex 0 weighs"),
    "negative weight": (plus("vertex_weights_0", 0, -9), "must be integers from 0 on"),
    "one direction": (plus("edge_weights_0", 0, 1), "but its reverse"),
    "coarse weight": (plus("vertex_weights_1", 2, 1), "level 1: vertex 2 weighs"),
    "coarse edge": (plus("edge_weights_1", 0, 1), r"level 1: edge \(0, \d+\) weighs"),
    "coarse neighbour": (plus("indices_1", 0, 10**6), "level 1: neighbour of vertex 0: .* not a v"),
    "coarse offsets": (plus("indptr_1", 1, 10**6), "indptr decreases at vertex 1"),
    "short coarse weights": (changed(edge_weights_1=[1]), "level 1: there are 1 weights; there mu"),
    "floating weights": (changed(vertex_weights_1=np.ones(3)), "weights must contain integers"),
    "map": (plus("coarse_of_0", 0, 10**6), r"maps\[0\] maps vertex 0 to"),
    "negative map": (plus("coarse_of_0", 0, -(10**6)), r"maps\[0\] maps vertex 0 to"),
    "map of nothing": (changed(coarse_of_0=np.zeros(3000, int)), "no vertex to coarse vertex 1"),
    "short map": (changed(coarse_of_0=[0]), r"maps\[0\] has shape \(1,\)"),
    "objects": (changed(coarse_of_0=np.array([None])), "does not load arrays of Python objects"),
    "coordinates": (changed(coordinates=np.ones((2, 2))), "coordinates"),
    "no JSON": (text("k = 4"), "wrong settings"),
    "empty": (text(""), "wrong settings"),
    "a list": (text("[]"), "wrong settings"),
    "very deep": (text("[" * 200_000), "wrong settings"),
    "bytes": (changed(settings=np.array(b"{}")), "not text"),
    "k = 0": (setting("k", value=0), "k is 0"),
    "k = 1.5": (setting("k", value=1.5), "k is 1.5"),
    "k as text": (setting("k", value="4"), "k is '4'"),
    "imbalance": (setting("imbalance", value=-1), "imbalance is -1"),
    "no imbalance": (setting("imbalance", value=None), "imbalance is None"),
    "seed": (setting("seed", value=-1), "seed is -1"),
    "preset": (setting("preset", value="best"), "unknown preset"),
    "preset of a list": (setting("preset", value=[]), "unknown preset"),
    "name": (setting("name", value=3), "name of the graph is not text"),
    "unknown setting": (setting("speed", value=3), "wrong settings"),
    "unknown option": (setting("options", "speed", value=3), "another version"),
    "options": (setting("options", value=3), "wrong settings"),
    "option": (setting("options", "refine.patience", value=0), "patience is 0"),
    "ratios": (setting("options", "refine.finest_ratios", value=[101]), "an integer in 0..100"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Arrays:
    path = tmp_path_factory.mktemp("saved") / "levels.npz"
    made().save(path)
    with np.load(path) as archive:
        return dict(archive)


@pytest.mark.parametrize("case", DAMAGE)
def test_refuses_damage(saved: Arrays, tmp_path: Path, case: str) -> None:
    damage, message = DAMAGE[case]
    path = tmp_path / "levels.npz"
    np.savez(path, **damage(saved))
    with pytest.raises(FileFormatError, match=message) as caught:
        jetpy.read_hierarchy(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 400


def test_wider_arrays_are_read(saved: Arrays, tmp_path: Path) -> None:
    wide = {name: a if a.dtype.kind == "U" else a.astype("i8") for name, a in saved.items()}
    np.savez(tmp_path / "wide.npz", **wide | {"coordinates": saved["coordinates"]})
    for level in jetpy.read_hierarchy(tmp_path / "wide.npz").levels:
        arrays = [level.graph.indptr, level.graph.indices, level.graph.edge_weights]
        assert {array.dtype.name for array in [*arrays, level.vertex_weights]} == {"int32"}


@pytest.mark.parametrize("keep", [0, 100, 2000])
def test_refuses_files_cut_short(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "levels.npz"
    made().save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FileFormatError, match="not a hierarchy, or it is cut short"):
        jetpy.read_hierarchy(path)


def test_other_files(tmp_path: Path) -> None:
    jetpy.write_graph(tmp_path / "graph.npz", jetpy.generators.grid(3, 3))
    with pytest.raises(FileFormatError, match="this is not a hierarchy: it has no array"):
        jetpy.read_hierarchy(tmp_path / "graph.npz")
    with pytest.raises(MissingFileError):
        jetpy.read_hierarchy(tmp_path / "none.npz")
    with pytest.raises(JetpyError, match="cannot be written"):
        made().save(tmp_path / "none" / "levels.npz")


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "levels.npz"
    made().save(path)
    before = path.read_bytes()

    def refuse(source: Any, target: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(JetpyError, match="the disk is full"):
        made(seed=3).save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["levels.npz"]
