"""The result of a mapping run."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.errors import count
from jetpy.evaluation.mapping_cost import cost_by_level
from jetpy.evaluation.notebook import facts_html
from jetpy.evaluation.rows import (
    Rows,
    changes_text,
    cost_rows,
    cut_text,
    graph_text,
    seconds_row,
)
from jetpy.lazy import cached_property
from jetpy.problem.machine import Machine
from jetpy.problem.presets import mapping_options
from jetpy.result.partition import Partition, balance_of, engine_of


@dataclass(frozen=True, eq=False)
class Mapping:
    """A mapping of tasks to the PEs of a machine.

    Attributes
    ----------
    partition : Partition
        The mapping as a partition, with all data on the run: part p is the set of tasks on PE p.
        The cut of a level is half the cost there; on coarse levels, the cost counts only the
        upper levels of the machine.
    machine : Machine
    method : {'im', 'hm', 'hm-ultra'}
    cost : int
        J, the sum over all ordered pairs of tasks of communication times distance.
    """

    partition: Partition
    machine: Machine
    method: str
    cost: int

    @property
    def pe(self) -> npt.NDArray[np.int32]:
        """PE of each task, int32, shape (n,), in 0..k - 1."""
        return self.partition.parts

    @property
    def cut(self) -> int:
        """Total weight of undirected edges between tasks on different PEs."""
        return self.partition.cut

    @cached_property
    def cost_by_level(self) -> npt.NDArray[np.int64]:
        """Cost of each level of the hierarchy, lowest first, int64, shape (levels,).

        The cost of a pair of tasks belongs to the lowest level at which their PEs share a group.
        Empty if the machine has no hierarchy.
        """
        return cost_by_level(self.partition.graph, self.pe, self.machine)

    @property
    def imbalance(self) -> float:
        """Weight of the heaviest PE / ceil(W / k) - 1; 0 for a graph without vertices."""
        return self.partition.imbalance

    @property
    def limit(self) -> int:
        """Maximum weight of a PE: ceil((1 + imbalance option) * W / k), or max_weights.

        If there are no more tasks than PEs, at least the weight of the heaviest task.
        """
        return self.partition.limit

    @property
    def feasible(self) -> bool:
        """Whether no PE exceeds `limit` or is below its lower limit."""
        return self.partition.feasible

    @property
    def empty_pes(self) -> int:
        """Number of PEs without a task."""
        return self.partition.empty_parts

    @property
    def seconds(self) -> MappingType[str, float]:
        """Wall seconds of each stage, as in `Partition.seconds`."""
        return self.partition.seconds

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else "NOT feasible"
        return f"Mapping({self.machine}, cost={self.cost}, imbalance={self.imbalance:.4f}, {state})"

    def _repr_html_(self) -> str:
        return facts_html("Mapping", [*mapping_rows(self), seconds_row(self.seconds)])


def mapping_rows(mapping: Mapping) -> Rows:
    """Describe a mapping run: graph, machine, options, cost and balance."""
    partition, method = mapping.partition, mapping.method
    changes = changes_text(partition.options, mapping_options(method))
    return [
        ("graph", graph_text(partition.graph)),
        ("machine", f"{mapping.machine}, {count(partition.k, 'PE')}"),
        ("run", f"{method}, seed {partition.seed}{changes}, {engine_of(partition)}"),
        *cost_rows(mapping.cost, mapping.cost_by_level.tolist()),
        ("cut", cut_text(mapping.cut, partition.graph)),
        *balance_of(partition, "PE"),
        ("empty PEs", f"{mapping.empty_pes:,}"),
    ]
