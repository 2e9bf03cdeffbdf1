"""
Solve a Poisson problem by multigrid
====================================

This tutorial is for large sparse linear systems. A preconditioner reduces the
iterations of the conjugate gradient method. Aggregation multigrid makes one from the
matrix alone: it merges strongly coupled unknowns into aggregates, again and again.
Coarsening in jetpy does the same with vertices that share heavy edges. Here,
``jetpy.coarsen`` finds the aggregates, and SciPy does the rest.

First run ``pip install '.[report]'``, then ``python docs/tutorials/multigrid.py``.
"""

# %%
# The problem
# -----------
# The equation is -div(c grad u) = 1 on the unit square, with u = 0 on the boundary. The
# coefficient c is 10 in a disc and 1 elsewhere. Finite volumes couple two adjacent
# cells by the harmonic mean of their coefficients.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg, splu

import jetpy


def poisson(cells):
    """Return the matrix of a grid of cells x cells, times the area of a cell."""
    place = (np.arange(cells) + 0.5) / cells
    x, y = np.meshgrid(place, place, indexing="ij")
    c = np.where((x - 0.4) ** 2 + (y - 0.5) ** 2 < 0.06, 10.0, 1.0).ravel()
    ids = np.arange(cells * cells).reshape(cells, cells)
    u = np.concatenate([ids[1:].ravel(), ids[:, 1:].ravel()])
    v = np.concatenate([ids[:-1].ravel(), ids[:, :-1].ravel()])
    coupling = 2 * c[u] * c[v] / (c[u] + c[v])
    half = sp.coo_array((coupling, (u, v)), shape=(ids.size, ids.size))
    couplings = sp.csr_array(half + half.T)
    walls = 4 - np.bincount(np.concatenate([u, v]))
    return sp.csr_array(
        sp.diags_array(couplings.sum(axis=1) + 2 * c * walls) - couplings
    )


# %%
# The aggregates
# --------------
# The couplings are the edge weights of a graph. ``scale=True`` converts them to
# integers. Coarsening ends at 100 unknowns or fewer. It merges pairs, but larger
# aggregates give cheaper cycles, so the multigrid method uses every second level.
#
# ``project`` copies the ids of coarse vertices to the vertices of a finer level. The
# result is the map from one level to the other. Row i of the prolongation has a single
# entry, 1, in the column of the aggregate of unknown i.

OPTIONS = {
    "coarsen.coarsest": "per-part",
    "coarsen.per_part": 1,  # coarsening ends at 100 * 1 vertices
    "coarsen.bounded": False,  # vertices may have any weight
}


def aggregates(matrix):
    """Return the hierarchy of the couplings of a matrix."""
    couplings = sp.csr_array(sp.diags_array(matrix.diagonal()) - matrix)
    couplings.eliminate_zeros()
    return jetpy.coarsen(couplings, 100, options=OPTIONS, scale=True)


def prolongations(hierarchy):
    """Return a matrix from each second level to the one before."""
    last = len(hierarchy) - 1
    depths = [*range(0, last, 2), last]
    for fine, coarse in pairwise(depths):
        ids = np.arange(hierarchy.levels[coarse].n)
        columns = hierarchy.project(ids, coarse, fine)
        ones, offsets = np.ones(len(columns)), np.arange(len(columns) + 1)
        yield sp.csr_array((ones, columns, offsets), shape=(len(columns), len(ids)))


matrix = poisson(128)
hierarchy = aggregates(matrix)
print(hierarchy)

# %%
# The preconditioner
# ------------------
# The coarse matrix is P' A P, with prolongation P and fine matrix A. A cycle smooths
# the error by damped Jacobi steps, solves for the rest on the coarse level, and smooths
# again. Piecewise constant prolongation needs more than one visit of each coarse level,
# so this is a W-cycle: two visits. A direct solver handles the coarsest level. Source:
# Notay, "An aggregation-based algebraic multigrid method", ETNA 37 (2010), which has
# better cycles.

DAMPING, STEPS, VISITS = 0.7, 2, 2


def multigrid(matrix, ways):
    """Return a function that applies a cycle, given the matrices of `prolongations`."""
    if not ways:
        return splu(sp.csc_array(matrix)).solve
    way, *others = ways
    back = sp.csr_array(way.T)
    solve_coarse = multigrid(sp.csr_array(back @ matrix @ way), others)
    visits = VISITS if others else 1
    weights = DAMPING / matrix.diagonal()

    def cycle(right):
        x = weights * right
        for _ in range(STEPS - 1):
            x += weights * (right - matrix @ x)
        for _ in range(visits):
            x += way @ solve_coarse(back @ (right - matrix @ x))
        for _ in range(STEPS):
            x += weights * (right - matrix @ x)
        return x

    return cycle


# %%
# Iterations
# ----------
# Solve with a relative residual of 1e-8 on three grids: without a preconditioner, with
# the diagonal, with two levels, and with all levels.


def iterations(matrix, apply=None):
    """Return the relative residual after each iteration."""
    right = np.ones(matrix.shape[0])
    residuals = []

    def note(x):
        residuals.append(np.linalg.norm(right - matrix @ x) / np.linalg.norm(right))

    operator = None if apply is None else LinearOperator(matrix.shape, apply)
    _, failed = cg(matrix, right, rtol=1e-8, maxiter=5000, M=operator, callback=note)
    assert not failed
    return residuals


print(
    f"{'unknowns':>8} {'none':>6} {'diagonal':>9} {'two levels':>11} {'all levels':>11}"
)
for cells in (32, 64, 128):
    matrix = poisson(cells)
    ways = list(prolongations(aggregates(matrix)))
    diagonal = matrix.diagonal()
    curves = {
        "none": iterations(matrix),
        "diagonal": iterations(matrix, lambda right, d=diagonal: right / d),
        "two levels": iterations(matrix, multigrid(matrix, ways[:1])),
        "all levels": iterations(matrix, multigrid(matrix, ways)),
    }
    none, jacobi, two, most = (len(curve) for curve in curves.values())
    print(f"{matrix.shape[0]:8,} {none:6} {jacobi:9} {two:11} {most:11}")
assert most < jacobi / 10 < none / 10

# %%
# Each grid has twice as many cells per side as the one before. Without multigrid, the
# iterations double. With two levels their number stays nearly the same, and with all
# levels it grows slowly.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, curve in curves.items():
    ax.semilogy(range(1, len(curve) + 1), curve, label=name)
ax.set(xlabel="iteration", ylabel="relative residual", xlim=(0, 3 * jacobi // 2))
ax.legend(title="preconditioner")
figure.savefig("multigrid.png")
print("wrote multigrid.png")
