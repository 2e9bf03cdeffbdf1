"""
Time the steps of a direct solver
=================================

This tutorial is for users of sparse direct solvers who must choose an ordering. A
direct solver works in four steps: ordering, analysis, factorization and solution. The
tutorial times each step for two symmetric systems: a Poisson problem on a mesh of
tetrahedra, and a circuit of resistors. The orderings are nested dissection by METIS and
by jetpy, and approximate minimum degree (AMD). The best ordering for one system is not
the best ordering for the other.

First run ``pip install '.[report]'``, then ``python docs/tutorials/solver.py``. The
solver is SciPy's SuperLU. After ``pip install 'scikit-sparse>=0.5'``, which needs
SuiteSparse 7, it is CHOLMOD.
"""

# %%
# A Poisson problem on a mesh
# ---------------------------
# The mesh fills the unit cube. Its nodes are the points of a grid, moved at random.
# Nodes on a face stay on this face. The Delaunay triangulation makes tetrahedra of the
# nodes.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pymetis
import scipy.sparse as sp
from scipy.sparse.csgraph import depth_first_order
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay

import jetpy

CELLS = 28
random = np.random.default_rng(0)
grid = np.stack(np.indices((CELLS + 1,) * 3), axis=-1).reshape(-1, 3)
moves = random.uniform(-0.3, 0.3, grid.shape)
points = np.where((grid > 0) & (grid < CELLS), grid + moves, grid) / CELLS
cells = Delaunay(points).simplices
print(f"{len(points):,} nodes, {len(cells):,} tetrahedra")

# %%
# The equation is -Δu = f, with u = 0 on the boundary. With linear finite elements, the
# entry of two nodes is the integral of the product of their gradients. The gradients
# are constant in each tetrahedron. The boundary nodes have no unknowns.

corners = points[cells]
edges = corners[:, 1:] - corners[:, :1]
volumes = np.abs(np.linalg.det(edges)) / 6
assert np.isclose(volumes.sum(), 1)

slopes = np.linalg.inv(edges)
slopes = np.concatenate([-slopes.sum(axis=2, keepdims=True), slopes], axis=2)
products = np.einsum("t,tdi,tdj->tij", volumes, slopes, slopes)
pairs = np.repeat(cells, 4, axis=1).ravel(), np.tile(cells, 4).ravel()
stiffness = sp.coo_array((products.ravel(), pairs), shape=(len(points),) * 2).tocsr()
weights = np.bincount(cells.ravel(), np.repeat(volumes / 4, 4))

inner = ((points > 0) & (points < 1)).all(axis=1)
poisson = stiffness[inner][:, inner]
exact = np.sin(np.pi * points).prod(axis=1)  # the solution for this f:
source = 3 * np.pi**2 * exact
load = (weights * source)[inner]
print(f"Poisson problem: {poisson.shape[0]:,} unknowns, {poisson.nnz:,} nonzeros")

# %%
# A circuit
# ---------
# Each node of the circuit has resistors to two earlier nodes, most of them near. The
# matrix is the weighted Laplacian of this graph, and the weights are conductances.
# Parallel resistors add their conductances. Node 0 is the ground, so the matrix has no
# row and no column for it. A current of 1 A enters at the last node. The unknowns are
# the potentials in volts.

NODES = 40_000
random = np.random.default_rng(0)
tail = np.arange(1, NODES).repeat(2)
head = tail - np.minimum(tail, random.geometric(1 / 20, tail.size))
conductance = random.uniform(0.5, 2.0, tail.size)
half = sp.coo_array((conductance, (tail, head)), shape=(NODES, NODES))
wires = sp.csr_array(half + half.T)
circuit = sp.csr_array(sp.diags_array(wires.sum(axis=0)) - wires)[1:, 1:]
current = np.zeros(NODES - 1)
current[-1] = 1.0
print(f"circuit: {circuit.shape[0]:,} unknowns, {circuit.nnz:,} nonzeros")

# %%
# Orderings
# ---------
# Each function takes a matrix and returns a permutation: row ``perm[0]`` comes first.
# ``minimum_degree`` is jetpy's AMD. METIS and AMD run on one core, and
# ``nested_dissection`` runs on all cores.


def metis(matrix):
    """Return the order of METIS_NodeND."""
    graph = jetpy.as_graph(matrix, pattern=True)
    perm, _ = pymetis.nested_dissection(
        pymetis.CSRAdjacency(graph.indptr, graph.indices)
    )
    return np.array(perm)


