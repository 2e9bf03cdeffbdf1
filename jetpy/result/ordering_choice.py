"""The choices of `jetpy.order`: which method orders which components, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from jetpy.errors import count

METHODS = ("minimum_degree", "nested_dissection", "given")
"""Methods for a component; of those with equal operations, the first is taken."""


class OrderingChoice(NamedTuple):
    """Components of a matrix that `jetpy.order` orders by the same method.

    Attributes
    ----------
    method : {'minimum_degree', 'nested_dissection', 'given'}
        With 'given', the rows keep the order that they have in the matrix.
    components, rows : int
        Number of components, and of their rows. Dense rows, and rows that come last, are in no
        component.
    operations : dict of float
        Operations for all of these components by each method that was tried for all of them. They
        are exact without `together`; with it, all rows of a group count as if they had the entries
        of the whole group.
    has_fill : bool
        Whether the order causes fill in each of these components. If not, no order is better.
    """

    method: str
    components: int
    rows: int
    operations: Mapping[str, float]
    has_fill: bool

    @property
    def reason(self) -> str:
        """Why the method was chosen."""
        if not self.has_fill:
            return "no fill"
        own = self.operations[self.method]
        others = (
            f"{spoken(name)} {total / own:.3g}"
            for name, total in self.operations.items()
            if name != self.method
        )
        return f"fewest operations ({', '.join(others)} times)"

    @property
    def what(self) -> str:
        """The method and the number of rows, as text."""
        where = f" in {self.components:,} components" if self.components > 1 else ""
        return f"{spoken(self.method)} for {count(self.rows, 'row')}{where}"

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"


def spoken(method: str) -> str:
    """Return the name of a method in text."""
    return "given order" if method == "given" else method.replace("_", " ")
