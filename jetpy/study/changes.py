"""Graphs that change in batches, partitioned incrementally by jetpy or from scratch by any tool."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from jetpy import choices
from jetpy.graph.csr import IntArray
from jetpy.incremental.partitioner import IncrementalPartitioner
from jetpy.study.modifiers import steps
from jetpy.study.tools import Job, Solve
from jetpy.study.verdict import Verdict, judge

SEPARATOR = "x"
"""Between the number of modifiers and the number of batches in tables."""
FROM_SCRATCH = "from scratch"
"""Suffix of jetpy's preset if it partitions the graph again after each batch; also the action."""


class Changes(NamedTuple):
    """The number of modifiers of a batch, about, and the number of batches.

    >>> str(Changes(500, 10)), changes_in("500x10")
    ('500x10', Changes(modifiers=500, batches=10))
    """

    modifiers: int
    batches: int

    def __str__(self) -> str:
        return f"{self.modifiers}{SEPARATOR}{self.batches}"


def changes_in(text: str) -> Changes:
    """Return the changes in text made by `str`."""
    return Changes(*map(int, text.split(SEPARATOR)))


def order_of(text: str) -> tuple[int, ...]:
    """Return a sorting key of changes in text, which is empty for graphs that do not change.

    >>> sorted(("500x10", "50x10", ""), key=order_of)
    ['', '50x10', '500x10']
    """
    return changes_in(text) if text else ()


def from_scratch(preset: str) -> str:
    """Return the preset in tables for partitions from scratch.

    >>> from_scratch("fast"), is_from_scratch("fast from scratch"), preset_in("fast from scratch")
    ('fast from scratch', True, 'fast')
    """
    return f"{preset} {FROM_SCRATCH}"


def is_from_scratch(preset: str) -> bool:
    """Return whether a preset in tables is for partitions from scratch."""
    return preset.endswith(f" {FROM_SCRATCH}")


def preset_in(preset: str) -> str:
    """Return jetpy's preset in a preset in tables."""
    return preset.removesuffix(f" {FROM_SCRATCH}")


@dataclass(frozen=True)
class BatchRun:
    """A batch and the partition after it, a row of `jetpy.study.files.BATCHES`.

    Attributes
    ----------
    batch : int
        From 1.
    seconds, modification_seconds : float
        Wall seconds of the batch; of them, those of modifying the graph.
    cut, imbalance, feasible
        Verdict on the partition of the modified graph.
    moved : int or None
        Number of old vertices whose part changed; None for a partition from scratch.
    action : str
        `jetpy.Update.action`, or `FROM_SCRATCH`.
    """

    batch: int
    seconds: float
    modification_seconds: float
    cut: int
    imbalance: float
    feasible: bool
    moved: int | None
    action: str


Result = tuple[IntArray, list[BatchRun]]
"""Parts after each batch, one after another; and all batches."""
Follow = Callable[[Job, int, int, Changes], Result]
"""Called as `follow(job, k, seed, changes)`."""


def follow_incrementally(backend: choices.Backend) -> Follow:
    """Return the incremental partitioner of a back end; its first partition takes no time."""

    def follow(job: Job, k: int, seed: int, changes: Changes) -> Result:
        live = IncrementalPartitioner(
            job.graph,
            k,
            imbalance=job.imbalance,
            seed=seed,
            preset=job.preset,
            backend=backend,
            threads=job.threads,
        )
        parts, batches = [], []
        for number, step in enumerate(steps(job.graph, *changes), 1):
            update = live.update(step.batch)
            parts.append(live.partition[step.vertices])
            verdict = judge(replace(job, graph=step.graph), parts[-1], k)
            spent = update.seconds, update.modification_seconds
            batches.append(_batch(number, spent, verdict, update.moved, update.action))
        return np.concatenate(parts), batches

    return follow


def follow_from_scratch(prepare: Callable[[Job], Solve]) -> Follow:
    """Return a partitioner that starts from scratch after each batch.

    The host builds the rows of the modified graph. Preparation of the tool for this graph, such as
    reading it from a file, takes no time, as for partitions.
    """

    def follow(job: Job, k: int, seed: int, changes: Changes) -> Result:
        parts, batches = [], []
        for number, step in enumerate(steps(job.graph, *changes), 1):
            with tempfile.TemporaryDirectory() as folder:
                modified = replace(job, graph=step.graph, folder=Path(folder))
                solved, spent = prepare(modified)(k, seed)
            parts.append(np.asarray(solved, np.int32))
            verdict = judge(modified, parts[-1], k)
            times = step.seconds + spent["total"], step.seconds
            batches.append(_batch(number, times, verdict, None, FROM_SCRATCH))
        return np.concatenate(parts), batches

    return follow


def _batch(
    number: int, times: tuple[float, float], verdict: Verdict, moved: int | None, action: str
) -> BatchRun:
    cut, imbalance, feasible = verdict
    return BatchRun(number, *times, cut, imbalance, feasible, moved, action)


def over_batches(batches: Sequence[BatchRun]) -> dict[str, Any]:
    """Return the result of a run: means over its batches, the largest imbalance, and all batches.

    It is feasible if all partitions are.
    """
    return {
        "seconds": fmean(own.seconds for own in batches),
        "modification_seconds": f"{fmean(own.modification_seconds for own in batches):.6f}",
        "cut": round(fmean(own.cut for own in batches), 1),
        "imbalance": max(own.imbalance for own in batches),
        "feasible": all(own.feasible for own in batches),
        "batches": [asdict(own) for own in batches],
    }
