"""Sessions: what is loaded goes on as what was saved; damaged files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.generators import delaunay, grid

ENGINE = {"backend": "numba", "threads": 1}


@pytest.fixture
def live() -> jetpy.IncrementalPartitioner:
    options = jetpy.IncrementalOptions(extra_buckets=2, most_drift=0.5)
    live = jetpy.IncrementalPartitioner(
        delaunay(800),
        4,
        imbalance=0.1,
        seed=7,
        preset="fast",
        coarsening="constrained",
        options=options,
        **ENGINE,
    )
    live.delete_vertices([3, 5, 799])
    live.insert_vertices([4, 2])
    return live


@pytest.mark.parametrize("name", ["session.npz", "session.npz.xz"])
def test_goes_on_as_if_never_saved(
    live: jetpy.IncrementalPartitioner, tmp_path: Path, name: str
) -> None:
    live.save(tmp_path / name)
    again = jetpy.IncrementalPartitioner.load(tmp_path / name, backend="numba", threads=2)
    assert (again.k, again.preset, again.options) == (live.k, live.preset, live.options)
    for step in range(4):
        for each in (live, again):
            ids = each.vertices
            new = each.insert_vertices(10).vertices
            each.insert_edges(np.stack([new.repeat(4), ids[40 * step : 40 * step + 40]], axis=1))
            each.delete_vertices(ids[100 * step : 100 * step + 5])
        assert (again.partition == live.partition).all()
        assert (again.n, again.m, again.cut) == (live.n, live.m, live.cut)
        assert (again.limit, again.feasible) == (live.limit, live.feasible)


def test_a_session_without_a_vertex(tmp_path: Path) -> None:
    live = jetpy.IncrementalPartitioner(grid(2, 2), 3, **ENGINE)
    live.delete_vertices([0, 1, 2, 3])
    live.save(tmp_path / "empty.npz")
    again = jetpy.IncrementalPartitioner.load(tmp_path / "empty.npz", **ENGINE)
    assert again.insert_vertices(1).vertices.tolist() == [4]
    assert again.partition.tolist() == [-1, -1, -1, -1, 0]


def changed(**arrays: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda session: {**session, **arrays}


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda session: {key: value for key, value in session.items() if key != name}


def with_setting(name: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(session: dict[str, Any]) -> dict[str, Any]:
        settings = json.loads(str(session["settings"]))
        (settings["goal"] if name in settings["goal"] else settings)[name] = value
        return {**session, "settings": np.array(json.dumps(settings))}

    return change


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "no parts": (without("parts"), "no array 'parts'"),
    "no settings": (without("settings"), "no array 'settings'"),
    "wrong part": (changed(parts=np.full(799, 4)), "vertex 0 is in part 4"),
    "too few parts": (changed(parts=np.zeros(3, int)), "799 part ids"),
    "wrong ids": (changed(vertices=np.zeros(799, int)), "wrong ids"),
    "too few ids": (changed(vertices=np.arange(3)), "wrong ids"),
    "ids beyond the last": (with_setting("ids", 3), "wrong ids"),
    "settings no JSON": (changed(settings=np.array("k = 4")), "wrong settings"),
    "k = 0": (with_setting("k", 0), "wrong settings"),
    "unknown preset": (with_setting("preset", "best"), "wrong settings"),
    "unknown coarsening": (with_setting("coarsening", 7), "wrong settings"),
    "unknown option": (with_setting("options", {"speed": 1}), "wrong settings"),
    "negative option": (with_setting("options", {"most_drift": -1}), "wrong settings"),
    "unknown setting": (with_setting("colour", 1), "wrong settings"),
    "no graph": (changed(indices=np.array([0, 1])), "indptr ends with"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_refuses_damage(live: jetpy.IncrementalPartitioner, tmp_path: Path, case: str) -> None:
    damage, message = DAMAGE[case]
    path = tmp_path / "session.npz"
    live.save(path)
    with np.load(path) as archive:
        arrays = damage(dict(archive))
    np.savez(path, **arrays)
    with pytest.raises(jetpy.FileFormatError, match=message) as caught:
        jetpy.IncrementalPartitioner.load(path, **ENGINE)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("keep", [0, 100, 2000])
def test_refuses_files_cut_short(
    live: jetpy.IncrementalPartitioner, tmp_path: Path, keep: int
) -> None:
    path = tmp_path / "session.npz"
    live.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(jetpy.FileFormatError, match="cut short"):
        jetpy.IncrementalPartitioner.load(path, **ENGINE)


def test_tells_that_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(jetpy.JetpyError, match="cannot be read"):
        jetpy.IncrementalPartitioner.load(tmp_path / "none.npz", **ENGINE)
