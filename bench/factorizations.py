"""Seconds of real Cholesky factorizations by CHOLMOD, with the orders of each tool.

The matrix is the Laplacian of a graph plus the identity. Its rows are in the order of the tool, and
CHOLMOD keeps this order, except for a postorder of the elimination tree. A process for each matrix
and tool orders and factorizes, and solves a system to check the factor.

The program skips cases that the result file already contains. Without --graphs and --generated,
it only prints the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

import jetpy
from bench.harness import Experiment
from bench.instances import Instance, selected
from bench.matrices import RECIPES, half_of
from bench.ordering_tools import BASELINE, OPTIONS, TOOLS, Job, job_of
from bench.records import Record, by_tool
from bench.tables import ratio_text, show
from jetpy.graph.csr import IntArray

HEADERS = ["matrix", "half", "tool", "operations", "ordering, s", "factorization, s", "over METIS"]


def laplacian(graph: jetpy.Graph, perm: IntArray) -> Any:
    """Return the Laplacian of a graph plus the identity, CSC, float64, with rows in an order."""
    rows = sp.csr_array((np.full(len(graph.indices), -1.0), graph.indices, graph.indptr))
    matrix = rows + sp.diags_array(graph.degrees + 1.0)
    return sp.csc_matrix(sp.csr_array(matrix)[perm][:, perm])


def factorized(matrix: Any) -> tuple[float, float]:
    """Factorize with CHOLMOD; return the seconds, and the largest residual of a solution."""
    from sksparse.cholmod import analyze

    factor = analyze(matrix, mode="supernodal", ordering_method="natural")
    start = perf_counter()
    factor.cholesky_inplace(matrix)
    seconds = perf_counter() - start
    ones = np.ones(matrix.shape[0])
    return seconds, float(abs(matrix @ factor(ones) - ones).max())


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Order and factorize a matrix with each tool, with its first seed."""
    for case in cases:
        yield measured(case["tool"], job_of(folder, settings))


def measured(tool: str, job: Job) -> Record:
    """Return what the order of a tool costs."""
    perm, ordering_seconds = TOOLS[tool].prepare(job)(TOOLS[tool].seeds[0])
    found = jetpy.symbolic(job.graph, perm)
    seconds, residual = factorized(laplacian(job.graph, perm))
    return {
        "fill": found.fill,
        "operations": found.operations,
        "ordering_seconds": round(ordering_seconds, 6),
        "seconds": round(seconds, 6),
        "residual": residual,
    }


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield the tools."""
    for tool in options.tools:
        yield {"tool": tool, "half": half_of(instance.name), "threads": options.threads}


def rows_of(records: Sequence[Record]) -> list[list[str]]:
    """Return a row for each matrix and tool, by matrix."""
    baseline = by_tool(records, "graph").get(BASELINE, {})
    rows = []
    for record in sorted(records, key=lambda record: (record["half"], record["graph"])):
        base = baseline.get((record["graph"],))
        rows.append(
            [
                *(record["graph"], record["half"], record["tool"], f"{record['operations']:.4g}"),
                *(f"{record['ordering_seconds']:.2f}", f"{record['seconds']:.2f}"),
                ratio_text(base and record["seconds"] / base["seconds"]),
            ]
        )
    return rows


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the table."""
    show("CHOLMOD", HEADERS, rows_of(records), left=3, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="factorizations",
    doc=__doc__,
    options=OPTIONS,
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "tool"),
    select=partial(selected, recipes=RECIPES),
)

if __name__ == "__main__":
    EXPERIMENT.main()
