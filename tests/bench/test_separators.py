"""`bench.separators`: means over METIS, and separators of each tool that is here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
from bench.child import Unavailable
from bench.separators import BASELINE, TOOLS, mean_rows, measured

OPTIONS = {"imbalance": 0.2, "seeds": 2, "threads": 1, "libraries": []}


def record(graph: str, tool: str, weights: list[int], heavier: list[int], **about: Any) -> Any:
    common = {"graph": graph, "tool": tool, "n": 99, "imbalance": 0.2, "threads": 1}
    seconds = [2.0 if tool == BASELINE else 1.0] * len(weights)
    return {**common, "weights": weights, "heavier": heavier, "seconds": seconds, **about}


def test_rows_of_means() -> None:
    records = [
        record("uk", BASELINE, [1, 7], [50, 61]),
        record("add20", BASELINE, [0, 0], [50, 60]),
        record("uk", "jetpy/fast", [3, 3], [60, 60]),
        record("add20", "jetpy/fast", [3, 3], [70, 61]),
        record("uk", "jetpy/fast", [90, 90], [60, 60], imbalance=0.5),
        record("uk", "jetpy/fast", [90, 90], [60, 60], threads=2),
        record("other", "jetpy/fast", [90, 90], [60, 60]),
    ]
    assert mean_rows(records, 0.2, 1) == [
        [BASELINE, "2", "1.000", "1.000 add20", "1", "1.000"],
        ["jetpy/fast", "2", "2.000", "4.000 add20", "2", "0.500"],
    ]
    assert mean_rows(records[2:], 0.5, 1) == [["jetpy/fast", "0", "-", "-", "0", "-"]]


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_separate_a_grid(tool: str) -> None:
    graph = jetpy.generators.grid(20, 30)
    try:
        found = measured(graph, tool, OPTIONS)
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert found["weights"] == pytest.approx([20, 20], abs=3)
    assert max(found["heavier"]) <= 360
    labels, _ = TOOLS[tool](graph, OPTIONS)(0)
    ends = labels[graph.sources(0, graph.n)], labels[graph.indices]
    assert not np.any((ends[0] == 0) & (ends[1] == 1))
