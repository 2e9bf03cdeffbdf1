"""Saved sessions: a loaded session continues like the original; damaged files are refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.graph.generators import delaunay, grid
from jetpy.incremental.session import is_session
from jetpy.io import limits

ENGINE = {"backend": "cpu", "threads": 1}


@pytest.fixture
def live() -> jetpy.IncrementalPartitioner:
    options = jetpy.IncrementalOptions(extra_buckets=2, max_drift=0.5)
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


def test_options_without_a_limit_are_kept(tmp_path: Path) -> None:
    live = jetpy.IncrementalPartitioner(grid(5, 5), 2, preset="igkway", **ENGINE)
    live.save(tmp_path / "live.npz")
    again = jetpy.IncrementalPartitioner.load(tmp_path / "live.npz", **ENGINE)
    assert again.options == live.options
    assert again.options.max_drift is None


@pytest.mark.parametrize("name", ["session.npz", "session.npz.xz"])
def test_loaded_session_continues_like_the_original(
    live: jetpy.IncrementalPartitioner, tmp_path: Path, name: str
) -> None:
    live.save(tmp_path / name)
    again = jetpy.IncrementalPartitioner.load(tmp_path / name, backend="cpu", threads=2)
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


def test_session_without_vertices_is_saved_and_loaded(tmp_path: Path) -> None:
    live = jetpy.IncrementalPartitioner(grid(2, 2), 3, **ENGINE)
    live.delete_vertices([0, 1, 2, 3])
    live.save(tmp_path / "empty.npz")
    again = jetpy.IncrementalPartitioner.load(tmp_path / "empty.npz", **ENGINE)
    assert again.insert_vertices(1).vertices.tolist() == [4]
    assert again.partition.tolist() == [-1, -1, -1, -1, 0]


Arrays = dict[str, Any]
Change = Callable[[Arrays], Arrays]


def changed(**arrays: Any) -> Change:
    return lambda session: {**session, **arrays}


def cast(name: str, kind: str) -> Change:
    return lambda session: {**session, name: session[name].astype(kind)}


def without(name: str) -> Change:
    return lambda session: {key: value for key, value in session.items() if key != name}


def with_setting(*path: str, value: Any) -> Change:
    """Return a change of one setting, given by its path in the nested settings."""

    def change(session: Arrays) -> Arrays:
        settings = place = json.loads(str(session["settings"]))
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return {**session, "settings": np.array(json.dumps(settings))}

    return change


def option(name: str, value: Any) -> Change:
    return with_setting("goal", "options", name, value=value)


def goal(name: str, value: Any) -> Change:
    return with_setting("goal", name, value=value)


def settings(text: str) -> Change:
    return changed(settings=np.array(text))


DAMAGE: dict[str, tuple[Change, str]] = {
    "no parts": (without("parts"), "no array 'parts'"),
    "no settings": (without("settings"), "no array 'settings'"),
    "no graph": (changed(indices=np.array([0, 1])), "indptr ends with"),
    "nothing": (lambda _: {}, "no array 'indptr'"),
    "wrong part": (changed(parts=np.full(799, 4)), "vertex 0 is in part 4"),
    "negative part": (changed(parts=np.full(799, -1)), "vertex 0 is in part -1"),
    "too few parts": (
        changed(parts=np.zeros(3, int)),
        "the part ids have shape .* one for each of 799",
    ),
    "parts that are no integers": (cast("parts", "f8"), "part ids must be integers"),
    "parts in rows": (
        changed(parts=np.zeros((799, 1), int)),
        "the part ids have shape .* one for each of 799",
    ),
    "parts as objects": (cast("parts", "O"), "jetpy does not load arrays of Python objects"),
    "ids as objects": (cast("vertices", "O"), "jetpy does not load arrays of Python objects"),
    "settings as objects": (
        changed(settings=np.array([{}])),
        "jetpy does not load arrays of Python objects",
    ),
    "wrong ids": (changed(vertices=np.zeros(799, int)), "wrong ids"),
    "negative ids": (changed(vertices=np.arange(799) - 1), "wrong ids"),
    "falling ids": (changed(vertices=np.arange(799)[::-1]), "wrong ids"),
    "too few ids": (changed(vertices=np.arange(3)), "wrong ids"),
    "ids that are no integers": (cast("vertices", "f8"), "wrong ids"),
    "ids beyond the last": (with_setting("ids", value=3), "wrong ids"),
    "a billion ids": (with_setting("ids", value=10**9), "1000000000 ids are too many for"),
    "too many ids": (with_setting("ids", value=2**31 - 1), "2147483647 ids are too many"),
    "far too many ids": (with_setting("ids", value=10**30), "wrong settings"),
    "a part of an id": (with_setting("ids", value=801.5), "wrong settings: counts"),
    "ids as text": (with_setting("ids", value="801"), "wrong settings: counts"),
    "loss without end": (with_setting("lost", value=10**12), "lost is .*; it must be at most"),
    "negative loss": (with_setting("lost", value=-1), "wrong settings: counts"),
    "loss that is no number": (with_setting("lost", value=float("nan")), "wrong settings: counts"),
    "more unrefined than unpartitioned": (
        with_setting("unrefined", value=10**6),
        "it must be at most unpartitioned",
    ),
    "negative changes": (with_setting("unpartitioned", value=-5), "wrong settings: counts"),
    "a truth of changes": (with_setting("unrefined", value=True), "wrong settings: counts"),
    "indptr that falls": (changed(indptr=np.array([0, 2, 1])), "indptr decreases"),
    "indptr that is no number": (cast("indptr", "U9"), "indptr must contain integers"),
    "indptr of a huge type": (changed(indptr=np.array([0, 2**62])), "indptr ends with"),
    "a neighbour that is none": (lambda s: {**s, "indices": s["indices"] + 799}, "is not a vertex"),
    "weights that are no numbers": (cast("edge_weights", "c16"), "must be integers"),
    "infinite weights": (changed(vertex_weights=np.full(799, np.inf)), "overflows"),
    "weights of nobody": (changed(vertex_weights=np.ones(5)), "there must be 799 of them"),
    "negative weights": (changed(vertex_weights=np.full(799, -1)), "must be integers from 0 on"),
    "one-way edges": (
        changed(indptr=np.r_[0, np.ones(799, int)], indices=[1], edge_weights=[1]),
        "is listed, but not its reverse",
    ),
    "settings no JSON": (settings("k = 4"), "wrong settings"),
    "settings empty": (settings(""), "wrong settings"),
    "settings a list": (settings("[]"), "wrong settings"),
    "settings a number": (settings("4"), "wrong settings"),
    "settings null": (settings("null"), "wrong settings"),
    "settings very deep": (settings("[" * 200_000), "wrong settings"),
    "settings a deep dictionary": (settings('{"goal":' * 100_000), "wrong settings"),
    "settings of endless digits": (settings('{"goal": ' + "9" * 5000 + "}"), "wrong settings"),
    "settings as bytes": (changed(settings=np.array(b"{}")), "not text"),
    "settings twice": (changed(settings=np.array(["{}", "{}"])), "not text"),
    "settings as numbers": (changed(settings=np.arange(3)), "not text"),
    "goal a list": (with_setting("goal", value=[]), "wrong settings"),
    "goal nothing": (with_setting("goal", value=None), "wrong settings"),
    "goal empty": (with_setting("goal", value={}), "wrong settings"),
    "k = 0": (goal("k", 0), "k is 0"),
    "k a fraction": (goal("k", 4.0), "k is 4.0"),
    "k true": (goal("k", True), "k is True"),
    "k as text": (goal("k", "4"), "k is '4'"),
    "k without end": (goal("k", 10**40), "wrong settings"),
    "fewer parts": (goal("k", 1), "parts must be in 0..0"),
    "imbalance no number": (goal("imbalance", float("nan")), "imbalance is nan"),
    "imbalance infinite": (goal("imbalance", float("inf")), "imbalance is inf"),
    "imbalance without end": (goal("imbalance", 10**400), "imbalance is 1000"),
    "imbalance negative": (goal("imbalance", -0.5), "imbalance is -0.5"),
    "imbalance nothing": (goal("imbalance", None), "imbalance is None"),
    "seed negative": (goal("seed", -1), "seed is -1"),
    "seed a fraction": (goal("seed", 0.5), "seed is 0.5"),
    "unknown preset": (goal("preset", "best"), "wrong settings"),
    "preset a list": (goal("preset", ["fast"]), "wrong settings"),
    "preset nothing": (goal("preset", None), "wrong settings"),
    "unknown coarsening": (goal("coarsening", 7), "wrong settings"),
    "refinement a dictionary": (goal("refinement", {}), "wrong settings"),
    "unknown goal": (goal("speed", 1), "wrong settings"),
    "unknown option": (option("speed", 1), "wrong settings"),
    "options a list": (goal("options", [1]), "wrong settings"),
    "negative option": (option("max_drift", -1), "max_drift is -1"),
    "option no number": (option("max_drift", float("nan")), "max_drift is nan"),
    "option infinite": (option("refine_after", float("inf")), "refine_after is inf"),
    "option without end": (option("repartition_after", 10**400), "repartition_after is 1000"),
    "option as text": (option("refine_after", "0.01"), "refine_after is '0.01'"),
    "option nothing": (option("tries", None), "tries is None"),
    "tries a fraction": (option("tries", 1.5), "tries is 1.5"),
    "no tries": (option("tries", 0), "tries is 0"),
    "buckets without end": (option("extra_buckets", 10**12), "extra_buckets is 1000000000000"),
    "a million buckets": (option("extra_buckets", 10**6), "ids are too many for"),
    "a truth of buckets": (option("extra_buckets", True), "extra_buckets is True"),
    "degree true": (option("max_degree", False), "max_degree is False"),
    "host a number": (option("on_host", 1), "on_host is 1"),
    "unknown setting": (with_setting("colour", value=1), "wrong settings"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Arrays:
    """Return the arrays of a session with 799 vertices."""
    live = jetpy.IncrementalPartitioner(delaunay(800), 4, preset="fast", **ENGINE)
    live.delete_vertices([3, 5])
    live.insert_vertices([4])
    path = tmp_path_factory.mktemp("saved") / "session.npz"
    live.save(path)
    with np.load(path) as archive:
        return dict(archive)


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_session_is_refused(saved: Arrays, tmp_path: Path, case: str) -> None:
    damage, message = DAMAGE[case]
    path = tmp_path / "session.npz"
    np.savez(path, **damage(saved))
    with pytest.raises(jetpy.FileFormatError, match=message) as caught:
        jetpy.IncrementalPartitioner.load(path, **ENGINE)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("claimed", ["(2000000000,)", "(2, 10**9)", "(-1,)", "(0, 2000000000)"])
def test_shape_in_a_header_is_not_trusted(saved: Arrays, tmp_path: Path, claimed: str) -> None:
    path = tmp_path / "session.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in saved.items():
            content = io.BytesIO()
            np.save(content, array)
            text = content.getvalue()
            if name == "parts":
                shape = b"'shape': (799,), }"
                assert shape in text
                text = text.replace(
                    shape.ljust(40), b"'shape': %s, }".replace(b"%s", claimed.encode()).ljust(40)
                )
            archive.writestr(f"{name}.npy", text)
    with pytest.raises(jetpy.FileFormatError, match=r"cannot be read|part ids"):
        jetpy.IncrementalPartitioner.load(path, **ENGINE)


def test_session_with_most_vertices_deleted_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A saved session is loaded no matter how few of its vertices remain."""
    monkeypatch.setattr(limits, "VERTICES", 10)
    live = jetpy.IncrementalPartitioner(grid(20, 20), 2, **ENGINE)
    live.delete_vertices(np.arange(397))
    live.save(tmp_path / "few.npz")
    again = jetpy.IncrementalPartitioner.load(tmp_path / "few.npz", **ENGINE)
    assert (again.partition == live.partition).all()
    with np.load(tmp_path / "few.npz") as archive:
        arrays = dict(archive)
    for present in (np.zeros(50, np.uint8), np.zeros(1, np.uint8), None):
        changes = {} if present is None else {"present": present}
        np.savez(tmp_path / "wrong.npz", **without("present")(arrays), **changes)
        with pytest.raises(jetpy.FileFormatError, match="400 ids are too many for its 3 vertices"):
            jetpy.IncrementalPartitioner.load(tmp_path / "wrong.npz", **ENGINE)


@pytest.mark.parametrize("keep", [0, 100, 2000])
def test_truncated_file_is_refused(
    live: jetpy.IncrementalPartitioner, tmp_path: Path, keep: int
) -> None:
    path = tmp_path / "session.npz"
    live.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(jetpy.FileFormatError, match="cut short"):
        jetpy.IncrementalPartitioner.load(path, **ENGINE)


@pytest.mark.parametrize("name", ["session.npz", "session", "session.npz.gz"])
def test_sessions_are_distinguished_from_other_files(
    live: jetpy.IncrementalPartitioner, tmp_path: Path, name: str
) -> None:
    live.save(tmp_path / name)
    jetpy.write_graph(tmp_path / "graph.npz", live.graph)
    assert is_session(tmp_path / name)
    assert not is_session(tmp_path / "graph.npz")
    whole = (tmp_path / name).read_bytes()
    if not name.endswith(".gz"):
        for content in (b"", b"PK", whole[: len(whole) // 2], b"PK" * 999, whole[9:]):
            (tmp_path / name).write_bytes(content)
            assert not is_session(tmp_path / name)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(jetpy.JetpyError, match="cannot be read"):
        jetpy.IncrementalPartitioner.load(tmp_path / "none.npz", **ENGINE)
