"""Orderings in files: what comes back, and damaged files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy import generators
from jetpy.errors import FileFormatError, JetpyError, MissingFileError, OptionError
from tests.ordering.changes import changed
from tests.ordering.constraints import LAST, TOGETHER, any_constraints

GRID = generators.grid(25, 20)
LARGE = 2**31 - 1


def settings_of(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        found: dict[str, Any] = json.loads(str(arrays["settings"]))
    return found


@pytest.mark.parametrize("method", [jetpy.order, jetpy.nested_dissection])
@pytest.mark.parametrize("together", TOGETHER)
@pytest.mark.parametrize("last", LAST)
def test_an_ordering_from_a_file_is_updated_alike(
    tmp_path: Path, last: str, together: str, method: Callable[..., jetpy.Ordering]
) -> None:
    rng = np.random.default_rng(1)
    graph = generators.delaunay(700, seed=2)
    given = any_constraints(rng, graph.n, last, together)
    old = method(graph, preset="fast", seed=4, threads=1, **given)
    for _ in range(2):
        old.save_session(tmp_path / "order.npz")
        read = jetpy.read_ordering(tmp_path / "order.npz")
        assert np.array_equal(read.perm, old.perm)
        assert read.tree is not None
        assert old.tree is not None
        assert np.array_equal(read.tree.parents, old.tree.parents)
        assert np.array_equal(read.tree.starts, old.tree.starts)
        assert (read.fill, read.method) == (old.fill, old.method)
        graph = changed(rng, graph, 5, 5, 3)
        new, expected = read.updated(graph, threads=1), old.updated(graph, threads=1)
        assert np.array_equal(new.perm, expected.perm)
        assert new.update == expected.update
        old = expected


def test_options_are_kept(tmp_path: Path) -> None:
    path, options = tmp_path / "order.npz.gz", {"tries": 3, "leaf_size": 40, "largest_side": 0.6}
    imbalances = (np.float64(0.2), 0.4)
    old = jetpy.nested_dissection(GRID, preset="best", imbalances=imbalances, seed=7, **options)
    old.save_session(path)
    read: Any = jetpy.read_ordering(path)
    expected: Any = old
    assert read.origin.effort == expected.origin.effort
    assert read.origin.seed == 7


def test_settings(tmp_path: Path) -> None:
    path = tmp_path / "order.npz"
    jetpy.nested_dissection(GRID, tries=np.int64(2)).save_session(path)
    options = {"preset": "default", "tries": 2}
    expected = {"method": "nested_dissection", "options": options, "seed": 0}
    assert settings_of(path) == {**expected, "keep_last_order": False}


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows(tmp_path: Path, n: int) -> None:
    jetpy.order(sp.csr_array(np.ones((n, n)))).save_session(tmp_path / "order.npz")
    read = jetpy.read_ordering(tmp_path / "order.npz")
    assert read.updated(sp.csr_array(np.ones((3, 3)))).n == 3


def test_an_ordering_without_a_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="minimum_degree has no separator tree"):
        jetpy.minimum_degree(GRID).save_session(tmp_path / "order.npz")


DAMAGED: dict[str, tuple[dict[str, Any], str]] = {
    "entries": ({"indices": np.arange(1900)}, "damaged"),
    "one way": ({"indptr": [0, 1, 1], "indices": [1]}, "damaged"),
    "a row twice": ({"perm": np.zeros(500, int)}, "row 0 occurs twice"),
    "few rows": ({"perm": np.arange(499)}, "perm has shape"),
    "parents": ({"parents": np.zeros(5, int), "starts": [0, 1, 2, 3, 4, 500]}, "not a tree"),
    "large parents": ({"parents": [LARGE], "starts": [0, 500]}, "not a tree"),
    "starts": ({"parents": [-1], "starts": [0, 600]}, "not a tree"),
    "decreasing starts": ({"parents": [1, -1], "starts": [0, 600, 500]}, "not a tree"),
    "shapes": ({"parents": [[-1]], "starts": [0, 500]}, "parents"),
    "no starts": ({"parents": [], "starts": []}, "starts"),
    "postorder": ({"parents": [2, 3, 3, -1], "starts": [0, 1, 2, 3, 500]}, "postorder"),
    "no tree of it": ({"parents": [-1, -1], "starts": [0, 250, 500]}, "joins two subtrees"),
    "last": ({"last": [int(1e6)]}, "row 1000000"),
    "other last": ({"last": [0, 1]}, "breaks the constraints"),
    "together": ({"together": np.arange(500) % 2}, "breaks the constraints"),
    "few groups": ({"together": [0, 0]}, "damaged"),
    "numbers": ({"settings": 3}, "settings are not text"),
    "no JSON": ({"settings": "{"}, "damaged"),
    "a list": ({"settings": "[]"}, "damaged"),
}
SETTINGS: dict[str, Any] = {
    "method": "minimum_degree",
    "seed": "one",
    "keep_last_order": 2,
    "options": {"preset": "default", "growings": 10**9},
}


def rewritten(path: Path, arrays: dict[str, Any]) -> None:
    with np.load(path) as old:
        np.savez(path, **{**old, **{name: np.array(value) for name, value in arrays.items()}})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "order.npz"
    jetpy.nested_dissection(GRID).save_session(path)
    return path


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused(saved: Path, name: str) -> None:
    arrays, message = DAMAGED[name]
    rewritten(saved, arrays)
    with pytest.raises(FileFormatError, match=f"order.npz: .*{message}"):
        jetpy.read_ordering(saved)


@pytest.mark.parametrize("name", SETTINGS)
def test_wrong_settings_are_refused(saved: Path, name: str) -> None:
    settings = settings_of(saved)
    for wrong in (
        {**settings, name: SETTINGS[name]},
        {k: v for k, v in settings.items() if k != name},
    ):
        rewritten(saved, {"settings": json.dumps(wrong)})
        with pytest.raises(FileFormatError, match="ordering is damaged"):
            jetpy.read_ordering(saved)


def test_other_files_are_refused(tmp_path: Path, saved: Path) -> None:
    np.savez(tmp_path / "other.npz", perm=np.arange(3))
    with pytest.raises(FileFormatError, match="it has no array 'indptr'"):
        jetpy.read_ordering(tmp_path / "other.npz")
    (tmp_path / "cut.npz").write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(JetpyError, match=r"cut\.npz"):
        jetpy.read_ordering(tmp_path / "cut.npz")
    with pytest.raises(MissingFileError):
        jetpy.read_ordering(tmp_path / "none.npz")
