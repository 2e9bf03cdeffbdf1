"""The coarsening of a level by its density."""

from __future__ import annotations

import pytest

from jetpy.coarsening import methods
from jetpy.coarsening.methods import COARSENINGS, coarsening_of
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.problem.options import CoarsenOptions
from tests.graphs import clique

DENSE = clique(65)  # 64 directed edges per vertex


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (CoarsenOptions(), "constrained"),
        (CoarsenOptions(dense=64), "constrained"),
        (CoarsenOptions(dense=65), "two-hop"),
        (CoarsenOptions(dense=None), "two-hop"),
        (CoarsenOptions(method="union-find"), "union-find"),
    ],
)
def test_dense_levels_are_coarsened_by_subsets(
    backend: Backend, options: CoarsenOptions, method: str
) -> None:
    assert coarsening_of(upload(backend, DENSE), options) is COARSENINGS[method]


def test_very_large_levels_do_not_count_as_dense(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    level, size = upload(backend, DENSE), DENSE.n + 2 * DENSE.m
    monkeypatch.setattr(methods, "MAX_DENSE", size)
    assert coarsening_of(level, CoarsenOptions()) is COARSENINGS["constrained"]
    monkeypatch.setattr(methods, "MAX_DENSE", size - 1)
    assert coarsening_of(level, CoarsenOptions()) is COARSENINGS["two-hop"]
