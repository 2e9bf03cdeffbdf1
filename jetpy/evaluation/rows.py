"""Rows of name and value that describe graphs and runs, for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from jetpy.errors import count
from jetpy.graph.csr import Graph
from jetpy.problem.checked import value_text
from jetpy.problem.options import Options
from jetpy.problem.presets import differences

Rows = list[tuple[str, str]]
Weights = npt.NDArray[np.int64]

MAX_CHANGES = 4
"""Maximum number of changed options in the description of a run; with more, their number."""


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as text, with right-aligned columns.

    >>> print(text_table(("n", "cut"), [("1,000", "7"), ("10", "12")]))
        n  cut
    1,000    7
       10   12
    """
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in (headers, *rows)
    )


def graph_text(graph: Graph) -> str:
    """Return the name and size of a graph."""
    return f"{graph.name}: {graph.n:,} vertices, {graph.m:,} edges"


def matrix_text(graph: Graph) -> str:
    """Return the name and size of a matrix, given its graph."""
    return f"{graph.name}: {count(graph.n, 'row')}, {2 * graph.m:,} entries off the diagonal"


def cut_text(cut: int, graph: Graph) -> str:
    """Return a cut and its percentage of the total edge weight."""
    total = graph.total_edge_weight
    return f"{cut:,} ({100 * cut / total:.2f} % of the edge weight)" if total else "0"


def cost_rows(cost: int, by_level: Sequence[int]) -> Rows:
    """Return rows for the cost of a mapping and the cost of each level, lowest first."""
    rows = [("cost", f"{cost:,}")]
    if by_level:
        rows.append(("cost by level", " + ".join(f"{share:,}" for share in by_level)))
    return rows


def changes_text(options: Options, base: Options | None) -> str:
    """Return the options that differ from `base`, each after a comma."""
    changes = differences(options, base)
    text = ""
    for name in ("coarsening", "refinement"):
        group = "coarsen" if name == "coarsening" else "refine"
        if f"{group}.method" in changes:
            text += f", {name} {changes[f'{group}.method']}"
            changes = {o: v for o, v in changes.items() if not o.startswith(f"{group}.")}
    if len(changes) > MAX_CHANGES:
        return f"{text}, {len(changes)} other options"
    return text + "".join(f", {option} {value_text(value)}" for option, value in changes.items())


def engine_text(backend: str, threads: int, gpu: int | None, *, gpu_skipped: bool = False) -> str:
    """Return the engine, and why it is not a GPU if one was skipped and CuPy is installed."""
    if gpu is not None:
        return f"{backend} (GPU {gpu}), {count(threads, 'host thread')}"
    text = f"{backend}, {count(threads, 'thread')}"
    if gpu_skipped and find_spec("cupy") is not None:
        return f"{text} (small graph: starting a GPU would take longer)"
    return text


def balance_rows(
    weights: Weights, limits: Weights, lower_limits: Weights, imbalance: float, noun: str
) -> Rows:
    """Describe the balance of parts, called `noun`; arrays (k,), or (k, c) for several weights.

    Lower limits have rows unless all are 0.
    """
    heaviest = (weights / limits.clip(1)).argmax(axis=0)
    rows = _limit_rows("limit", f"heaviest {noun}", weights, limits, heaviest)
    if lower_limits.any():
        lightest = (weights - lower_limits).argmin(axis=0)
        rows += _limit_rows("lower limit", f"lightest {noun}", weights, lower_limits, lightest)
    feasible = ((lower_limits <= weights) & (weights <= limits)).all()
    balance = ("imbalance", f"{imbalance:.4f}")
    return [balance, *rows, ("feasible", "yes" if feasible else "NO")]


def _limit_rows(
    name: str, extreme: str, weights: Weights, limits: Weights, parts: npt.NDArray[np.intp]
) -> Rows:
    """Return a row for each weight, with its limits and one part, the `extreme` one."""
    noun = extreme.split()[-1]
    rows = []
    columns = (array.reshape(len(array), -1).T for array in (weights, limits))
    for j, (own, bounds) in enumerate(zip(*columns, strict=True)):
        p = parts.flat[j]
        if (bounds == bounds[0]).all():
            text = f"{bounds[p]:,}; the {extreme} weighs {own[p]:,}"
        else:
            range_of = f"{bounds.min():,} to {bounds.max():,}"
            text = f"{range_of}; {noun} {p} weighs {own[p]:,} of {bounds[p]:,}"
        rows.append((name if weights.ndim == 1 else f"{name}, weight {j}", text))
    return rows


def seconds_row(seconds: Mapping[str, float]) -> tuple[str, str]:
    """Return the total time of a run and the times of its stages."""
    stages = ", ".join(
        f"{stage} {seconds[stage]:.2f}" for stage in ("coarsen", "initial", "refine")
    )
    return "seconds", f"{seconds['total']:.2f} ({stages})"


def moved_row(vertices: int, weight: int, total: int) -> tuple[str, str]:
    """Describe the vertices that have left their homes, given the total vertex weight."""
    share = 100 * weight / max(total, 1)
    return "moved vertices", f"{vertices:,}; weight {weight:,} ({share:.1f} % of the total)"
