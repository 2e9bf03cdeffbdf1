"""Constraints of an ordering: rows that come last, and groups of rows that stay together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jetpy.errors import OptionError
from jetpy.graph.checks import as_numbers, flag
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.dlpack import is_array, on_host
from jetpy.graph.levels import contract
from jetpy.ordering.compression import Mask, contracted, expanded
from jetpy.problem.together import NO_GROUP, Groups, check_together
from jetpy.result.separator_tree import SeparatorTree


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints of the order of the rows of a matrix.

    Attributes
    ----------
    last : int32, shape (number of last rows,)
        Rows that come after all others.
    keeps_order : bool
        Whether the last rows keep the order in which `last` has them.
    groups : Groups or None
        Groups of rows that are consecutive in the order.
    """

    last: IntArray
    keeps_order: bool
    groups: Groups | None

    def reduce(self, graph: Graph) -> tuple[Graph, Mask]:
        """Return the graph in which each group is a vertex, and whether each comes last.

        The edges weigh 1.
        """
        is_last = np.zeros(graph.n, bool)
        is_last[self.last] = True
        if self.groups is None:
            return graph, is_last
        grouped = contract(graph, self.groups.coarse_of, self.groups.n, graph.name)
        ones = np.ones(len(grouped.indices), np.int32)
        return replace(grouped, edge_weights=ones), is_last[self.groups.firsts]

    def reduce_order(self, order: IntArray) -> IntArray:
        """Return the vertices of the reduced graph in the order of their first rows, int32."""
        return order if self.groups is None else contracted(order, self.groups.coarse_of)

    def expand(self, order: IntArray, tree: SeparatorTree) -> tuple[IntArray, SeparatorTree]:
        """Return the order of the rows and their tree, given those of the reduced graph."""
        if self.groups is not None:
            tree = tree.weighted(np.bincount(self.groups.coarse_of)[order])
            order = expanded(order, self.groups.coarse_of)
        if self.keeps_order:
            order = np.concatenate((order[: len(order) - len(self.last)], self.last))
        return order, tree

    def shrink(self, order: IntArray, tree: SeparatorTree) -> tuple[IntArray, SeparatorTree]:
        """Return the order of the reduced graph and its tree, given those of the rows."""
        if self.groups is None:
            return order, tree
        groups = self.groups.coarse_of[order]
        is_begin = np.append(True, groups[1:] != groups[:-1])[: len(groups)]
        before = np.append(0, np.cumsum(is_begin, dtype=np.int32))
        return groups[is_begin], SeparatorTree(tree.parents, before[tree.starts])

    def extended(self, n: int) -> Constraints:
        """Return the same constraints for n rows; those at the end are new and free."""
        if self.groups is None:
            return self
        names = np.full(n, NO_GROUP, np.int64)
        names[: len(self.groups.names)] = self.groups.names
        return replace(self, groups=check_together(names, n))


def checked_constraints(last: Any, keep_last_order: bool, together: Any, n: int) -> Constraints:
    """Return the constraints of the order of n rows.

    Raises
    ------
    OptionError
        If `last` is not a list of different rows, `together` does not have an integer from -1 on
        for each row, or a group has rows in `last` and others.
    """
    keeps_order = flag("keep_last_order", keep_last_order)
    rows = np.empty(0, np.int32) if last is None else _checked_rows(last, n)
    groups = check_together(together, n)
    if groups is not None:
        _check_groups(groups, rows, keeps_order)
    return Constraints(rows, keeps_order, groups)


def rows_of(last: Any) -> IntArray:
    """Return a list of rows as an array of any integer type."""
    rows = on_host(last if is_array(last) else as_numbers(last, "last"))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise OptionError(
            f"last has shape {rows.shape} and type {rows.dtype}; it must be a list of rows"
        )
    return rows


def _checked_rows(last: Any, n: int) -> IntArray:
    """Return different rows of n as int32."""
    rows = rows_of(last)
    outside = np.flatnonzero((rows < 0) | (rows >= n))
    if outside.size:
        i = int(outside[0])
        raise OptionError(f"last[{i}] is row {rows[i]}, but must be in 0..{n - 1}")
    times = np.bincount(rows.astype(np.int64), minlength=n)
    if n and times.max() > 1:
        raise OptionError(f"last has row {int(times.argmax())} twice; it must have each row once")
    return rows.astype(np.int32)


def _check_groups(groups: Groups, last: IntArray, keeps_order: bool) -> None:
    """Refuse groups that are only partly in `last`, or not consecutive there if it is kept."""
    place = np.full(len(groups.coarse_of), -1)
    place[last] = np.arange(len(last))
    first = groups.firsts[groups.coarse_of]
    crossing = (place < 0) != (place[first] < 0)
    if crossing.any():
        row = int(crossing.argmax())
        inside, outside = (row, first[row]) if place[row] >= 0 else (first[row], row)
        raise OptionError(
            f"group {groups.names[row]} of together has row {inside}, which is in last, and row "
            f"{outside}, which is not; put all of its rows in last, or none"
        )
    of_last = groups.coarse_of[last]
    is_begin = np.append(True, of_last[1:] != of_last[:-1])[: len(last)]
    begins = of_last[is_begin]
    if keeps_order and len(np.unique(begins)) < len(begins):
        _, firsts = np.unique(begins, return_index=True)
        again = np.delete(np.arange(len(begins)), firsts)[0]
        row = int(last[is_begin][again])
        raise OptionError(
            f"last has other rows between row {row} and the row of group {groups.names[row]} of "
            "together before it; put the rows of the group one after the other"
        )
