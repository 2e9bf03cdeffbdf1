"""Conversion of any supported object or file to a `Graph`, and output of graphs to files.

Each file format has a module; the suffix of the file selects it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from jetpy.device.in_place import graph_on_gpu
from jetpy.device.row_checks import are_symmetric
from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_of, with_sizes
from jetpy.graph.convert.data import has_edge_index, unpacked
from jetpy.graph.convert.objects import raw_of
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Pattern, Rules
from jetpy.graph.validate import check_n, checked_n

if TYPE_CHECKING:
    from jetpy.io.compression import Progress

FORMATS: dict[str, str] = {
    ".graph": "metis",
    ".metis": "metis",
    ".mtx": "matrix_market",
    ".npz": "npz",
    ".npy": "dense",
    ".parhip": "parhip",
    ".bgf": "parhip",
    ".txt": "edge_list",
    ".edges": "edge_list",
    ".el": "edge_list",
    ".tsv": "edge_list",
    ".csv": "edge_list",
}
"""Module of `jetpy.io` for each suffix, imported on first use."""


def as_graph(
    data: Any,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    vertex_sizes: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    repair: bool = False,
    pattern: Pattern = False,
    scale: bool = False,
    name: str = "graph",
) -> Graph:
    """Convert `data` to a `Graph` and validate it.

    Parameters
    ----------
    data : Graph, path, SciPy sparse matrix, array, tuple of arrays, or graph of another package
        - A `Graph` is returned unchanged, unless other weights are given, or `scale` is true and
          the sum of its weights needs 64 bits.
        - A path, str or `os.PathLike`, names a file for `read_graph`; the graph is named after the
          file.
        - The entries of a square SciPy sparse matrix or array are edge weights: integers,
          floats with integer values, or booleans for unit weights. Entries that are stored twice
          count as duplicate edges, stored zeros as zero weights. A matrix in CSR form may be used
          without a copy, so do not write to its arrays afterwards.
        - An array of integers of shape (2, E) is a list of directed edges, such as the
          ``edge_index`` of PyTorch Geometric. Any other square array is a dense matrix, whose zeros
          are not edges. An ambiguous array of shape (2, 2) is refused, unless `n` marks it as a
          list.
        - An object with `edge_index` and `num_nodes`, such as ``Data`` of PyTorch Geometric, has a
          list of directed edges and the number of vertices. Its `edge_weight`, of shape (E,), if
          any, holds the edge weights, unless `weight` is None. `edge_attr` is ignored; pass a
          column of it as `edge_weights`.
        - Arrays and sparse matrices of torch, CuPy and other packages with DLPack are copied to
          the host where necessary; so are weights.
        - A tuple is ``(indptr, indices[, edge_weights[, vertex_weights]])`` in compressed
          sparse row form; None stands for unit weights. Contiguous int32 arrays are used
          without a copy, so do not write to them afterwards.
        - A graph of networkx, igraph, NetworKit, rustworkx or GerryChain. The vertices of networkx
          are numbered in iteration order. The nodes of networkx, the node indices of rustworkx, and
          the attribute "name" of igraph if its values are distinct, become `names`. An edge of
          rustworkx weighs the number that it carries. If it carries a mapping, and for nodes,
          `weight` and `node_weight` are keys of the mapping.
        - A `Graph`, `W` or `WSP` of libpysal. Its values are edge weights, and its ids become
          `names`.
        - A mesh of scikit-fem or trimesh, or ``gmsh.model``, means its dual graph: the vertices are
          the elements of the highest dimension, and those that share a facet are neighbours. The
          tags of Gmsh's elements become `names`. For other meshes, see `jetpy.dual_graph`.
    vertex_weights : whole numbers from 0 on, shape (n,), optional
        Replace the vertex weights of `data`.
        Also whole numbers from 0 on, shape (n, c), for c weights of each vertex:
        `constraint_weights` of the graph, which `partition` and `refine` balance. A shape of (n, 1)
        means the same as (n,).
    edge_weights : whole numbers from 0 on, a weight for each directed edge, optional
        Replace the edge weights of `data`, in the order of its entries.
    vertex_sizes : whole numbers from 0 on, shape (n,), optional
        Amount of data that each vertex sends: the communication volume counts a vertex this often,
        instead of once. They sum to less than 2**31, and replace the sizes of `data`.
    weight, node_weight : str or None
        Attributes of networkx, igraph, rustworkx and GerryChain that hold weights, 1 where they are
        missing. None means unit weights, for NetworKit, libpysal and PyTorch Geometric, too. If no
        edge or node has the attribute, its name must be "weight", and all weights are 1.
    n : int, optional
        Number of vertices, 0..2**31 - 2. An edge list, as an array or in a file, cannot show
        isolated vertices after its largest id: by default, `n` is this id plus 1. If `data` has a
        number of vertices, `n` must equal it.
    repair : bool
        Repair the graph: drop self-loops of any weight, merge duplicate edges (adding their
        weights), add missing reverse edges, and give two opposite edges the larger of their
        weights. A graph that needs no repair keeps the order of its adjacency; a repaired graph
        is sorted. The logger ``jetpy.input`` reports the repairs.
    pattern : bool or 'symmetric'
        Use only the positions of the entries: each entry off the diagonal is an edge of weight 1,
        in both directions. For matrices whose entries are not edge weights. With 'symmetric', an
        entry whose reverse is missing is refused.
    scale : bool
        Convert weights from 0 on that are not integers, or too large, to integers of nearly the
        same proportions, after any repair; 0 stays 0. For the first graph of the process, the
        logger ``jetpy.input`` reports the largest change.
    name : str
        Name of the graph in reports.

    Raises
    ------
    GraphError
        If the type of `data` is not supported, or `data` breaks a rule that `repair` does not (or
        may not) fix: ids out of range, weights that are not integers in 0..2**31 - 1 or sum
        to more than 2**46, more than 2**32 - 2**21 directed edges. The message names the first
        offending vertex or edge. If `n` differs from the number of vertices in `data`; the message
        names both. For a file, a `FileFormatError`, as in `read_graph`.
    OptionError
        If `n` is not an integer in 0..2**31 - 2.
    JetpyError
        If a file cannot be read.

    Examples
    --------
    >>> as_graph(([0, 1, 3, 4], [1, 0, 2, 1]), name="path")
    Graph('path', n=3, m=2)
    >>> import numpy as np
    >>> as_graph(np.array([[0, 1], [1, 0]]), n=4)  # vertices 2 and 3 have no edge
    Graph('graph', n=4, m=1)
    """
    n = checked_n(n)
    if isinstance(data, str | os.PathLike):
        data = read_graph(data, n=n, repair=repair, pattern=pattern, scale=scale)
        pattern = False  # every edge weighs 1 by now
    elif has_edge_index(data):
        data, own_weights, count = unpacked(data, weight)
        edge_weights = own_weights if edge_weights is None else edge_weights
        if n is not None and count is not None:
            check_n(n, count)
        n = count if n is None else n
    if isinstance(data, Graph):
        name = data.name
    graph: Graph | None = None
    if isinstance(data, Graph) and vertex_weights is edge_weights is None and not pattern:
        graph = None if scale and data.is_large else data
    elif not pattern:
        graph = graph_on_gpu(data, edge_weights, vertex_weights, n, name)
    if graph is None:
        raw = raw_of(data, weight, node_weight, n)
        if vertex_weights is not None:
            raw = replace(raw, vertex_weights=vertex_weights)
        if edge_weights is not None:
            raw = replace(raw, edge_weights=edge_weights)
        graph = graph_of(raw, Rules(repair, pattern, scale, None, are_symmetric), name)
    graph = with_sizes(graph, vertex_sizes)
    if n is not None:
        check_n(n, graph.n)
    return graph


@contextmanager
def without_options() -> Iterator[None]:
    """Add to messages that name options of `as_graph` that the caller lacks them."""
    try:
        yield
    except GraphError as error:
        if "=True (--" not in str(error):
            raise
        raise type(error)(f"{error}. Give jetpy.as_graph(graph, ...) with this option") from error


def read_graph(
    path: str | os.PathLike[str],
    *,
    n: int | None = None,
    repair: bool = False,
    pattern: Pattern = False,
    scale: bool = False,
    progress: Progress | None = None,
) -> Graph:
    """Read a graph from a file, whose suffix selects the format, or from a folder of arrays.

    Parameters
    ----------
    path : path
        METIS (``.graph``, ``.metis``), Matrix Market (``.mtx``), NumPy or SciPy archive
        (``.npz``), dense matrix (``.npy``), ParHiP's binary format (``.parhip``, ``.bgf``), or
        edge list (``.txt``, ``.edges``, ``.el``, ``.tsv``, ``.csv``), optionally followed by
        ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. Or a folder with ``indptr.npy``, ``indices.npy``
        and optionally ``edge_weights.npy`` and ``vertex_weights.npy``.
    n : int, optional
        Number of vertices, as for `as_graph`. It sets the size of an edge list without a first
        line ``# vertices N``; any other file must have `n` vertices.
    repair : bool
        Repair self-loops, duplicate edges and missing or unequal reverse edges, as `as_graph`
        does, instead of refusing them.
    pattern, scale : bool, or 'symmetric' for `pattern`
        As for `as_graph`.
    progress : function of a fraction, optional
        Called repeatedly with the fraction of the file read, at the end with 1. For a folder, the
        fraction restarts with each file.

    Raises
    ------
    FileFormatError
        If the contents do not match the format, or the graph breaks a rule. The message names
        the file, the line if the format has lines, and the problem.
    GraphError
        If the graph does not have `n` vertices.
    OptionError
        If `n` is not an integer in 0..2**31 - 2.
    MissingFileError
        If the file does not exist.
    JetpyError
        If the file cannot be read.
    """
    from jetpy.io.compression import open_input, split_name

    rules = Rules(repair, pattern, scale, checked_n(n), are_symmetric)
    if os.path.isdir(path):
        from jetpy.io import folder

        name = Path(path).resolve().name
        graph = folder.read(Path(path), rules=rules, name=name, progress=progress)
    else:
        stem, suffix, _ = split_name(path)
        module = _format(path, suffix)
        with open_input(path, progress) as stream:
            graph = module.read(stream, rules=rules, name=stem)
    if rules.n is not None:
        check_n(rules.n, graph.n, os.fspath(path))
    if progress is not None:
        progress(1.0)
    return graph


def write_graph(path: str | os.PathLike[str], graph: Any, *, n: int | None = None) -> None:
    """Write a graph to a file, in the format of its suffix (see `read_graph`).

    The file appears only when it is complete; until then, an existing file stays unchanged.

    Parameters
    ----------
    path : path
    graph : Graph, or anything that `as_graph` takes
    n : int, optional
        As for `as_graph`.

    Raises
    ------
    GraphError
        If `graph` is not a graph, or the format cannot hold it (edge lists and Matrix Market files
        have no vertex weights).
    JetpyError
        If the file cannot be written.
    """
    from jetpy.io.compression import open_output, split_name

    module = _format(path, split_name(path)[1])
    checked = as_graph(graph, n=n)
    with open_output(path) as stream:
        module.write(stream, checked)


def _format(path: str | os.PathLike[str], suffix: str) -> Any:
    if suffix not in FORMATS:
        from jetpy.io.compression import COMPRESSIONS

        raise FileFormatError(
            f"{path}: {suffix or 'no suffix'!r} is not a graph format; the formats are "
            f"{', '.join(FORMATS)}, each also with {', '.join(COMPRESSIONS)}; for a mesh, use "
            "jetpy mesh, or jetpy.dual_graph in Python"
        )
    return import_module(f"jetpy.io.{FORMATS[suffix]}")
