"""Machines: processing elements (PEs) and the distances between them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX
from jetpy.lazy import cached_property
from jetpy.problem.problem import MAX_PARTS, Metric

MAX_PES_IN_MATRIX = 1024
"""With more PEs, kernels compute distances from the hierarchy (if any) instead of a matrix."""

Levels = str | Sequence[int]
"""One integer per level, lowest level first: text such as ``4:8:6``, or a sequence."""


@dataclass(frozen=True, eq=False)
class Machine:
    """PEs 0..k - 1 and the distances between them.

    Attributes
    ----------
    hierarchy : tuple of int
        a_1, ..., a_l: a_1 PEs per processor, a_2 processors per node and so on, numbered in this
        order; empty if the machine has no hierarchy.
    distances : tuple of int
        d_1, ..., d_l: distance between two PEs whose lowest common group is of that level; empty
        if there is a matrix.
    matrix : int32, shape (k, k), or None
        Distance of each pair of PEs; None if the hierarchy defines the distances.
    """

    hierarchy: tuple[int, ...]
    distances: tuple[int, ...]
    matrix: npt.NDArray[np.int32] | None = None

    @property
    def k(self) -> int:
        """Number of PEs."""
        return len(self.matrix) if self.matrix is not None else math.prod(self.hierarchy)

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """Number of PEs in a group of each level: a_1, a_1 a_2, ..., k."""
        return tuple(math.prod(self.hierarchy[: i + 1]) for i in range(len(self.hierarchy)))

    @property
    def is_monotone(self) -> bool:
        """Whether distances do not decrease from lower to higher levels."""
        return list(self.distances) == sorted(self.distances)

    @property
    def _occurring(self) -> list[int]:
        """Distances of the levels with more than one group."""
        levels = zip(self.hierarchy, self.distances, strict=True)
        return [distance for size, distance in levels if size > 1]

    @property
    def is_uniform(self) -> bool:
        """Whether all pairs of PEs have the same distance, so the cost is a multiple of the cut."""
        if self.matrix is None:
            return len(set(self._occurring)) <= 1
        return len(np.unique(self.matrix[~np.eye(self.k, dtype=bool)])) <= 1

    def upper_levels(self) -> list[Machine]:
        """Return the machines of the highest level, of the two highest levels, and so on.

        Each group of the omitted levels becomes one PE; in a matrix, the first PE of a group
        represents it. The whole machine and levels of one group are not included.
        """
        machines: list[Machine] = []
        for level in range(len(self.hierarchy) - 1, 0, -1):
            if self.hierarchy[level] == 1:
                continue
            groups = self.group_sizes[level - 1]
            matrix = None if self.matrix is None else self.matrix[::groups, ::groups]
            machines.append(Machine(self.hierarchy[level:], self.distances[level:], matrix))
        return [machine for machine in machines if machine.k < self.k]

    @cached_property
    def metric(self) -> Metric:
        """The distances in the form that kernels read."""
        if self.matrix is not None:
            factor = max(int(np.gcd.reduce(self.matrix, axis=None)), 1)
            return Metric(1, self.matrix.ravel() // np.int32(factor), factor)
        factor = max(math.gcd(*self._occurring), 1)
        reduced = [distance // factor for distance in self.distances]
        pairs = [n for pair in zip(self.group_sizes, reduced, strict=True) for n in pair]
        by_level = Metric(2, np.array(pairs, np.int32))
        if self.k > MAX_PES_IN_MATRIX:
            return replace(by_level, factor=factor)
        p, q = np.divmod(np.arange(self.k**2, dtype=np.int32), np.int32(self.k))
        return Metric(1, by_level.between(p, q, self.k), factor)

    def levels_between(
        self, p: npt.NDArray[np.int32], q: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int64]:
        """Return the level (from 0) of the lowest common group of each pair of PEs, int64.

        The two PEs of a pair must differ.
        """
        levels = np.zeros(len(p), np.int64)
        for size in self.group_sizes[:-1]:
            levels += p // size != q // size
        return levels

    def __str__(self) -> str:
        if not self.hierarchy:
            return "no hierarchy, distances a matrix"
        distances = "a matrix" if self.matrix is not None else ":".join(map(str, self.distances))
        return f"{':'.join(map(str, self.hierarchy))}, distances {distances}"


def machine(hierarchy: Levels | None, distances: Levels | npt.ArrayLike) -> Machine:
    """Make a machine from a hierarchy and distances by level, or from a distance matrix.

    Raises
    ------
    OptionError
        If the numbers of levels disagree, a number is out of range, or the matrix is not square,
        not symmetric, not 0 on its diagonal, or of another size than the hierarchy.
    """
    levels = () if hierarchy is None else _numbers("hierarchy", hierarchy, 1)
    if math.prod(levels) >= MAX_PARTS:
        raise OptionError(
            f"the hierarchy has {math.prod(levels)} PEs; it may have at most {MAX_PARTS - 1}"
        )
    if _is_matrix(distances):
        return Machine(levels, (), _matrix(distances, math.prod(levels) if levels else None))
    if not levels:
        raise OptionError(
            "distances of levels need a hierarchy; give one, or a k x k matrix of distances"
        )
    given = _numbers("distances", distances, 0)
    if len(given) != len(levels):
        raise OptionError(
            f"the numbers of levels differ: {len(levels)} in the hierarchy, {len(given)} in the "
            "distances; give one distance for each level"
        )
    return Machine(levels, given)


def described(
    hierarchy: Levels | None, distances: Levels | npt.ArrayLike | None, k: int | None = None
) -> Machine | None:
    """Return the machine of these arguments after checking that it has `k` PEs; None without any.

    Raises
    ------
    OptionError
        Under the conditions of `machine`; also if there is a hierarchy without distances, or the
        number of PEs is not `k`.
    """
    if distances is None:
        if hierarchy is not None:
            raise OptionError("the hierarchy has no distances; give one distance for each level")
        return None
    target = machine(hierarchy, distances)
    if k not in (None, target.k):
        raise OptionError(f"k is {k}, but the machine has {target.k} PEs")
    return target


def _is_matrix(distances: Any) -> bool:
    if isinstance(distances, str):
        return False
    try:
        return np.ndim(distances) == 2
    except ValueError:
        raise OptionError("the rows of the matrix of distances have different lengths") from None


def _numbers(name: str, value: Any, least: int) -> tuple[int, ...]:
    """Return the integers in text or a sequence, at least one."""
    items = value.split(":") if isinstance(value, str) else value
    try:
        numbers = tuple(int(x) if isinstance(x, str) else operator.index(x) for x in items)
    except (TypeError, ValueError):
        raise OptionError(
            f"{name} is {value!r}; it must be integers separated by colons, for example 4:8:6"
        ) from None
    if not numbers:
        raise OptionError(
            f"{name} is {value!r}, which has no level; give one number for each level"
        )
    wrong = [n for n in numbers if not least <= n <= INT32_MAX]
    if wrong:
        raise OptionError(
            f"{name} is {value!r}; each number must be in {least}..{INT32_MAX}, and {wrong[0]} "
            "is not"
        )
    return numbers


def _matrix(distances: npt.ArrayLike, k: int | None) -> npt.NDArray[np.int32]:
    """Return a distance matrix after checking it."""
    matrix = np.asarray(distances)
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise OptionError(f"the matrix of distances is {rows} x {columns}; it must be square")
    if k is not None and rows != k:
        raise OptionError(
            f"the matrix of distances is {rows} x {rows}, but the hierarchy has {k} PEs"
        )
    if matrix.dtype.kind not in "iu":
        raise OptionError(f"distances must be integers, not {matrix.dtype}")
    outside = (matrix < 0) | (matrix > INT32_MAX)
    uneven = (matrix != matrix.T) | (np.eye(rows, dtype=bool) & (matrix != 0))
    for wrong, rule in (
        (outside, f"distances must be in 0..{INT32_MAX}"),
        (uneven, "distances must be the same in both directions, and 0 from a PE to itself"),
    ):
        if wrong.any():
            p, q = np.argwhere(wrong)[0]
            raise OptionError(f"the distance of PEs {p} and {q} is {matrix[p, q]}; {rule}")
    return np.ascontiguousarray(matrix, np.int32)
