"""
Contract a tensor network
=========================

This tutorial is for users of tensor networks. The cost of a contraction depends on the
order of its steps, which is a binary tree. Cuts of the network with few and small bonds
give a cheap tree (Gray and Kourtis, 2021). In this tutorial, jetpy finds the cuts. The
first network counts the dimers on a cube, and the second one is random. At the end,
cotengra gets jetpy as its partitioner.

First run ``pip install .``, then ``python docs/tutorials/tensors.py``. The last step
also needs ``pip install cotengra``.
"""

# %%
# Dimers on a cube
# ----------------
# In how many ways do 32 bricks of size 2 x 1 x 1 fill a cube of size 4 x 4 x 4? Each
# cell is a tensor, and each pair of neighbours is a bond of size 2: a brick lies there
# or not. An entry of a tensor is 1 if exactly one of its bonds has a brick, and
# otherwise 0. The contraction of all tensors is the number of ways.

from importlib.util import find_spec
from itertools import combinations
from math import log2, log10

import numpy as np
import scipy.sparse as sp

import jetpy

cube = jetpy.generators.cube(4, 4, 4)


def cell(bonds):
    """Return the tensor of a cell with this number of bonds."""
    return 1.0 * (np.indices((2,) * bonds).sum(axis=0) == 1)


# %%
# A tree by bisection
# -------------------
# The network is a graph. The weight of an edge is the logarithm of the size of its
# bond. So the cut of the first bisection is the logarithm of the size of the tensors
# that both sides become, and the last step multiplies these two. The same holds within
# each side. A large ``imbalance`` allows smaller cuts. ``scale=True`` allows weights
# that are not integers.


def bisect(network, imbalance=0.2, seed=0, vertices=None):
    """Return a vertex, or a pair of trees."""
    if vertices is None:
        vertices = np.arange(network.shape[0])
    if len(vertices) == 1:
        return int(vertices[0])
    part = network[vertices][:, vertices]
    options = {"imbalance": imbalance, "seed": seed, "threads": 1, "scale": True}
    sides = jetpy.partition(part, 2, **options).parts
    return tuple(bisect(network, imbalance, seed, vertices[sides == s]) for s in (0, 1))


# %%
# Contraction
# -----------
# A tensor comes with the names of its bonds. A bond has the name of the two vertices
# that it joins.


def legs(network):
    """Return the bonds of each vertex, with the logarithm of the size of each."""
    return [
        {(min(v, int(w)), max(v, int(w))): float(network[v, w]) for w in near}
        for v, near in enumerate(np.split(network.indices, network.indptr[1:-1]))
    ]


def contract(tree, tensors):
    """Return the tensor of a tree, and the names of its bonds."""
    if isinstance(tree, int):
        return tensors[tree]
    (first, a), (second, b) = (contract(side, tensors) for side in tree)
    common = [bond for bond in a if bond in b]
    axes = [a.index(bond) for bond in common], [b.index(bond) for bond in common]
    rest = [bond for bond in a + b if bond not in common]
    return np.tensordot(first, second, axes), rest


bonds = sp.csr_array((np.ones(len(cube.indices)), cube.indices, cube.indptr))
tensors = [(cell(len(names)), list(names)) for names in legs(bonds)]
ways, names = contract(bisect(bonds), tensors)
assert names == []
print(f"{int(ways):,} ways")
assert ways == 5_051_532_105  # https://oeis.org/A028446

# %%
# Cost of a tree
# --------------
# A step multiplies as often as the product of the sizes of all bonds of its two
# tensors. The number of multiplications and the largest tensor are known before the
# contraction.


def cost(tree, network):
    """Return the multiplications of a tree, and the entries of its largest tensor."""
    found = legs(network)
    total = largest = 0.0

    def visit(tree):
        nonlocal total, largest
        if isinstance(tree, int):
            return found[tree]
        a, b = map(visit, tree)
        rest = {bond: (a | b)[bond] for bond in a.keys() ^ b.keys()}
        total += 2 ** sum((a | b).values())
        largest = max(largest, 2 ** sum(rest.values()))
        return rest

    visit(tree)
    return total, largest


