"""Hierarchies of a graph as objects: partition, refine, and move values between levels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.plans import Solved
from jetpy.api.request import Request, make_request
from jetpy.api.run import Execution, run
from jetpy.engines.base import Backend
from jetpy.errors import GraphError, OptionError
from jetpy.evaluation.rows import text_table
from jetpy.graph.checks import integer, one_of
from jetpy.graph.csr import Graph
from jetpy.graph.dlpack import on_host
from jetpy.graph.levels import GraphLevel, checked_levels, contracted_levels
from jetpy.graph.transfer import REDUCTIONS, Groups, composed, placed, using
from jetpy.graph.validate import check_one_weight
from jetpy.io.graphs import as_graph, without_options
from jetpy.io.hierarchy import HierarchySettings, read_levels, write_hierarchy
from jetpy.multilevel.solver import HierarchySolver
from jetpy.problem.metrics import checked_parts
from jetpy.problem.options import Options
from jetpy.problem.presets import choose, name_of
from jetpy.problem.problem import as_even_as
from jetpy.progress import Progress, ProgressOption
from jetpy.result.partition import Partition

HEADERS = ("level", "vertices", "edges", "ratio", "s")
SINGLE: dict[str, Any] = {
    "branches": (),
    "cycles": 0,
    "generations": 1,
    "initial.task_size": 0,
}
"""Options of a run on one hierarchy, which makes no other."""


class Hierarchy:
    """A graph and ever coarser graphs, each a contraction of the previous one.

    `jetpy.coarsen` makes a hierarchy and `jetpy.read_hierarchy` reads one. This constructor takes a
    hierarchy from elsewhere, for example from another partitioner, and checks it. A hierarchy
    prints as a table with one row per level; the column "ratio" has the number of vertices divided
    by that of the next finer level, and the column "s" the seconds of its coarsening.

    Parameters
    ----------
    graphs : list of graphs, or one graph
        The graphs, finest first, in any form that `as_graph` takes; or the finest graph alone,
        which jetpy contracts. A tuple counts as one graph unless its items are `Graph`.
    maps : sequence of arrays of int
        The map of each level to the next coarser one: one map fewer than graphs, each of shape
        (n,), with the coarse vertex of each vertex, 0-based. Each coarse vertex contains at least
        one vertex.

    Attributes
    ----------
    levels : tuple of GraphLevel
        The levels, finest first; level 0 is the graph itself.
    k : int or None
        Number of parts that the hierarchy was made for; None for a hierarchy from elsewhere.
    imbalance, seed, preset, options
        The arguments of `jetpy.coarsen`, or their defaults for a hierarchy from elsewhere.

    Raises
    ------
    GraphError
        If a graph or a map is invalid, or a graph is not the contraction of the next finer one: its
        vertices must weigh as much as the vertices that they contain, and its edges as much as
        the edges between these.

    Examples
    --------
    >>> import jetpy
    >>> path = jetpy.generators.grid(4, 1)
    >>> hierarchy = jetpy.Hierarchy(path, [[0, 0, 1, 1]])
    >>> hierarchy.levels[1].vertex_weights
    array([2, 2], dtype=int32)
    """

    levels: tuple[GraphLevel, ...]
    k: int | None
    imbalance: float
    seed: int
    preset: str
    options: Options

    def __init__(self, graphs: Any, maps: Sequence[npt.ArrayLike]) -> None:
        is_list = _are_graphs(graphs)
        with without_options():
            listed = [as_graph(graph) for graph in (graphs if is_list else [graphs])]
        for graph in listed:
            check_one_weight(graph, "Hierarchy")
        levels = checked_levels(listed, maps) if is_list else contracted_levels(listed[0], maps)
        self._open(levels, HierarchySettings())

    @classmethod
    def of(cls, levels: Sequence[GraphLevel], settings: HierarchySettings) -> Hierarchy:
        """Return a hierarchy of checked levels."""
        hierarchy = object.__new__(cls)
        hierarchy._open(tuple(levels), settings)
        return hierarchy

    def _open(self, levels: tuple[GraphLevel, ...], settings: HierarchySettings) -> None:
        self.levels, self._settings = levels, settings
        self.k, self.imbalance, self.seed = settings.k, settings.imbalance, settings.seed
        self.preset, self.options = settings.preset, settings.options

    @property
    def graph(self) -> Graph:
        """The finest graph."""
        return self.levels[0].graph

    def __len__(self) -> int:
        """Return the number of levels."""
        return len(self.levels)

    def partition(
        self,
        k: int | None = None,
        *,
        imbalance: float | None = None,
        large_imbalance: bool = False,
        targets: npt.ArrayLike | None = None,
        seed: int | None = None,
        preset: choices.Preset | None = None,
        options: Options | Mapping[str, Any] | None = None,
        backend: choices.Backend = "auto",
        threads: int | None = None,
        device: int | bool | None = None,
        progress: ProgressOption = None,
        profile: bool = False,
    ) -> Partition:
        """Partition the coarsest graph, and refine the partition on every level.

        With the arguments of `coarsen`, the result is that of `jetpy.partition`, if its options
        have a single hierarchy without V-cycles, down to the coarsest level: with the presets
        `jet`, `gkway` and their variants, with `fast` if the graph is not small (`SmallOptions`),
        or with ``options={"branches": (), "cycles": 0, "initial.task_size": 0}``.

        Parameters
        ----------
        k : int, optional
            Number of parts; by default that of the hierarchy.
        imbalance, seed : optional
            As for `jetpy.partition`; by default those of the hierarchy.
        large_imbalance, targets, backend, threads, device, progress, profile
            As for `jetpy.partition`.
        preset : str, optional
            Preset of the initial partition and of refinement; by default that of the hierarchy.
        options : Options or mapping, optional
            Values of single options by name, which replace those of the hierarchy; or all options.
            The options of coarsening stay those of the hierarchy. As there is one hierarchy,
            `branches` is empty, `cycles` and `initial.task_size` are 0, and `generations` is 1.

        Returns
        -------
        Partition

        Raises
        ------
        OptionError
            If an option is out of range or unknown, a mapping changes one that has no effect
            here, or `k` is missing for a hierarchy from elsewhere.
        BackendError
            As for `jetpy.partition`.

        Examples
        --------
        >>> import jetpy
        >>> grid = jetpy.generators.grid(60, 60)
        >>> hierarchy = jetpy.coarsen(grid, 4, preset="fast", threads=1)
        >>> found = hierarchy.partition(threads=1)
        >>> options = {"small.max_vertices": 0}
        >>> whole = jetpy.partition(grid, 4, preset="fast", options=options)
        >>> bool((found.parts == whole.parts).all())
        True
        """
        if k is None:
            k = self.k
        if k is None:
            raise OptionError("k is missing; the hierarchy was not made for a number of parts")
        request = self._request(
            k, imbalance, large_imbalance, targets, seed, preset, options, fill=True
        )
        solver = HierarchySolver(self.graph, request.problem, levels=self.levels)

        def work(engine: Backend, progress: Progress) -> Solved:
            return Solved.of(request, solver.solve(engine, request.effort, progress))

        return run(work, request, Execution(backend, threads, device, progress, profile))[0]

    def refine(
        self,
        parts: npt.ArrayLike,
        k: int | None = None,
        *,
        level: int = -1,
        imbalance: float | None = None,
        large_imbalance: bool = False,
        targets: npt.ArrayLike | None = None,
        seed: int | None = None,
        preset: choices.Preset | None = None,
        options: Options | Mapping[str, Any] | None = None,
        fill_empty: bool = False,
        backend: choices.Backend = "auto",
        threads: int | None = None,
        device: int | bool | None = None,
        progress: ProgressOption = None,
        profile: bool = False,
    ) -> Partition:
        """Refine a partition of a level on this level and every finer one.

        With one hierarchy and one partition of its coarsest graph, several refinements can be
        compared alone, as in section 5.1 of Gilbert et al., "Jet", SISC 2024. On level 0, the
        result is that of `jetpy.refine` with the option `cycles` 0. On a coarser level, the result
        may be worse than `parts`, because parts may exceed their limits on coarse levels by a
        fraction of a vertex.

        Parameters
        ----------
        parts : array of int, shape (n,)
            Part of each vertex of the level, 0..k-1.
        k : int, optional
            Number of parts; by default that of the hierarchy, or one more than the largest entry of
            `parts`.
        level : int
            Index of the level; -1 is the coarsest.
        imbalance, seed : optional
            As for `jetpy.partition`; by default those of the hierarchy.
        large_imbalance, targets, backend, threads, device, progress, profile
            As for `jetpy.partition`.
        preset, options
            As for the method `partition`.
        fill_empty : bool
            After refinement, move a vertex into each empty part, as `partition` does.

        Returns
        -------
        Partition
            A partition of the finest graph.

        Raises
        ------
        GraphError
            If `parts` does not fit the level or `k`.
        OptionError
            As for `partition`, or if there is no such level.
        BackendError
            As for `jetpy.partition`.

        Examples
        --------
        >>> import jetpy
        >>> hierarchy = jetpy.coarsen(jetpy.generators.grid(60, 60), 4, threads=1)
        >>> start = jetpy.partition(hierarchy.levels[-1].graph, 4, threads=1)
        >>> better = hierarchy.refine(start.parts, options={"refine.patience": 30}, threads=1)
        >>> better.feasible, better.cut < start.cut
        (True, True)
        """
        depth = self._index("level", level)
        k = self.k if k is None else k
        given = checked_parts(self.levels[depth].graph, parts, k)
        request = self._request(
            int(given.max(initial=0)) + 1 if k is None else k,
            imbalance,
            large_imbalance,
            targets,
            seed,
            preset,
            options,
            fill=fill_empty,
        )
        if not request.problem.total:
            finest = on_host(self.project(given, depth))
            sizes = np.bincount(finest, minlength=request.problem.k)
            request = replace(request, problem=as_even_as(request.problem, sizes))
        solver = HierarchySolver(self.graph, request.problem, levels=self.levels[: depth + 1])

        def work(engine: Backend, progress: Progress) -> Solved:
            return Solved.of(request, solver.refine(engine, given, progress))

        return run(work, request, Execution(backend, threads, device, progress, profile))[0]

    def project(self, values: Any, from_level: int = -1, to_level: int = 0) -> Any:
        """Return values of a level as values of a finer one: each vertex gets its coarse vertex's.

        Parameters
        ----------
        values : array, shape (n, ...)
            Parts or other values of the vertices of `from_level`, of any dtype.
        from_level, to_level : int
            Indices of the levels; -1 is the coarsest. `to_level` is not coarser.

        Returns
        -------
        array, shape (n of `to_level`, ...)
            Of the dtype of `values`; a CuPy array if they are on a GPU, otherwise a NumPy array.

        Raises
        ------
        GraphError
            If `values` does not have one entry for each vertex of the level.
        OptionError
            If there is no such level, or `to_level` is coarser.

        Examples
        --------
        >>> import jetpy
        >>> hierarchy = jetpy.Hierarchy(jetpy.generators.grid(4, 1), [[0, 0, 1, 1]])
        >>> hierarchy.project([7, 8])
        array([7, 7, 8, 8])
        """
        coarse, fine = self._index("from_level", from_level), self._index("to_level", to_level)
        if fine > coarse:
            raise OptionError(
                f"to_level is {to_level}, which is coarser than from_level, {from_level}; use "
                "restrict"
            )
        array, xp = placed(values, self.levels[coarse].n, coarse)
        if fine == coarse:
            return array
        with using(array, xp):
            return array[composed(self._maps(fine, coarse), xp)]

    def restrict(
        self,
        values: Any,
        from_level: int = 0,
        to_level: int = -1,
        how: choices.Reduction = "sum",
    ) -> Any:
        """Return values of a level as values of a coarser one.

        A coarse vertex gets the sum, the mean, the maximum, or the first value of the vertices of
        `from_level` that it contains. The first is the one with the lowest id.

        Parameters
        ----------
        values : array of numbers, shape (n, ...)
            Values of the vertices of `from_level`; real for 'max', of any dtype for 'first'.
        from_level, to_level : int
            Indices of the levels; -1 is the coarsest. `to_level` is not finer.
        how : {'sum', 'mean', 'max', 'first'}
            The mean does not depend on vertex weights: each vertex of `from_level` counts once.

        Returns
        -------
        array, shape (n of `to_level`, ...)
            Of the dtype of `values`, except that sums of integers are int64 (uint64 if they are
            unsigned) and their means float64. A CuPy array if they are on a GPU, otherwise a NumPy
            array. A GPU may round sums of floats differently.

        Raises
        ------
        GraphError
            If `values` does not have one entry for each vertex of the level, or they are not
            numbers.
        OptionError
            If there is no such level, `to_level` is finer, or `how` is unknown.

        Examples
        --------
        >>> import jetpy
        >>> hierarchy = jetpy.Hierarchy(jetpy.generators.grid(4, 1), [[0, 0, 1, 1]])
        >>> hierarchy.restrict([1, 2, 3, 6], how="mean")
        array([1.5, 4.5])
        """
        one_of(REDUCTIONS, "reduction", how)
        fine, coarse = self._index("from_level", from_level), self._index("to_level", to_level)
        if fine > coarse:
            raise OptionError(
                f"to_level is {to_level}, which is finer than from_level, {from_level}; use project"
            )
        array, xp = placed(values, self.levels[fine].n, fine)
        if how != "first" and array.dtype.kind not in ("biuf" if how == "max" else "biufc"):
            raise GraphError(f"the values are {array.dtype}; for {how!r}, they must be numbers")
        n = self.levels[coarse].n
        with using(array, xp):
            maps = self._maps(fine, coarse)
            coarse_of = composed(maps, xp) if maps else xp.arange(n)
            return REDUCTIONS[how](array, Groups.of(coarse_of, n, xp))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the hierarchy to one NumPy archive, which `jetpy.read_hierarchy` reads.

        The file appears only when it is complete. A further suffix (``.gz``, ``.bz2``, ``.xz``,
        ``.zst``) compresses it. It has the graphs, maps, settings and the coordinates of the finest
        graph, but not the names of its vertices.

        Raises
        ------
        JetpyError
            If the file cannot be written.
        """
        write_hierarchy(path, self.levels, self._settings)

    def __repr__(self) -> str:
        return text_table(HEADERS, list(self._rows()))

    def _rows(self) -> list[tuple[str, ...]]:
        ratios = [f"{coarse.n / fine.n:.2f}" for fine, coarse in pairwise(self.levels)]
        return [
            (f"{depth}", f"{level.n:,}", f"{level.m:,}", ratio, f"{level.seconds:.3f}")
            for depth, (level, ratio) in enumerate(zip(self.levels, ["", *ratios], strict=True))
        ]

    def _maps(self, fine: int, coarse: int) -> list[Any]:
        return [level.coarse_of for level in self.levels[fine:coarse]]

    def _index(self, name: str, level: int) -> int:
        """Return the index of a level, from 0 on."""
        index, count = integer(name, level), len(self.levels)
        if not -count <= index < count:
            raise OptionError(
                f"{name} is {level}; it must be in 0..{count - 1}, or from -1 (the coarsest level) "
                f"to -{count}"
            )
        return index % count

    def _request(
        self,
        k: int,
        imbalance: float | None,
        large_imbalance: bool,
        targets: npt.ArrayLike | None,
        seed: int | None,
        preset: choices.Preset | None,
        options: Options | Mapping[str, Any] | None,
        *,
        fill: bool,
    ) -> Request:
        """Return the request of a run on the finest graph."""
        if preset is None and not isinstance(options, Options):
            name, chosen = self.preset, self.options.changed(options or {})
        else:
            name = name_of(preset or "default", options)
            chosen = choose(preset or "default", options=options)
        effective = replace(chosen.changed(SINGLE), coarsen=self.options.coarsen)
        if isinstance(options, Mapping):
            _check_effect(chosen, effective, options)
        request = make_request(
            self.graph,
            k,
            imbalance=self.imbalance if imbalance is None else imbalance,
            large_imbalance=large_imbalance or imbalance is None,
            targets=targets,
            fixed=None,
            objective="cut",
            connected=False,
            seed=self.seed if seed is None else seed,
            preset="default",
            options=effective,
            fill=fill,
        )
        return replace(request, preset=name)


