"""Random graphs, numbers of parts and options for all kinds of problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from jetpy.coarsening.methods import COARSENINGS
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.problem.checked import read_value
from jetpy.problem.options import Options
from jetpy.problem.presets import PRESETS
from jetpy.problem.problem import SEEDS
from jetpy.refinement.methods import REFINEMENTS
from tests.fuzz.checks import Finding
from tests.fuzz.choices import Choices, Random
from tests.fuzz.oracles import Ints, Parts
from tests.fuzz.structures import STRUCTURES, WEIGHTS, graph, weights

WIDTHS = {
    "narrow": INT32_MAX,
    "just narrow": INT32_MAX // 2,
    "just wide": INT32_MAX + 1,
    "wide": 2**36,
}
"""Maximum weight sum of a graph; above 2**31 - 1, wide kernels run."""
CHANGES = (
    *(("coarsen.rating", "weight"), ("coarsen.light_edges", "true"), ("coarsen.bounded", "false")),
    *(("coarsen.coarsest", rule) for rule in ("jet", "per-part", "finest-share")),
    *(("initial.method", method) for method in ("metis", "metis-kway")),
    *(("refine.afterburner", "false"), ("refine.locks", "false"), ("refine.finest_ratios", "0")),
    *(("refine.weak_rounds", "none"), ("refine.weak_rounds", "0"), ("refine.overfill", "none")),
    *(("refine.strong_fill", "average"), ("refine.check_room", "false")),
    *(("refine.extra_patience", "false"), ("refine.patience", "1"), ("refine.flow_sweeps", "3")),
    *(("refine.coarse_tolerance", "none"), ("branch_shrink", "0"), ("cycles", "1")),
    *(("initial.task_size", "0"), ("initial.task_size", "1000")),
)
"""Changes of single options, as `--set` takes them."""
TASKS = (
    *("small.max_degree=1000", "small.max_vertices=0", "small.flow_levels=0", "small.hops=9"),
    *("small.cycles=3", "small.min_tries=3", "small.middle=50", "small.bisections=3"),
    *("small.coarsest=2", "small.per_part=1", "small.growings=1"),
)
"""Changes of options of small graphs."""
SHARES = ("2", "3", "8", "32", "anything", "n / 2", "n / 3", "n")
CHOICES: Choices = {
    "structure": list(STRUCTURES),
    "vertex weights": ["unit"] * 4 + list(WEIGHTS),
    "edge weights": ["unit"] * 4 + list(WEIGHTS),
    "width": ["narrow"] * 12 + list(WIDTHS),
    "k": SHARES,
    "imbalance": (0.0, 0.01, 0.03, 0.03, 0.1, 0.1, 0.5, 3.0, 100.0),
    "preset": list(PRESETS),
    "coarsening": [None, *COARSENINGS],
    "refinement": [None, *REFINEMENTS],
    "option": [None] * 12 + [f"{name}={value}" for name, value in CHANGES],
    "task": [None] * 22 + ["", *TASKS],
    "level of tasks": [None, 0, 0, 1000],
    "generations": [None, 1, 2, 5],
    "objective": ["cut"] * 6 + ["volume"] * 2 + ["connected"],
    "vertex sizes": ["none"] * 4 + ["zero", "half zero", *WEIGHTS],
}
Engine = dict[str, Any]
"""Arguments `backend` and `threads` of the functions of jetpy."""


class Problem(Protocol):
    """A random problem, which `str` describes."""

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        """Solve the problem on each engine, compare the results, and check the first one."""
        ...


class Solvable(Problem, Protocol):
    """A problem with a partition as its result."""

    def parts(self, engine: Engine) -> Parts:
        """Return the parts that an engine finds."""
        ...


def any_of(rng: Random, what: str) -> Any:
    """Pick a value of a choice that all kinds of problems have."""
    return rng.pick(what, CHOICES[what])


def any_graph(
    rng: Random, *, most: int | None = INT32_MAX, largest: int = 3000, smallest: int = 1
) -> Graph:
    """Return a random graph, in four of five cases with at most 400 vertices.

    It has at least `smallest` vertices, except for structures that round the number. The weights
    sum to at most `most`; if it is None, they may need wide kernels.
    """
    if most is None:
        most = WIDTHS[any_of(rng, "width")]
    top = largest if rng.random() < 0.2 else min(largest, 400)
    n = int(np.exp(rng.uniform(np.log(smallest), np.log(top))))
    vertices, edges = any_of(rng, "vertex weights"), any_of(rng, "edge weights")
    return graph(rng, any_of(rng, "structure"), n, vertices, edges, most=most)


def any_k(rng: Random, n: int) -> int:
    """Return a number of parts up to n + 5: small, random, or near n, n / 2 or n / 3."""
    near = int(rng.integers(-3, 4))
    anything = int(rng.integers(1, n + 6))
    numbers = [2, 3, 8, 32, anything, n // 2 + near, n // 3, n + near]
    k = dict(zip(SHARES, numbers, strict=True))[any_of(rng, "k")]
    return max(1, min(k, n + 5))


def any_sizes(rng: Random, graph: Graph) -> Graph:
    """Return the graph, with vertex sizes or without."""
    kind = any_of(rng, "vertex sizes")
    if kind == "none":
        return graph
    return replace(graph, vertex_sizes=any_column(rng, kind, graph.n).astype(np.int32))


def any_column(rng: Random, kind: str, n: int) -> Ints:
    """Return n weights of a kind of `WEIGHTS`, or zeros, or small weights among zeros."""
    if kind == "zero":
        return np.zeros(n, np.int64)
    if kind == "half zero":
        return weights(rng, "small", n, INT32_MAX) * rng.integers(2, size=n)
    return weights(rng, kind, n, INT32_MAX)


def any_goal(rng: Random) -> dict[str, Any]:
    """Return an imbalance and a seed."""
    goal = {"imbalance": any_of(rng, "imbalance"), "seed": int(rng.integers(SEEDS))}
    return {**goal, "large_imbalance": True} if goal["imbalance"] >= 1 else goal


def any_methods(rng: Random) -> dict[str, Any]:
    """Return a preset, and methods that may override those of the preset."""
    return {what: any_of(rng, what) for what in ("preset", "coarsening", "refinement")}


def any_options(rng: Random) -> dict[str, Any]:
    """Return `any_methods`, and sometimes a change of a single option.

    In a third of the cases, the options are those with which tasks partition small graphs.
    """
    task, change, methods = any_of(rng, "task"), any_of(rng, "option"), any_methods(rng)
    if task is not None:
        methods, change = {"preset": rng.pick("preset", ("default", "fast"))}, task
    if not change:
        return methods
    name, _, value = change.partition("=")
    size = None if task is not None else any_of(rng, "level of tasks")
    sizes = {} if size is None else {"initial.task_size": size}
    return {**methods, "options": {**sizes, name: read_value(Options, name, value)}}


def any_objective(rng: Random) -> dict[str, Any]:
    """Return an objective, or the option for connected parts."""
    objective = any_of(rng, "objective")
    return {"connected": True} if objective == "connected" else {"objective": objective}


def supporting(engines: Sequence[Engine], graph: Graph) -> Sequence[Engine]:
    """Return the engines that support a graph: not all back ends have wide kernels."""
    wide = [engine for engine in engines if engine["backend"] in ("cpu", "cuda")]
    return wide if graph.is_large else engines


def spelled(options: dict[str, Any]) -> str:
    """Return options as text."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