def degree(matrix):
    """Return the order of jetpy's approximate minimum degree."""
    return jetpy.minimum_degree(matrix).perm


def fast(matrix):
    """Return the order of jetpy's nested dissection with little work."""
    return jetpy.nested_dissection(matrix, preset="fast").perm


def default(matrix):
    """Return the order of jetpy's nested dissection."""
    return jetpy.nested_dissection(matrix).perm


ORDERS = {
    "minimum degree": degree,
    "METIS": metis,
    "jetpy, fast": fast,
    "jetpy, default": default,
}

# %%
# The solver
# ----------
# CHOLMOD gets the permuted matrix and keeps its order, because of ``order="natural"``.
# ``CholeskyFactor`` uses only the pattern, and ``factorize`` computes the factor.
# CHOLMOD's own AMD is one more order. Its time includes an analysis, because CHOLMOD
# does both in one call.
#
# SuperLU analyses and factorizes in one call, with the settings from :doc:`orderings
# </guide/orderings>`. It is faster if each subtree of the elimination tree has
# consecutive columns. CHOLMOD sorts the columns in this way. For SuperLU, the analysis
# in this tutorial does the same: it takes the nodes of the tree in postorder, which
# does not change the number of nonzeros.

try:
    from sksparse.cholmod import CholeskyFactor
except ImportError:
    SOLVER = "SuperLU"

    def analyse(permuted):
        """Return the columns in a postorder of the elimination tree."""
        parents = jetpy.symbolic(permuted).parents  # -1: a root
        n = len(parents)
        entries = (np.ones(n), (parents % (n + 1), np.arange(n)))
        tree = sp.csr_array(entries, shape=(n + 1, n + 1))  # roots are children of n
        return depth_first_order(tree, n, return_predecessors=False)[:0:-1]

    def factorize(permuted, columns):
        """Return the columns and the factors of a permuted matrix."""
        return columns, splu(
            permuted[columns][:, columns],
            permc_spec="NATURAL",
            diag_pivot_thresh=0,
            options={"SymmetricMode": True},
        )

    def substitute(factor, right):
        """Return the solution for a permuted right-hand side."""
        columns, factors = factor
        found = np.empty_like(right)
        found[columns] = factors.solve(right[columns])
        return found

else:
    SOLVER = "CHOLMOD"

    def amd(matrix):
        """Return the order of CHOLMOD's AMD."""
        return CholeskyFactor(sp.csc_array(matrix), order="amd").get_perm()

    ORDERS = {"AMD (CHOLMOD)": amd, **ORDERS}

    def analyse(permuted):
        """Return a symbolic factor."""
        return CholeskyFactor(permuted, order="natural", lower=True)

    def factorize(permuted, factor):
        """Return the factor of a permuted matrix."""
        factor.factorize(permuted)
        return factor

    def substitute(factor, right):
        """Return the solution for a permuted right-hand side."""
        return factor.solve(right)


# %%
# ``solve`` times the four steps. It permutes the matrix between them, and this short
# time is not included. Row i of the permuted system is row ``perm[i]``, so the solution
# goes back by ``perm``. ``symbolic`` counts the nonzeros of L. The first calls load
# kernels and libraries, so a small system comes first.

STEPS = ["ordering", "analysis", "factorization", "solution"]


def timed(function, *arguments):
    """Return a result, and the seconds that it took."""
    start = perf_counter()
    found = function(*arguments)
    return found, perf_counter() - start


def solve(matrix, right, order):
    """Return the solution, the nonzeros of L, and the seconds of each step."""
    seconds = dict.fromkeys(STEPS, 0.0)
    perm, seconds["ordering"] = timed(order, matrix)
    permuted = sp.csc_array(matrix[perm][:, perm])
    plan, seconds["analysis"] = timed(analyse, permuted)
    factor, seconds["factorization"] = timed(factorize, permuted, plan)
    found, seconds["solution"] = timed(substitute, factor, right[perm])
    solution = np.empty_like(found)
    solution[perm] = found
    return solution, jetpy.symbolic(matrix, perm).fill, seconds


for order in ORDERS.values():
    solve(circuit[-12_000:, -12_000:], current[-12_000:], order)

