"""What nested dissection spends on a separator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Effort:
    """What is spent on the separator of a node.

    Attributes
    ----------
    tries : int
        Separators for each large node; the best one is kept.
    small_tries : int
        Separators for each small node. Never more than `tries`.
    imbalances : tuple of float
        Imbalances up to which the separators of the tries grow, in turn.
    largest_side : float
        Largest share of a node's weight on one side of its separator.
    second_side : float or None
        The same in a second dissection of the whole matrix, which is kept if it takes fewer
        operations; None for no second one.
    skew : int
        Penalty of a lopsided separator that is large (`jetpy.workloads.ordering.separators`). Its
        larger side needs another separator about as large, and so on.
    leaf_weight : int
        Nodes of at most this weight are not divided.
    growings : int
        Separators grown on the coarsest level of a try; the best one is refined.
    passes : int
        Maximum number of Fiduccia-Mattheyses passes on a level.
    step : int
        Every `step`-th level is refined, and always the finest one.
    flows : int
        Flows for each separator; passes follow each one, and one that fails is the last.
    hops : int
        Hops from a separator to the ends of the band in which a flow improves it.
    choice : bool
        Whether minimum degree or multisection replaces the dissection of a subtree where that takes
        fewer operations.
    """

    tries: int
    small_tries: int
    imbalances: tuple[float, ...]
    largest_side: float = 0.75
    second_side: float | None = None
    skew: int = 160
    leaf_weight: int = 250
    growings: int = 4
    passes: int = 3
    step: int = 2
    flows: int = 2
    hops: int = 5
    choice: bool = False

    def shares(self, tries: int) -> npt.NDArray[np.int32]:
        """Return the share of a node's weight that a side may grow to in each try, in thousandths.

        int32, shape (tries,).
        """
        own = [self.imbalances[i % len(self.imbalances)] for i in range(tries)]
        return np.array([round(500 * (1 + imbalance)) for imbalance in own], np.int32)
