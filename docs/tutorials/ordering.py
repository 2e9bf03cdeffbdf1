"""
Order a matrix for a direct solver
==================================

This tutorial is for users of sparse direct solvers. A direct solver factorizes a
symmetric matrix as A = L L'. The factor L has more nonzeros than A, and the order of
the rows decides how many. The tutorial factorizes two matrices in five orders: the
given one, COLAMD (SciPy's default), METIS, and two orders of jetpy. At the end, it
factorizes a system of an interior-point method.

First run ``pip install '.[report]'``, then ``python docs/tutorials/ordering.py``.
"""

# %%
# The matrices
# ------------
# The first matrix is that of a Poisson problem on a grid of 20 x 20 x 20 points. The
# second one is a time step of heat on a mesh of triangles: the Laplacian of its graph
# plus the identity.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pymetis
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.sparse.linalg import splu

import jetpy

line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
same = sp.eye_array(20)
poisson = (
    sp.kron(sp.kron(line, same), same)
    + sp.kron(sp.kron(same, line), same)
    + sp.kron(sp.kron(same, same), line)
)

mesh = jetpy.generators.delaunay(20_000)
entries = (-1.0 * mesh.edge_weights, mesh.indices, mesh.indptr)
heat = sp.csr_array(entries) + sp.diags_array(mesh.degrees + 1.0)

matrices = {"Poisson, 3-D grid": sp.csr_array(poisson), "heat, triangles": heat}
for name, matrix in matrices.items():
    print(f"{name}: {matrix.shape[0]:,} rows, {matrix.nnz:,} nonzeros")

# %%
# Nested dissection
# -----------------
# ``nested_dissection`` returns an ``Ordering``. Only the positions of the entries
# matter. ``fill`` is the number of nonzeros of L, computed without L. ``operations`` is
# the sum of the squared numbers of nonzeros of its columns. ``symbolic`` computes both
# for any order. The first call loads the kernels, so nothing is printed from it.

jetpy.nested_dissection(jetpy.generators.grid(40, 40))
for matrix in matrices.values():
    order = jetpy.nested_dissection(matrix)
    print(order)
    print("without an ordering:", jetpy.symbolic(matrix))

# %%
# Five orders
# -----------
# Each function returns a permutation: row ``perm[0]`` comes first. METIS gets the graph
# of the matrix, which has no diagonal.


def natural(matrix):
    """Return the rows as they are."""
    return np.arange(matrix.shape[0])


def metis(matrix):
    """Return the order of METIS_NodeND."""
    graph = jetpy.as_graph(matrix, pattern=True)
    perm, _ = pymetis.nested_dissection(
        pymetis.CSRAdjacency(graph.indptr, graph.indices)
    )
    return np.array(perm)


def dissection(matrix):
    """Return an order of jetpy."""
    return jetpy.nested_dissection(matrix).perm


def degree(matrix):
    """Return another order of jetpy, which takes less time."""
    return jetpy.minimum_degree(matrix).perm


# %%
# Factorization
# -------------
# SciPy's ``splu`` gets the permuted matrix and keeps its order, because of
# ``permc_spec="NATURAL"``. Two more settings make it a symmetric factorization: the
# rows are permuted like the columns, ``diag_pivot_thresh=0`` takes all pivots from the
# diagonal, and ``SymmetricMode`` follows the elimination tree of A. Matrices that need
# other pivots cannot be factorized in this way. The loop skips an order with too many
# nonzeros.


def factorize(matrix, perm):
    """Return the factors of the permuted matrix."""
    return splu(
        sp.csc_array(matrix[perm][:, perm]),
        permc_spec="NATURAL",
        diag_pivot_thresh=0,
        options={"SymmetricMode": True},
    )


def colamd(matrix):
    """Return the factors with the columns ordered by COLAMD."""
    return splu(sp.csc_array(matrix))


def timed(function, *arguments):
    """Return a result, and the seconds that it took."""
    start = perf_counter()
    found = function(*arguments)
    return found, perf_counter() - start


ORDERS = {
    "natural": natural,
    "METIS": metis,
    "minimum degree": degree,
    "nested dissection": dissection,
}
nonzeros, seconds = {}, {}
for name, matrix in matrices.items():
    factors, time = timed(colamd, matrix)
    nonzeros[name] = {"COLAMD": factors.L.nnz + factors.U.nnz}
    seconds[name] = {"COLAMD": (0.0, time)}  # COLAMD is part of splu
    right = np.ones(matrix.shape[0])
    for order, function in ORDERS.items():
        perm, ordering = timed(function, matrix)
        if jetpy.symbolic(matrix, perm).fill > 5_000_000:
            continue
        factors, time = timed(factorize, matrix, perm)
        nonzeros[name][order] = factors.L.nnz + factors.U.nnz
        seconds[name][order] = ordering, time
        assert factors.L.nnz == factors.U.nnz == jetpy.symbolic(matrix, perm).fill
        solution = np.empty_like(right)
        solution[perm] = factors.solve(right[perm])
        assert np.allclose(matrix @ solution, right)

