"""The structure of the factor of a matrix: the result of `jetpy.symbolic`."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.evaluation.rows import Rows
from jetpy.graph.csr import Graph, IntArray


@dataclass(frozen=True, eq=False)
class Symbolic:
    """The structure of the Cholesky factor L of a symmetric matrix whose rows are in some order.

    Column j is the j-th column in this order.

    Attributes
    ----------
    parents : int32, shape (n,)
        Parent of each column in the elimination tree: the row of the first entry of L below the
        diagonal, -1 for a root. A parent is larger than its children.
    counts : int32, shape (n,)
        Entries of each column of L, with the diagonal.
    fill : int
        Entries of L: the sum of the counts.
    operations : int
        Operations of the factorization: the sum of the squared counts.
    height : int
        Columns on the longest path from a root of the elimination tree to a leaf.
    critical_path : float
        Operations on the most expensive path from a root to a leaf. Columns on one path have to be
        factorized one after the other, whatever the number of processors.
    """

    parents: IntArray
    counts: IntArray
    fill: int
    operations: int
    height: int
    critical_path: float

    def __repr__(self) -> str:
        return (
            f"Symbolic(n = {len(self.parents)}, fill {self.fill}, operations "
            f"{self.operations:.4g}, height {self.height})"
        )


def symbolic_rows(graph: Graph, structure: Symbolic) -> Rows:
    """Describe the factor of a matrix whose rows are in some order."""
    times = structure.fill / max(graph.n + graph.m, 1)
    return [
        ("fill", f"{structure.fill:,} ({times:.2f} times the lower triangle of the matrix)"),
        ("operations", f"{structure.operations:.4g}"),
        ("height", f"{structure.height:,}"),
        ("critical path", f"{structure.critical_path:.4g} operations"),
    ]
