"""Seconds of cuDSS on a GPU, with its own ordering and with permutations and trees of jetpy.

The matrix is a Poisson problem on a cubic grid. Each case has a new process, which orders, plans,
and factorizes and solves twice, after a small problem. nvmath-python calls cuDSS. The environment
variable CUDSS_THREADING_LIB is the path of cuDSS's threading library.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

import jetpy
from bench.child import Unavailable
from bench.harness import Experiment, Option, no_graphs
from bench.instances import Instance
from bench.records import Record
from bench.tables import show
from jetpy.engines.threads import available_threads

HEADERS = [
    *("ordering", "levels", "largest part", "ordering, s", "planning, s", "factorization, s"),
    *("solution, s", "million entries", "residual"),
]


@dataclass(frozen=True)
class Case:
    """The name of an ordering, and the form in which cuDSS gets it.

    Without options of `jetpy.nested_dissection`, it is cuDSS's own ordering. Without levels of a
    partition tree, cuDSS gets only the permutation.
    """

    ordering: str
    options: Mapping[str, Any] | None
    levels: int | None = None


CASES = (
    Case("cuDSS's own", None),
    Case("default, only its permutation", {}),
    Case("default", {}, 10),
    Case("default", {}, 14),
    Case("default", {}, 18),
    Case("fast", {"preset": "fast"}, 14),
    Case("default, largest_side=0.6", {"largest_side": 0.6}, 12),
    Case("default, largest_side=0.6", {"largest_side": 0.6}, 16),
)
POSITIONS = {(case.ordering, case.levels): index for index, case in enumerate(CASES)}


def version() -> str:
    """Load cuDSS and return its version.

    Raises
    ------
    Unavailable
        If cuDSS or a library that it needs cannot be loaded.
    """
    from nvmath.bindings import cudss

    try:
        return ".".join(str(cudss.get_property(part)) for part in range(3))
    except RuntimeError as error:
        raise Unavailable(str(error).splitlines()[0]) from error


def poisson(graph: jetpy.Graph) -> Any:
    """Return the matrix of the Poisson problem on a cubic grid, CSR, float64."""
    rows = sp.csr_array((np.full(len(graph.indices), -1.0), graph.indices, graph.indptr))
    return sp.csr_array(rows + sp.diags_array(np.full(graph.n, 6.0)))


def configure(solver: Any, perm: Any, sizes: Any) -> None:
    """Pass a permutation and the part sizes of its tree, or None, to a solver before it plans.

    The arrays must exist until the solver has planned.
    """
    from nvmath.bindings.cudss import DataParam, ReorderingAlg, data_set

    if sizes is not None:
        solver.plan_config.reordering_algorithm = ReorderingAlg.NESTED_DISSECTION
        solver.plan_config.nd_min_levels = len(sizes).bit_length()
    elif perm is not None:
        solver.plan_config.reordering_algorithm = ReorderingAlg.NONE
    for key, array in ((DataParam.USER_PERM, perm), (DataParam.USER_ND_PARTITION_TREE, sizes)):
        if array is not None:
            data_set(solver.handle, solver.data_ptr, key, array.ctypes.data, array.nbytes)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and its seconds."""
    start = perf_counter()
    result = work()
    return result, round(perf_counter() - start, 6)


def factorized(matrix: Any, perm: Any = None, sizes: Any = None) -> Record:
    """Plan, and factorize and solve twice; return the costs. The second times count."""
    from nvmath.sparse.advanced import DirectSolver, DirectSolverMatrixType

    # nvmath-python 1.0.0 refuses cuDSS 1.0, in which the functions that it calls are unchanged.
    vars(sys.modules[DirectSolver.__module__])["_check_cudss_version"] = lambda: None
    right = np.linspace(0, 1, matrix.shape[0])
    options = {"sparse_system_type": DirectSolverMatrixType.SPD}
    with DirectSolver(matrix, right, options=options) as solver:
        configure(solver, perm, sizes)
        _, planning = timed(solver.plan)
        solver.factorize()
        factors, factorization = timed(solver.factorize)
        solver.solve()
        solution, seconds = timed(solver.solve)
        return {
            "planning_seconds": planning,
            "factorization_seconds": factorization,
            "solution_seconds": seconds,
            "entries": int(factors.lu_nnz),
            "residual": float(abs(matrix @ solution - right).max()),
        }


def measured(case: Case, side: int, threads: int, backend: Any) -> Record:
    """Order, plan, factorize and solve a case, after a small problem, and return its costs."""
    found: Record = {"cudss": version(), "ordering_seconds": None, "largest_part": None}
    small, graph = (jetpy.generators.cube(n, n, n) for n in (min(side, 20), side))
    factorized(poisson(small))  # warm-up
    perm = sizes = None
    if case.options is not None:
        for cube in (small, graph):
            order = jetpy.nested_dissection(cube, **case.options, backend=backend, threads=threads)
        perm, found["ordering_seconds"] = order.perm, round(order.seconds, 6)
        if case.levels is not None:
            perm, sizes = order.partition_tree(case.levels)
            found["largest_part"] = int(sizes[: 2 ** (case.levels - 1)].max())
    return found | factorized(poisson(graph), perm, sizes)


def setting_of(options: argparse.Namespace) -> Record:
    """Return the part of a record that all cases of a run have in common."""
    return {
        "side": options.side,
        "threads": options.threads,
        "backend": options.backend,
        "threading_library": os.path.isfile(os.environ.get("CUDSS_THREADING_LIB", "")),
    }


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield the cases with the setting of a run."""
    for case in CASES:
        yield {**setting_of(options), "ordering": case.ordering, "levels": case.levels}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Measure cases, on a cube of the side of the options."""
    for own in cases:
        case = CASES[POSITIONS[own["ordering"], own["levels"]]]
        yield measured(case, own["side"], own["threads"], own["backend"])


def rows_of(records: Sequence[Record]) -> list[list[str]]:
    """Return a row for each record, in the order of `CASES`."""
    return [
        [
            *(record["ordering"], text(record["levels"], "d"), text(record["largest_part"], ",d")),
            *(text(record["ordering_seconds"], ".2f"), text(record["planning_seconds"], ".2f")),
            *(text(record["factorization_seconds"], ".2f"), f"{record['solution_seconds']:.3f}"),
            *(f"{record['entries'] / 1e6:,.0f}", f"{record['residual']:.0e}"),
        ]
        for record in sorted(records, key=lambda r: POSITIONS[r["ordering"], r["levels"]])
    ]


def text(number: float | None, form: str) -> str:
    """Format a number; None becomes an empty cell."""
    return "" if number is None else format(number, form)


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the table of the records with the setting of a run."""
    setting = setting_of(options)
    own = [record for record in records if setting.items() <= record.items()]
    library = "" if setting["threading_library"] else ", no threading library of cuDSS"
    title = f"cuDSS, {options.side}³ grid points, {options.threads} threads{library}"
    show(title, HEADERS, rows_of(own), markdown=options.markdown)


EXPERIMENT = Experiment(
    name="cudss",
    doc=__doc__,
    options={
        "side": Option(100, "grid points along each side (100)"),
        "threads": Option(
            available_threads(), "threads of jetpy, and of cuDSS on the host; by default all"
        ),
        "backend": Option("cpu", "back end of jetpy's orderings (cpu)"),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("ordering", "levels", "side", "threads", "backend", "threading_library"),
    select=no_graphs,
    has_graphs=False,
    needs_arrays=False,
)

if __name__ == "__main__":
    EXPERIMENT.main()