# %%
# The loop also solves a system with each factorization: permute the right-hand side,
# and put the solution back. An assertion checks that the factors have exactly the
# nonzeros that ``symbolic`` counts.

print(f"{'':18} {'order':18} {'nonzeros':>10} {'order, s':>9} {'factorize, s':>13}")
for name, found in nonzeros.items():
    for order, count in sorted(found.items(), key=lambda item: item[1]):
        ordering, time = seconds[name][order]
        print(f"{name:18} {order:18} {count:10,} {ordering:9.2f} {time:13.2f}")
    assert min(found, key=found.get) == "nested dissection"

# %%
# jetpy's dissection gives the fewest nonzeros. On matrices of this size, finding the
# order takes longer than the factorization. The order depends on the pattern alone. It
# pays when many matrices have the same pattern, as in the steps of a nonlinear or
# time-dependent problem. It also pays for large matrices, because the operations grow
# faster than the time of the ordering. For a single small matrix, use
# ``minimum_degree``.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for ax, (name, found) in zip(axes, nonzeros.items(), strict=True):
    shown = sorted(found, key=found.get)
    ax.barh(shown, [found[order] / 1e6 for order in shown])
    ax.invert_yaxis()
    ax.set(title=name, xlabel="nonzeros of both factors, millions")
figure.savefig("ordering.png")
print("wrote ordering.png")

# %%
# Interior-point methods
# ----------------------
# In each step, an interior-point method solves a system with the matrix [[H, A'],
# [A, -D]]. Here, A has the constraints of a minimum-cost flow: what flows into a node
# flows out. H and D are positive diagonal matrices. H changes in each step, by orders
# of magnitude, and D is a small regularization. This matrix is indefinite, but a
# factorization with pivots on the diagonal exists in every order, because the matrix is
# quasidefinite (Vanderbei, 1995). All steps have the same pattern, so one order serves
# all.

graph = jetpy.generators.delaunay(10_000)
tail, head = graph.sources(0, graph.n), graph.indices
tail, head = tail[tail < head], head[tail < head]
flows = np.arange(len(tail))
entries = (np.repeat([-1.0, 1.0], len(flows)), (np.r_[tail, head], np.r_[flows, flows]))
constraints = sp.csr_array(entries, shape=(graph.n, len(flows)))

random = np.random.default_rng(0)
hessian = sp.diags_array(10.0 ** random.uniform(-3, 3, len(flows)))
small = 1e-6 * sp.eye_array(graph.n)
kkt = sp.csr_array(sp.block_array([[hessian, constraints.T], [constraints, -small]]))
print(f"interior-point method: {kkt.shape[0]:,} rows, {kkt.nnz:,} nonzeros")

# %%
# ``order`` computes both minimum degree and nested dissection, and takes the better.
# SciPy also has MMD, a minimum degree for symmetric patterns. COLAMD is for pivots off
# the diagonal, and its factors are much larger. Without D, a solver may need pivots of
# 2 x 2 entries, each of a constraint and one of its flows. ``together`` keeps these
# pairs together in the order, but the factors become larger. A matching finds pairs.

flow_of = maximum_bipartite_matching(constraints, perm_type="column")
pairs = np.full(kkt.shape[0], -1)  # -1: not in a pair
pairs[flow_of] = pairs[len(flows) :] = np.arange(graph.n)

given = np.arange(kkt.shape[0])
symmetric = {"diag_pivot_thresh": 0, "options": {"SymmetricMode": True}}
perms = {
    "minimum degree": degree(kkt),
    "order": jetpy.order(kkt).perm,
    "order, in pairs": jetpy.order(kkt, together=pairs).perm,
}
factors = {
    "COLAMD": (given, splu(sp.csc_array(kkt))),
    "MMD": (given, splu(sp.csc_array(kkt), permc_spec="MMD_AT_PLUS_A", **symmetric)),
    **{order: (perm, factorize(kkt, perm)) for order, perm in perms.items()},
}
right = random.standard_normal(kkt.shape[0])
for order, (perm, found) in factors.items():
    solution = np.empty_like(right)
    solution[perm] = found.solve(right[perm])
    scale = (abs(kkt) @ np.abs(solution)).max()
    residual = np.abs(kkt @ solution - right).max() / scale
    assert residual < 1e-9
    nonzeros = found.L.nnz + found.U.nnz
    print(f"{order:16} {nonzeros:10,} nonzeros, residual {residual:.0e}")
    assert nonzeros >= 2 * jetpy.symbolic(kkt, perms["order"]).fill

# %%
# ``order.save("perm.txt")`` writes a permutation for other programs, and
# ``order.plot(matrix)`` draws the permuted pattern with its separators: see
# :doc:`orderings </guide/orderings>`.