# %%
# Check the solutions
# -------------------
# Rounding errors make a small residual, relative to the largest sum of the absolute
# terms of a row. The Poisson problem has a known solution. In the circuit, the
# resistors consume the power that the source supplies: 1 A times the potential of the
# last node.

systems = {"Poisson problem": (poisson, load), "circuit": (circuit, current)}
nonzeros, times, solutions = {}, {}, {}
for name, (matrix, right) in systems.items():
    nonzeros[name], times[name] = {}, {}
    for label, order in ORDERS.items():
        found, nonzeros[name][label], times[name][label] = solve(matrix, right, order)
        solutions[name] = found
        residual = np.abs(matrix @ found - right).max()
        assert residual < 1e-12 * (abs(matrix) @ np.abs(found)).max()

error = np.abs(solutions["Poisson problem"] - exact[inner]).max()
print(f"largest error at a node: {error:.4f}")
assert error < 0.01

potential = np.append(0.0, solutions["circuit"])
power = conductance @ (potential[tail] - potential[head]) ** 2
print(f"resistance between the last node and the ground: {potential[-1]:.3f} ohms")
assert np.isclose(power, potential[-1])

# %%
# Compare the times
# -----------------
# The ordering and the analysis depend on the pattern alone. Repeat only the
# factorization for a new matrix with the same pattern, and only the solution for a new
# right-hand side. The last two columns are the totals for one system, and for 50
# systems with the same pattern.

print(f"{SOLVER}, seconds:")
print(" " * 15, *(f"{step:>13}" for step in STEPS), f"{'1 system':>9} 50 systems")
for name, found in times.items():
    print(f"{name}:")
    for label, seconds in found.items():
        once = seconds["ordering"] + seconds["analysis"]
        each = seconds["factorization"] + seconds["solution"]
        columns = (f"{seconds[step]:13.3f}" for step in STEPS)
        print(f"{label:15}", *columns, f"{once + each:9.2f} {once + 50 * each:10.2f}")

# %%
# These times differ from run to run. With the same versions of the packages, the
# nonzeros of L are always the same:

for name, found in nonzeros.items():
    print(f"{name}, nonzeros of L:")
    for label, count in sorted(found.items(), key=lambda item: item[1]):
        print(f"{label:15} {count:10,}")

mesh, wired = nonzeros.values()
assert mesh["minimum degree"] > 1.5 * mesh["METIS"]
dissections = [mesh[label] for label in ("METIS", "jetpy, fast", "jetpy, default")]
assert max(dissections) < 1.05 * min(dissections)
assert wired["minimum degree"] < wired["jetpy, default"] < wired["METIS"]
assert wired["METIS"] < 1.5 * wired["minimum degree"]

# %%
figure, axes = plt.subplots(2, 1, figsize=(8, 5.5), layout="constrained")
for ax, (name, found) in zip(axes, times.items(), strict=True):
    labels = [f"{label}\n{nonzeros[name][label] / 1e6:.2f} million" for label in found]
    end = np.zeros(len(found))
    for step in STEPS:
        width = [seconds[step] for seconds in found.values()]
        ax.barh(labels, width, left=end, label=step)
        end += width
    ax.invert_yaxis()
    ax.set(title=f"{name}: nonzeros of L, and time by {SOLVER}", xlabel="seconds")
handles, steps = axes[0].get_legend_handles_labels()
figure.legend(handles, steps, loc="outside lower center", ncols=len(STEPS))
figure.savefig("solver.png")
print("wrote solver.png")

# %%
# Choose an ordering
# ------------------
# On the mesh, minimum degree gives over 1.5 times the nonzeros of nested dissection,
# and then takes most of its time for the factorization. Nested dissection saves a part
# of this time. The larger the mesh, the more it saves: try a larger ``CELLS``. METIS
# and jetpy's two presets give nearly the same number of nonzeros here. If there are few
# cores, METIS takes less time than jetpy.
# :doc:`Performance </performance>` compares jetpy, METIS and AMD on more matrices, and
# on many cores.
#
# On the circuit, minimum degree is the best choice. It is fast, and gives the fewest
# nonzeros. The factorization is short with every order. Nested dissection takes longer
# and gives more nonzeros.
#
# The best ordering depends on the matrix, so compare several orderings on yours.
# ``jetpy.symbolic`` computes the nonzeros and the operations of any order without a
# factorization.
