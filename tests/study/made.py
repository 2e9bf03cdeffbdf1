"""Synthetic studies for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jetpy.study.cases import Case
from jetpy.study.files import BATCHES, KERNELS, PERFORMANCE
from jetpy.study.machine import Machine, write_machines
from jetpy.study.triad import Roofline

FACTS: dict[str, Any] = {
    "version": "1",
    "processor": "one with two cores",
    "gpus": [],
    "threads": 2,
    "system": "Linux",
    "back_ends": {"cpu": {"works": True}, "cuda": {"works": False}},
    "packages": {"cpu": "1", "kahip": ""},
}
ROOF = Roofline(bandwidth=1e9, latency=1e-6)


def machine(host: str = "a", gpus: tuple[str, ...] = ()) -> Machine:
    return Machine(
        host,
        {**FACTS, "gpus": list(gpus)},
        {"cpu/1": ROOF, "cpu/2": ROOF, "cuda/1": Roofline(1e12, 5e-6)},
    )


def row(name: str, case: Case, **measured: object) -> dict[str, Any]:
    """Return the row of a successful run, with the given changes."""
    found: dict[str, Any] = {
        **case._asdict(),
        **{
            "date": "2026-01-01",
            "class": "",
            "n": 9,
            "m": 12,
            "graph_sha": "",
            "coverage_key": "",
            "machine": name,
        },
        **{"application": case.application, "problem": case.problem},
        **{
            "platform": case.platform(name),
            "cut": 10,
            "cost": "",
            "imbalance": 0.02,
            "seconds": 1.0,
        },
        **{"coarsen_seconds": "", "initial_seconds": "", "refine_seconds": "", "launches": ""},
        **{"finest_seconds": "", "modification_seconds": ""},
        **{"feasible": "yes", "status": "done", "parts_sha": "", "kernels": ""},
        **{"measured_threads": case.threads, "repeats": 1, **measured},
    }
    for column in ("seconds_min", "seconds_max"):
        found.setdefault(column, found["seconds"])
    good = found["feasible"] == "yes"
    return {
        **found,
        "fom": (found["seconds"] or "") if good else "",
        "fom_cut": (found["cut"] or "") if good else "",
    }


def study(
    folder: Path,
    name: str,
    own: Machine,
    rows: list[dict[str, Any]],
    kernels: list[dict[str, Any]] | None = None,
    batches: list[dict[str, Any]] | None = None,
) -> Path:
    """Write a study with the given rows."""
    folder.mkdir(exist_ok=True)
    write_machines(folder, {name: own})
    PERFORMANCE.write(folder, rows)
    KERNELS.write(folder, kernels or [])
    if batches:
        BATCHES.write(folder, batches)
    return folder


def kernel(
    name: str, case: Case, kernel: str, calls: int, seconds: float, moved: int
) -> dict[str, Any]:
    """Return the row of a kernel; its share is empty if it moved no bytes."""
    shared = (
        *("graph", "k", "allowed_imbalance", "mapping", "changes"),
        *("preset", "backend", "threads"),
    )
    return {
        **{column: case._asdict()[column] for column in shared},
        **{"kernel": kernel, "engine": case.backend, "calls": calls, "seconds": seconds},
        **{"bytes": moved, "share": 0.5 if moved else "", "machine": name},
    }


def batch(name: str, case: Case, number: int, cut: int, action: str) -> dict[str, Any]:
    """Return the row of a batch."""
    return {
        **{column: case._asdict()[column] for column in BATCHES.key if column in case._fields},
        **{"machine": name, "batch": number, "seconds": 1.0, "modification_seconds": 0.5},
        **{"cut": cut, "imbalance": 0.02, "feasible": "yes", "moved": "", "action": action},
    }
