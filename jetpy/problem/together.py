"""Groups of vertices that must share a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.checks import as_numbers
from jetpy.graph.csr import IntArray
from jetpy.graph.dlpack import is_array, on_host
from jetpy.problem.fixed import NO_PART, FixedVertices

NO_GROUP = -1
APART = "a group of together is not connected in it"
"""Reason for a part that is not connected, whatever its other vertices are."""
MAX_NAMED = 4
"""Maximum number of groups that a message names."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of vertices, each contracted to a coarse vertex; other vertices are alone.

    Attributes
    ----------
    names : int, shape (n,)
        Group of each vertex as the caller numbers it, -1 for none.
    coarse_of : int32, shape (n,)
        Coarse vertex of each vertex, in the order of their first vertices.
    firsts : int, shape (coarse_n,)
        First vertex of each coarse vertex.
    """

    names: npt.NDArray[Any]
    coarse_of: IntArray
    firsts: npt.NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of coarse vertices."""
        return len(self.firsts)

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the sums over coarse vertices of values, shape (n,) or (n, c), int64."""
        sums = np.zeros((self.n, *values.shape[1:]), np.int64)
        np.add.at(sums, self.coarse_of, values)
        return sums

    def common_parts(self, parts: IntArray, weights: IntArray) -> npt.NDArray[np.int32]:
        """Return the part that has most of each coarse vertex's weight, int32, shape (coarse_n,).

        `parts` and `weights` have shape (n,); part -1 counts for none. Ties go to the lowest part.
        """
        placed = np.flatnonzero(parts != NO_PART)
        return heaviest_parts(self.coarse_of[placed], parts[placed], weights[placed], self.n)

    def of_places(self, places: FixedVertices, weights: IntArray) -> FixedVertices:
        """Return the fixed and home parts of coarse vertices.

        The home of a group is the home of most of its weight.

        Raises
        ------
        OptionError
            If members of a group are fixed in different parts.
        """
        fixed = self.common_parts(places.fixed, weights)
        apart = (places.fixed != NO_PART) & (places.fixed != fixed[self.coarse_of])
        if apart.any():
            v = int(apart.argmax())
            raise fixed_apart(self.names[v], fixed[self.coarse_of[v]], places.fixed[v])
        home = None if places.home is None else self.common_parts(places.home, weights)
        return FixedVertices(fixed, home, places.migration)

    def check_within(self, parts: IntArray) -> None:
        """Refuse groups with vertices in several parts, shape (n,).

        Raises
        ------
        OptionError
            If there is such a group.
        """
        crossing = parts != parts[self.firsts[self.coarse_of]]
        if crossing.any():
            raise OptionError(
                f"group {self.names[crossing.argmax()]} of together has vertices in several parts "
                "of within; it must be in one"
            )

    def check_weights(
        self, weights: npt.NDArray[Any], limits: npt.NDArray[np.int64], places: FixedVertices | None
    ) -> None:
        """Refuse groups that weigh more than every part may; fixed groups may.

        `weights` have shape (n,) or (n, c), `limits` (k,) or (k, c).

        Raises
        ------
        OptionError
            If there is such a group.
        """
        sums, most = self.sums(weights), limits.max(axis=0)
        heavy = sums > most
        if heavy.ndim == 2:
            heavy = heavy.any(axis=1)
        heavy &= np.bincount(self.coarse_of, minlength=self.n) > 1
        if places is not None:
            heavy[self.coarse_of[places.fixed != NO_PART]] = False
        wrong = np.flatnonzero(heavy)
        if len(wrong):
            raise too_heavy(self.names[self.firsts[wrong]].tolist(), sums[wrong[0]], most)


def fixed_apart(name: int, part: int, other: int) -> OptionError:
    """Return the error about a group with vertices that are fixed in two parts."""
    return OptionError(
        f"group {name} of together has vertices fixed in parts {part} and {other}; fix all in one "
        "part"
    )


def too_heavy(names: Sequence[int], weight: Any, most: Any) -> OptionError:
    """Return the error about groups, given the weight of the first, and the most that parts may."""
    listed = ", ".join(map(str, names[:MAX_NAMED]))
    more = ", …" if len(names) > MAX_NAMED else ""
    which = f"group{'s' if len(names) > 1 else ''} {listed}{more}"
    return OptionError(
        f"{which} of together weigh{'s' if len(names) == 1 else ''} more than a part may: {weight} "
        f"instead of {most}; raise the limits of the parts, or split the group"
    )


def heaviest_parts(
    coarse_of: npt.NDArray[Any], parts: npt.NDArray[Any], weights: npt.NDArray[Any], n: int
) -> npt.NDArray[np.int32]:
    """Return the part that has most of each of n coarse vertices' weight, int32, -1 for none.

    `coarse_of`, `parts` and `weights` of fine vertices have the same shape. Ties go to the lowest
    part.
    """
    common = np.full(n, NO_PART, np.int32)
    pairs, which = np.unique(coarse_of.astype(np.int64) << 32 | parts, return_inverse=True)
    held = np.zeros(len(pairs), np.int64)
    np.add.at(held, which, weights)
    order = np.lexsort((-pairs, held))  # the last entry of each coarse vertex counts
    common[pairs[order] >> 32] = pairs[order] & 0xFFFFFFFF
    return common


def checked_names(
    together: npt.ArrayLike | None, n: int, first: int = 0
) -> npt.NDArray[Any] | None:
    """Return the group of each of n vertices, -1 for none; None if no groups are given.

    `first` is the id of the first vertex in messages.

    Raises
    ------
    OptionError
        If `together` is not n integers from -1 on.
    """
    if together is None:
        return None
    names = on_host(together if is_array(together) else as_numbers(together, "together"))
    if names.shape != (n,):
        raise OptionError(
            f"together has shape {names.shape}; it must have one group for each of {n} vertices "
            "(-1 for none)"
        )
    if n and names.dtype.kind not in "iu":
        raise OptionError(f"together must contain integers, not {names.dtype}")
    if (names < NO_GROUP).any():
        v = int((names < NO_GROUP).argmax())
        raise OptionError(
            f"together has group {names[v]} for vertex {first + v}; groups must be integers from 0 "
            "on, or -1 for none"
        )
    return names


def check_together(together: npt.ArrayLike | None, n: int) -> Groups | None:
    """Return the groups of n vertices; None if no group has two vertices.

    Raises
    ------
    OptionError
        As `checked_names` does.
    """
    names = checked_names(together, n)
    if names is None:
        return None
    firsts, numbers = np.unique(names, return_index=True, return_inverse=True)[1:]
    own = np.where(names == NO_GROUP, np.arange(n), firsts[numbers])
    leaders, coarse_of = np.unique(own, return_inverse=True)
    if len(leaders) == n:
        return None
    return Groups(names, coarse_of.astype(np.int32), leaders)
