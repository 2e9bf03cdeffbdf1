"""Runs of tasks whose memory fits a limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


def batches(costs: npt.NDArray[np.int64], limit: int) -> Iterator[slice]:
    """Yield runs of tasks that cost at most `limit` together, or that are one task."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = int(ends[start] - costs[start])
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop
