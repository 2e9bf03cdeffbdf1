"""The choice among partitions with the objective of a small communication volume."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jetpy.constraints.objective import of_less_volume
from tests.graphs import path
from tests.refinement.oracle import problem_of

PARTS = {
    "halves": [0, 0, 0, 1, 1, 1],
    "halves of other names": [1, 1, 1, 0, 0, 0],
    "in turns": [0, 1, 0, 1, 0, 1],
    "one above": [0, 0, 0, 0, 1, 1],
    "three above": [0, 0, 0, 0, 0, 0],
}


@pytest.mark.parametrize(
    ("names", "best"),
    [
        (["in turns", "halves"], "halves"),
        (["halves", "in turns"], "halves"),
        (["three above", "in turns"], "in turns"),
        (["three above", "one above"], "one above"),
        (["halves of other names", "halves"], "halves of other names"),
    ],
)
def test_least_overload_precedes_least_volume(names: list[str], best: str) -> None:
    """Of equal partitions, the first is chosen."""
    graph = path(6)
    found: list[Any] = [SimpleNamespace(parts=np.array(PARTS[name], np.int32)) for name in names]
    chosen = of_less_volume(graph, problem_of(graph, 2, limit=3), found)
    assert chosen.parts.tolist() == PARTS[best]
