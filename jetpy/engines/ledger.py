"""The seconds that a run spends."""

from __future__ import annotations

from collections import defaultdict


class Ledger:
    """Wall seconds of a run, on a back end, its host engine and their widths together.

    Attributes
    ----------
    loading : float
        Seconds spent on loading kernels at their first launches, including compilation, in all
        runs.
    stages : dict of str to float
        Seconds of each stage, without loading. A stage within another one is part of it.
    open : int
        Number of stages that have begun, but have not ended.
    """

    def __init__(self) -> None:
        self.loading = 0.0
        self.begin()

    def begin(self) -> None:
        """Begin a run."""
        self.stages: dict[str, float] = defaultdict(float)
        self.open = 0
