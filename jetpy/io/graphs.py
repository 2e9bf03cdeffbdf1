"""The one way in for graphs of all kinds, and their files.

There is one module per format, chosen by the name of the file.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from jetpy.device.in_place import graph_on_gpu
from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.convert.data import has_edge_index, unpacked
from jetpy.graph.convert.objects import raw_of
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Rules
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
"""Module of `jetpy.io` that reads and writes each suffix; it is imported when it is needed."""


def as_graph(
    data: Any,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    name: str = "graph",
) -> Graph:
    """Make a `Graph` out of `data`, after checking everything about it.

    Parameters
    ----------
    data : Graph, path, SciPy sparse matrix, array, tuple of arrays, or graph of another package
        - A `Graph` is returned as it is, unless it gets other weights.
        - A path, str or `os.PathLike`, is that of a file, which `read_graph` reads; its name is
          that of the graph.
        - The entries of a square SciPy sparse matrix or array are edge weights: integers,
          whole floats, or booleans for unit weights. Entries that are stored twice count as
          duplicate edges, stored zeros as zero weights.
        - An array of integers of shape (2, E) is a list of directed edges, such as the
          ``edge_index`` of PyTorch Geometric; any other square one is a dense matrix, whose zeros
          are no edges (one of shape (2, 2) is refused where that matters, unless `n` says that it
          is a list).
        - An object with `edge_index` and `num_nodes`, such as ``Data`` of PyTorch Geometric: such a
          list of directed edges, and the number of vertices. If it has `edge_weight`, of shape
          (E,), these are the weights of the edges, unless `weight` is None. `edge_attr` is not
          used; give a column of it as `edge_weights`.
        - Arrays and sparse matrices of torch, CuPy and others that DLPack hands over are fetched to
          the host; so are weights.
        - A tuple is ``(indptr, indices[, edge_weights[, vertex_weights]])`` in compressed
          sparse row form; None stands for unit weights. Contiguous int32 arrays are taken
          over without a copy, so do not write to them afterwards.
        - A graph of networkx, igraph or NetworKit; vertices of the first are numbered in the
          order of iteration. Those of networkx, and the attribute "name" of igraph where no two are
          the same, become `names`.
    vertex_weights : positive whole numbers, shape (n,), optional
        Instead of those that `data` has.
    edge_weights : positive whole numbers, a weight for each directed edge, optional
        Instead of those that `data` has, in the order of its entries.
    weight, node_weight : str or None
        Attributes of networkx and igraph that hold weights, 1 where they are missing; None for
        unit weights, in NetworKit and PyTorch Geometric, too. Nothing but "weight" may be missing
        everywhere.
    n : int, optional
        Number of vertices, 0..2**31 - 2. An edge list, as an array or in a file, does not say how
        many of its last vertices have no edge: by default, there are as many vertices as the
        largest id plus 1. Where `data` says how many there are, `n` must be that number.
    repair : bool
        Mend what can be mended: drop self-loops, whatever they weigh, merge duplicate edges
        (adding their weights), add missing reverse edges, and give two opposite edges the larger of
        their weights. A graph that needs no repair keeps the order of its adjacency, a repaired one
        is sorted. The logger ``jetpy.input`` tells what was done.
    pattern : bool
        Take the places of entries alone, whatever they are: off the diagonal, each is an edge of
        weight 1, in both directions. For matrices whose entries are no counts.
    scale : bool
        Turn positive weights that are no integers, or too large, into integers of nearly the same
        proportions, after any repair; the logger ``jetpy.input`` tells how nearly.
    name : str
        Name of the graph in reports.

    Raises
    ------
    GraphError
        When `data` is of another type or breaks a rule that `repair` does not (or may not)
        mend: ids out of range, weights that are not positive integers below 2**31 or sum to more
        than 2**46, more than 2**32 - 2**21 directed edges. The message names the first offending
        vertex or edge. When `n` is not the number of vertices that `data` has; the message names
        both. Of a file, a `FileFormatError`, as `read_graph` does.
    OptionError
        When `n` is not an integer in 0..2**31 - 2.
    JetpyError
        When a file cannot be read at all.

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
        graph = data
    elif not pattern:
        graph = graph_on_gpu(data, edge_weights, vertex_weights, n, name)
    if graph is None:
        raw = raw_of(data, weight, node_weight, n)
        if vertex_weights is not None:
            raw = replace(raw, vertex_weights=vertex_weights)
        if edge_weights is not None:
            raw = replace(raw, edge_weights=edge_weights)
        graph = graph_of(raw, Rules(repair, pattern, scale), name)
    if n is not None:
        check_n(n, graph.n)
    return graph


def read_graph(
    path: str | os.PathLike[str],
    *,
    n: int | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: Progress | None = None,
) -> Graph:
    """Read a graph from a file, whose suffix tells the format, or from a folder of arrays.

    Parameters
    ----------
    path : path
        METIS (``.graph``, ``.metis``), Matrix Market (``.mtx``), NumPy or SciPy archive
        (``.npz``), dense matrix (``.npy``), ParHiP's binary format (``.parhip``, ``.bgf``), or
        edge list (``.txt``, ``.edges``, ``.el``, ``.tsv``, ``.csv``), possibly followed by
        ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. Or a folder with ``indptr.npy``, ``indices.npy``
        and maybe ``edge_weights.npy`` and ``vertex_weights.npy``.
    n : int, optional
        Number of vertices, as for `as_graph`. An edge list without a first line ``# vertices N``
        has that many; all other files must.
    repair : bool
        Mend self-loops, duplicate edges and missing or unequal reverse edges, as `as_graph`
        does, instead of refusing them.
    pattern, scale : bool
        As for `as_graph`.
    progress : function of a fraction, optional
        Called now and then with the fraction of the file read, at the end with 1; of a folder,
        with that of each file.

    Raises
    ------
    FileFormatError
        When the contents are not as the format wants them, or the graph breaks a rule. The
        message names the file, the line where there is one, and what is wrong.
    GraphError
        When the graph has another number of vertices than `n`.
    OptionError
        When `n` is not an integer in 0..2**31 - 2.
    MissingFileError
        When there is no such file.
    JetpyError
        When the file cannot be read at all.
    """
    from jetpy.io.compression import open_input, split_name

    rules = Rules(repair, pattern, scale, checked_n(n))
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

    The file is complete or not there at all; an existing one is replaced only at the end.

    Parameters
    ----------
    path : path
    graph : Graph, or anything that `as_graph` takes
    n : int, optional
        As for `as_graph`.

    Raises
    ------
    GraphError
        When the format cannot hold this graph (edge lists and Matrix Market files have no
        vertex weights), or it is none.
    JetpyError
        When the file cannot be written.
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
            f"{path}: {suffix or 'no suffix'!r} is no known graph format; known are "
            f"{', '.join(FORMATS)}, each also with {', '.join(COMPRESSIONS)}; jetpy mesh reads "
            "meshes"
        )
    return import_module(f"jetpy.io.{FORMATS[suffix]}")