def read_hierarchy(path: str | os.PathLike[str]) -> Hierarchy:
    """Read a hierarchy that `Hierarchy.save` has written, and check it.

    Parameters
    ----------
    path : path

    Returns
    -------
    Hierarchy

    Raises
    ------
    FileFormatError
        If the file is not a hierarchy, is truncated, or breaks a rule. The message names the file.
    MissingFileError
        If the file does not exist.
    JetpyError
        If the file cannot be read.

    Examples
    --------
    >>> import jetpy
    >>> jetpy.Hierarchy(jetpy.generators.grid(4, 1), [[0, 0, 1, 1]]).save("path.npz")
    >>> jetpy.read_hierarchy("path.npz")
    level  vertices  edges  ratio      s
        0         4      3         0.000
        1         2      1   0.50  0.000
    """
    return Hierarchy.of(*read_levels(path))


def _are_graphs(graphs: Any) -> bool:
    """Return whether an argument is a sequence of graphs rather than one graph."""
    is_tuple = isinstance(graphs, tuple) and all(isinstance(graph, Graph) for graph in graphs)
    return isinstance(graphs, list) or is_tuple


def _check_effect(chosen: Options, effective: Options, changes: Mapping[str, Any]) -> None:
    """Check that the options that a caller changes have an effect on a given hierarchy.

    Raises
    ------
    OptionError
        If one of them does not.
    """
    wanted, used = chosen.values(), effective.values()
    for name in changes:
        if wanted[name] != used[name]:
            raise OptionError(
                f"{name} is {wanted[name]!r}; on a given hierarchy, it must be {used[name]!r}. "
                "Pass options of coarsening to jetpy.coarsen"
            )
