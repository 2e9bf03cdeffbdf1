"""Sessions keep minimum and maximum weights of parts while their graph changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.incremental.renewal import renumbered
from tests.incremental.oracle import apply, as_networkx, random_batch

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
Live = jetpy.IncrementalPartitioner


@pytest.mark.parametrize(
    "bounds",
    [
        {"lower_imbalance": 0.05},
        {"min_weights": 70, "max_weights": 130},
        {"max_weights": [200, 120, 90, 140], "min_weights": [60, 60, 60, 60]},
        {"imbalance": 0.1, "max_weights": 115},
    ],
)
def test_parts_keep_both_limits(bounds: dict[str, Any]) -> None:
    graph = jetpy.generators.grid(20, 20)
    live, rng = Live(graph, 4, **bounds, **ENGINE), random.Random(1)
    model, ids, kept = as_networkx(graph), graph.n, 0
    for _ in range(12):
        batch = random_batch(rng, model, ids, 12, 1)
        apply(model, batch, ids)
        ids += np.size(batch.insert_vertices)
        live.update(batch)
        parts = live.partition[live.vertices]
        weights = np.bincount(parts, live.graph.vertex_weights, 4).astype(np.int64)
        assert live.part_weights.tolist() == weights.tolist()
        within = (live.lower_limits <= weights) & (weights <= live.limits)
        assert live.feasible == bool(within.all())
        kept += live.feasible
        usual = jetpy.partition(live.graph, 4, **bounds, **ENGINE)
        assert live.limits.tolist() == usual.limits.tolist()
        assert live.lower_limits.tolist() == usual.lower_limits.tolist()
    assert kept == 12


def test_saved_sessions_keep_their_bounds(tmp_path: Path) -> None:
    bounds: dict[str, Any] = {"max_weights": [40, 60, 60], "min_weights": 20}
    live = Live(jetpy.generators.grid(12, 10), 3, **bounds, **ENGINE)
    live.save(tmp_path / "live.npz")
    loaded = Live.load(tmp_path / "live.npz", **ENGINE)
    for one in (live, loaded):
        one.insert_edges([(0, 119), (1, 118)])
        one.delete_vertices([50, 51, 52])
    assert loaded.limits.tolist() == [40, 60, 60]
    assert loaded.lower_limits.tolist() == [20] * 3
    assert (loaded.partition == live.partition).all()


def test_limits_that_cannot_be_kept_any_more_are_not_an_error() -> None:
    live = Live(jetpy.generators.grid(6, 5), 3, max_weights=10, **ENGINE)
    assert live.feasible
    live.insert_vertices(3)
    assert not live.feasible
    live.delete_vertices([0, 1, 2])
    assert live.feasible


def test_limits_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(jetpy.OptionError, match="the upper limits of the parts add up to 27"):
        Live(jetpy.generators.grid(6, 5), 3, max_weights=9, **ENGINE)
    with pytest.raises(jetpy.OptionError, match=r"max_weights has shape \(2,\); it must be one"):
        Live(jetpy.generators.grid(6, 5), 3, max_weights=[20, 20], **ENGINE)


def test_only_parts_of_equal_kinds_exchange_their_ids() -> None:
    before, parts = np.array([0, 0, 1, 1, 2], np.int32), np.array([1, 1, 2, 2, 0], np.int32)
    weights = np.ones(5, np.int32)
    assert renumbered(parts, before, weights, np.zeros(3, np.int64)).tolist() == before.tolist()
    apart = renumbered(parts, before, weights, np.array([0, 0, 1]))
    assert apart.tolist() == [0, 0, 2, 2, 1]
