"""Graphs in files: one module per format, chosen by the name of the file."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from jetpy.build import as_graph
from jetpy.convert.raw import Rules
from jetpy.errors import FileFormatError
from jetpy.graph import Graph
from jetpy.io.compression import COMPRESSIONS, Progress, open_input, open_output, split_name
from jetpy.validate import check_n, checked_n

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
    module = _format(path, split_name(path)[1])
    checked = as_graph(graph, n=n)
    with open_output(path) as stream:
        module.write(stream, checked)


def _format(path: str | os.PathLike[str], suffix: str) -> Any:
    if suffix not in FORMATS:
        raise FileFormatError(
            f"{path}: {suffix or 'no suffix'!r} is no known graph format; known are "
            f"{', '.join(FORMATS)}, each also with {', '.join(COMPRESSIONS)}; jetpy mesh reads "
            "meshes"
        )
    return import_module(f"jetpy.io.{FORMATS[suffix]}")