def greedy(network):
    """Return the tree that next contracts the pair whose tensors shrink most."""
    found = dict(enumerate(legs(network)))

    def growth(pair):
        a, b = found[pair[0]], found[pair[1]]
        rest = sum((a | b)[bond] for bond in a.keys() ^ b.keys())
        return 2**rest - 2 ** sum(a.values()) - 2 ** sum(b.values())

    while len(found) > 1:
        pairs = combinations(found, 2)
        near = ((a, b) for a, b in pairs if found[a].keys() & found[b].keys())
        pair = min(near, key=growth)
        a, b = (found.pop(tree) for tree in pair)
        found[pair] = {bond: (a | b)[bond] for bond in a.keys() ^ b.keys()}
    return next(iter(found))


# %%
# A random network
# ----------------
# Each of the 150 tensors has three bonds of size 2, 3 or 4: two on a ring, and one to
# any other tensor. A tree takes less than a second, so make several with different
# imbalances and seeds, and take the cheapest.

random = np.random.default_rng(0)
ring = np.arange(150)
chords = random.permutation(150).reshape(2, -1)
tail, head = np.r_[ring, chords[0]], np.r_[np.roll(ring, 1), chords[1]]
size = random.integers(2, 5, len(tail))
half = sp.coo_array((np.log2(size), (tail, head)), shape=(150, 150))
network = sp.csr_array(half + half.T)

trees = [bisect(network, imbalance, s) for imbalance in (0.1, 0.2, 0.4) for s in (0, 1)]
costs = {
    "greedy, one tree": cost(greedy(network), network),
    "jetpy, one tree": cost(bisect(network), network),
    "jetpy, best of six": min(cost(tree, network) for tree in trees),
}
print(f"{'':18} multiplications  largest tensor")
for name, (total, largest) in costs.items():
    print(f"{name:18} {f'10^{log10(total):.2f}':>15} {f'2^{log2(largest):.1f}':>15}")
assert (
    costs["jetpy, best of six"] < costs["jetpy, one tree"] < costs["greedy, one tree"]
)

# %%
# Greedy trees depend on how ties are broken. With the same tensors in other orders,
# they took between 10^14 and 10^18 multiplications.
#
# cotengra
# --------
# cotengra takes any partitioner. It calls ``membership`` with the bonds of each tensor,
# and two tensors get an edge for each bond that they share. cotengra tries the options
# in ``space``, orders small parts greedily, and then improves each tree step by step.
# Compare jetpy with cotengra's greedy method, and with KaHyPar if it is installed.

if find_spec("cotengra"):
    from cotengra import HyperOptimizer
    from cotengra.core import PartitionTreeBuilder
    from cotengra.hyperoptimizers.hyper import register_hyper_function

    def membership(inputs, output, size_dict, parts, imbalance, seed, **_):
        """Return the part of each tensor."""
        column = {bond: i for i, bond in enumerate(size_dict)}
        has = sp.lil_array((len(inputs), len(column)))
        for tensor, bonds in enumerate(inputs):
            has[tensor, [column[bond] for bond in bonds]] = 1
        bits = sp.diags_array([log2(size) for size in size_dict.values()])
        graph = sp.csr_array(has @ bits @ has.T)
        graph.setdiag(0)
        graph.eliminate_zeros()
        options = {"imbalance": imbalance, "threads": 1, "scale": True}
        options["seed"] = seed.randrange(2**31)
        return jetpy.partition(graph, parts, **options).parts.tolist()

    register_hyper_function(
        name="jetpy",
        ssa_func=PartitionTreeBuilder(membership).trial_fn,
        space={
            "random_strength": {"type": "FLOAT_EXP", "min": 0.01, "max": 1.0},
            "imbalance": {"type": "FLOAT", "min": 0.05, "max": 0.5},
            "cutoff": {"type": "INT", "min": 4, "max": 20},
        },
        constants={"parts": 2},
    )
    inputs = [tuple(map(str, names)) for names in legs(network)]
    sizes = {}
    for bonds in legs(network):
        sizes |= {str(bond): round(2**bits) for bond, bits in bonds.items()}
    for method in "greedy", "kahypar", "jetpy":
        if method == "kahypar" and not find_spec("kahypar"):
            continue
        options = {"max_repeats": 8, "optlib": "random", "seed": 0, "parallel": False}
        tree = HyperOptimizer([method], **options).search(inputs, (), sizes)
        print(f"cotengra, {method:8} 10^{log10(tree.total_flops()):.2f}")
else:
    print("skipped cotengra: run pip install cotengra")
