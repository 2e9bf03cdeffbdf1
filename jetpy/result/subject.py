"""Text and tables of a page about a partition."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from jetpy.choices import DISTRIBUTION
from jetpy.device.doctor import versions as versions_of
from jetpy.errors import count
from jetpy.evaluation.evaluate import PART_HEADERS, Evaluation, evaluate, part_rows
from jetpy.evaluation.metis_baseline import Baseline
from jetpy.evaluation.rows import Rows, cut_text
from jetpy.graph.csr import Graph
from jetpy.pages.blocks import Table
from jetpy.result.partition import Partition, run_text

MAX_LISTED = 400
"""Maximum number of parts in the table; of more parts, it lists the heaviest."""
PACKAGES = ("numpy", "scipy", "llvmlite", "pymetis", "matplotlib")
OF_BACKENDS = {"cuda": "cupy", "kokkos": "pykokkos"}


@dataclass(frozen=True, eq=False)
class Subject:
    """A partition, and data about it.

    Attributes
    ----------
    graph : Graph
    parts : int32, shape (n,)
    k : int
    ideal, limit : int
        Ideal and maximum weight of a part.
    source : str
        Source of the parts if they do not come from a run.
    run, profiled : Partition or None
        The run that found the parts, and its repetition with a profile.
    read_seconds : float
    metis : Baseline or None
    no_metis : str
        Reason for a missing baseline.
    command : str
        Command line that makes the page.
    """

    graph: Graph
    parts: npt.NDArray[np.int32]
    k: int
    ideal: int
    limit: int
    source: str = ""
    run: Partition | None = None
    profiled: Partition | None = None
    read_seconds: float = 0.0
    metis: Baseline | None = None
    no_metis: str = ""
    command: str = ""


def verdict(subject: Subject, found: Evaluation) -> tuple[bool, str]:
    """Return whether the parts keep their limit, and a sentence about the heaviest part."""
    heaviest, limit = int(found.part_weights.max()), subject.limit
    if heaviest <= limit:
        return True, f"Balanced: the heaviest part weighs {heaviest:,} of {limit:,} allowed."
    beyond = int((found.part_weights > limit).sum())
    return False, (
        f"Not balanced: {count(beyond, 'part')} of {subject.k:,} above the limit of {limit:,}; "
        f"the heaviest part weighs {heaviest:,}."
    )


def facts(subject: Subject, found: Evaluation) -> Rows:
    """Describe the graph, the parts and their source."""
    graph, run = subject.graph, subject.run
    rows = [
        ("graph", f"{graph.n:,} vertices, {graph.m:,} edges"),
        ("parts", f"{subject.k:,}, from {subject.source}" if run is None else run_text(run)),
        ("cut", cut_text(found.cut, graph)),
        ("imbalance", f"{found.imbalance:.4f}"),
        ("communication volume", f"{found.communication_volume:,}"),
        ("boundary vertices", f"{found.boundary_vertices:,}"),
        ("empty parts", f"{found.empty_parts:,}"),
        ("disconnected parts", f"{found.disconnected_parts:,}"),
    ]
    if run is not None:
        rows.append(("seconds", f"{run.seconds['total']:.3f}"))
    return rows


def parts_table(subject: Subject, found: Evaluation) -> Table:
    """Describe each part, or the `MAX_LISTED` heaviest parts."""
    rows, weights = part_rows(found), found.part_weights
    shown, note = np.arange(found.k), ""
    if found.k > MAX_LISTED:
        shown = np.argsort(-weights, kind="stable")[:MAX_LISTED]
        note = f"The table lists the {MAX_LISTED} heaviest of {found.k:,} parts."
    beyond = np.flatnonzero(weights[shown] > subject.limit).tolist()
    return Table(PART_HEADERS, [rows[part] for part in shown.tolist()], 0, beyond, note)


def comparison_table(subject: Subject, found: Evaluation) -> Table | None:
    """Compare with METIS: one row per metric, one column per partition."""
    metis, run = subject.metis, subject.run
    if metis is None:
        return None
    other = evaluate(subject.graph, metis.parts, subject.k)
    numbers: list[tuple[str, Callable[[Evaluation], str]]] = [
        ("cut", lambda of: f"{of.cut:,}"),
        ("imbalance", lambda of: f"{of.imbalance:.4f}"),
        ("heaviest part", lambda of: f"{of.part_weights.max():,}"),
        ("balanced", lambda of: "yes" if of.part_weights.max() <= subject.limit else "NO"),
        ("communication volume", lambda of: f"{of.communication_volume:,}"),
        ("largest volume", lambda of: f"{of.largest_volume:,}"),
        ("boundary vertices", lambda of: f"{of.boundary_vertices:,}"),
        ("empty parts", lambda of: f"{of.empty_parts:,}"),
        ("disconnected parts", lambda of: f"{of.disconnected_parts:,}"),
    ]
    rows = [(name, text(found), text(other)) for name, text in numbers]
    rows.append(
        ("seconds", "" if run is None else f"{run.seconds['total']:.3f}", f"{metis.seconds:.3f}")
    )
    rows.append(("CPU threads", "" if run is None else f"{run.threads}", "1"))
    return Table(("", "given" if run is None else "jetpy", "METIS"), rows)


def versions(subject: Subject) -> Rows:
    """Return the versions of all packages used for the page, and the time."""
    backend = "cpu" if subject.run is None else subject.run.backend
    own = [package for name, package in OF_BACKENDS.items() if backend.startswith(name)]
    numbers = versions_of((DISTRIBUTION, *PACKAGES, *own))
    system = f"{numbers.pop('python')}, {platform.system()} {platform.machine()}"
    installed = [(package, number) for package, number in numbers.items() if number]
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return [("Python", system), *installed, ("made", made)]
