"""Seconds of real Cholesky factorizations by CHOLMOD, with the orders of each tool.

The matrix is the Laplacian of a graph plus the identity. Its rows are in the order of the tool, and
CHOLMOD keeps this order, except for a postorder of the elimination tree. One process per matrix
orders and factorizes with each tool in turn, and solves a system to check the factor.

The program skips matrices that the result file already contains. Without --graphs and --generated,
it only prints the table.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

import jetpy
from bench.child import Unavailable, answers, failures_noted, unavailability_answered
from bench.instances import add_options, selected
from bench.matrices import RECIPES, half_of
from bench.ordering_tools import BASELINE, TOOLS, Job, add_tool_options
from bench.records import Record, add_results_option, append_record, by_tool, read_records
from bench.tables import add_markdown_option, note, ratio_text, show
from jetpy.ordering.ordering import Permutation
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays, save_arrays

FILE = "factorizations.jsonl"
HEADERS = ["matrix", "half", "tool", "operations", "ordering, s", "factorization, s", "over METIS"]


def laplacian(graph: jetpy.Graph, perm: Permutation) -> Any:
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


def records_of(job: Job, tools: Sequence[str]) -> Iterator[Record]:
    """Order and factorize with each tool, with its first seed; yield a record for each."""
    for tool in tools:
        try:
            order = TOOLS[tool].prepare(job)
        except (Unavailable, ImportError) as reason:
            note(f"{tool} is left out: {reason}")
            continue
        perm, ordering_seconds = order(TOOLS[tool].seeds[0])
        found = jetpy.symbolic(job.graph, perm)
        seconds, residual = factorized(laplacian(job.graph, perm))
        yield {
            "tool": tool,
            "threads": job.threads,
            "fill": found.fill,
            "operations": found.operations,
            "ordering_seconds": round(ordering_seconds, 6),
            "seconds": round(seconds, 6),
            "residual": residual,
        }


def run(options: argparse.Namespace) -> None:
    """Measure the matrices that the file lacks, and append each record at once."""
    path = options.results / FILE
    done = {record["graph"] for record in read_records(path)}
    for instance in selected(options, RECIPES):
        if instance.name in done:
            continue
        graph = instance.load()
        fixed = {"graph": instance.name, "half": half_of(instance.name), "n": graph.n, "m": graph.m}
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder), graph)
            arguments = ["--child", folder, "--threads", options.threads, "--tools", *options.tools]
            arguments += ["--libraries", *options.libraries]
            with failures_noted("CHOLMOD", instance.name):
                for record in answers("bench.factorizations", *arguments, threads=options.threads):
                    note(f"{instance.name} {record['tool']}")
                    append_record(path, {**fixed, **record})


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


def main() -> None:
    """Measure the missing matrices, then print the table of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.factorizations", description=__doc__)
    add_options(parser)
    add_tool_options(parser)
    add_results_option(parser)
    add_markdown_option(parser)
    parser.add_argument("--child", metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        answer = answering()
        with unavailability_answered(answer):
            graph, libraries = load_arrays(Path(options.child)), tuple(options.libraries)
            job = Job(graph, options.threads, options.backend, libraries)
            for record in records_of(job, options.tools):
                answer(record)
        return
    if options.graphs or options.generated:
        run(options)
    records = read_records(options.results / FILE)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    show("CHOLMOD", HEADERS, rows_of(records), left=3, markdown=options.markdown)


if __name__ == "__main__":
    main()
