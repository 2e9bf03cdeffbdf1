"""Saved orderings: the pattern, the order, its tree and the options, as a NumPy archive."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.api.ordering_run import OrderingRun, structure_of
from jetpy.errors import FileFormatError, JetpyError
from jetpy.graph.checks import one_of, whole_number
from jetpy.graph.csr import Graph
from jetpy.graph.validate import integer_array
from jetpy.io.archive import read_archive
from jetpy.io.compression import open_input
from jetpy.io.patterns import checked_permutation, pattern_graph
from jetpy.ordering.constraints import Constraints, checked_constraints
from jetpy.ordering.effort import used_options
from jetpy.result.ordering import Ordering
from jetpy.result.separator_tree import SeparatorTree

NAMES = ("indptr", "indices", "perm", "parents", "starts", "last", "together", "settings")
METHODS = ("order", "nested_dissection")


def read_ordering(path: str | os.PathLike[str]) -> Ordering:
    """Read an ordering that `Ordering.save_session` has written, and check it.

    Parameters
    ----------
    path : path

    Returns
    -------
    Ordering
        Its `seconds` are 0, and it has no profile and no choices.

    Raises
    ------
    FileFormatError
        If the file is not such an ordering, is truncated, or breaks a rule. The message names the
        file.
    MissingFileError
        If the file does not exist.
    JetpyError
        If the file cannot be read.

    Examples
    --------
    >>> import jetpy
    >>> grid = jetpy.generators.grid(40, 40)
    >>> jetpy.nested_dissection(grid).save_session("order.npz")
    >>> order = jetpy.read_ordering("order.npz")
    >>> order.updated(grid).update.ordered
    0
    """
    with open_input(path) as stream:
        arrays = read_archive(stream, "an ordering")
        missing = [name for name in NAMES if name not in arrays]
        if missing:
            raise FileFormatError(f"this is not an ordering: it has no array {missing[0]!r}")
        try:
            return _ordering(arrays)
        except FileFormatError:
            raise
        except (JetpyError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise FileFormatError(f"the ordering is damaged: {error}") from error


def _ordering(arrays: dict[str, npt.NDArray[Any]]) -> Ordering:
    """Return the ordering in an archive, or raise an exception that says what is wrong with it."""
    graph = pattern_graph((arrays["indptr"], arrays["indices"]), None, symmetrize=False)
    text = arrays["settings"]
    if text.dtype.kind != "U" or text.shape != ():
        raise ValueError("the settings are not text")
    settings = json.loads(str(text[()]))
    one_of(METHODS, "method", settings["method"])
    run = OrderingRun(
        settings["method"],
        used_options(**settings["options"]),
        whole_number("seed", settings["seed"]),
        checked_constraints(
            arrays["last"],
            settings["keep_last_order"],
            arrays["together"] if len(arrays["together"]) else None,
            graph.n,
        ),
        graph.indptr,
        graph.indices,
    )
    perm = checked_permutation(arrays["perm"], graph.n)
    tree = _checked_tree(arrays["parents"], arrays["starts"], graph.n)
    found = Ordering(perm, structure_of(graph, perm), run.method, 0.0, tree, origin=run)
    _check_tree_separates(graph, found, tree)
    _check_constraints(run.constraints, found, tree)
    return found


def _checked_tree(parents: Any, starts: Any, n: int) -> SeparatorTree:
    """Return a tree of n columns in postorder."""
    above, begins = integer_array(parents, "parents"), integer_array(starts, "starts")
    count = len(above)
    if above.shape != (count,) or begins.shape != (count + 1,):
        raise ValueError(f"the tree has {above.shape} parents and {begins.shape} starts")
    is_tree = begins[0] == 0 and begins[-1] == n and bool((np.diff(begins) >= 0).all())
    is_tree &= bool(((above == -1) | ((above > np.arange(count)) & (above < count))).all())
    if not is_tree:
        raise ValueError("the arrays parents and starts are not a tree")
    tree = SeparatorTree(above.astype(np.int32), begins.astype(np.int32))
    counts = [1] * count
    for node, parent in enumerate(tree.parents.tolist()):
        if parent >= 0:
            counts[parent] += counts[node]
    if not np.array_equal(tree.first_nodes, np.arange(1, count + 1) - counts):
        raise ValueError("the nodes of the tree are not in postorder")
    return tree


def _check_tree_separates(graph: Graph, found: Ordering, tree: SeparatorTree) -> None:
    """Check that each edge joins a node of the tree and itself or one above it."""
    firsts = tree.first_nodes
    node_of = np.repeat(np.arange(len(tree)), tree.sizes)[found.iperm]
    tails, heads = node_of[graph.sources(0, graph.n)], node_of[graph.indices]
    if (firsts[np.maximum(tails, heads)] > np.minimum(tails, heads)).any():
        raise ValueError("an entry joins two subtrees of the tree")


def _check_constraints(constraints: Constraints, found: Ordering, tree: SeparatorTree) -> None:
    """Check that an order keeps its constraints."""
    perm, last = found.perm, constraints.last
    first = len(perm) - len(last)
    order, _ = constraints.expand(*constraints.shrink(perm, tree))
    is_kept = np.array_equal(np.sort(perm[first:]), np.sort(last))
    is_kept &= len(last) == 0 or int(tree.starts[-2]) <= first
    if not (is_kept and np.array_equal(order, perm)):
        raise ValueError("the order breaks the constraints last or together")
