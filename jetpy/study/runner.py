"""Execution of a study's missing runs; each result is stored immediately."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jetpy.errors import BackendError, FileFormatError, JetpyError
from jetpy.graph.csr import Graph
from jetpy.graph.validate import check_one_weight
from jetpy.io import read_graph
from jetpy.io.compression import split_name
from jetpy.study.arrays import checksum, save_arrays
from jetpy.study.cases import JETPY, Case, Options, cases_of, engines
from jetpy.study.changes import changes_in
from jetpy.study.child import Task
from jetpy.study.files import FINEST, MODIFICATION, STAGE_COLUMNS, Row
from jetpy.study.machine import engine_name
from jetpy.study.modifiers import KINDS
from jetpy.study.processes import DONE, Outcome, run_apart
from jetpy.study.study import Study
from jetpy.study.tools import PACKAGES
from jetpy.study.triad import Roofline

Progress = Callable[[int, int], None]
"""Called with the number of finished runs, and the number of runs to make."""
_DETAILS = ("cost", MODIFICATION, *STAGE_COLUMNS, FINEST, "launches")
_TIMES = ("seconds", "seconds_min", "seconds_max")
_MEASURED = ("fom", "fom_cut", "cut", "imbalance", "parts_sha", *_TIMES, *_DETAILS, "kernels")
_NOTHING = dict.fromkeys(_MEASURED, "")


def installed(tools: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the installed and the missing ones among other partitioners."""
    present = [tool for tool in tools if find_spec(PACKAGES[tool])]
    return present, [tool for tool in tools if tool not in present]


def names_of(files: Sequence[Path]) -> dict[str, Path]:
    """Return graph files by their names in tables.

    Raises
    ------
    JetpyError
        If two files have the same name.
    """
    named: dict[str, Path] = {}
    for file in files:
        name = split_name(file)[0]
        if name in named:
            raise JetpyError(f"{named[name]} and {file} have the same name, {name}; rename one")
        named[name] = file
    return named


def measure_rooflines(study: Study, options: Options) -> None:
    """Run Triad on the back ends that have no roofline yet.

    Raises
    ------
    BackendError
        If a back end does not work.
    """
    for backend, threads in engines(options):
        name = engine_name(backend, threads)
        if name not in study.machine.roofs:
            outcome = run_apart("jetpy.study.triad", backend, threads, threads=threads)
            if outcome.status != DONE:
                raise BackendError(f"{backend}: {outcome.words or outcome.status}")
            study.keep_machine(study.machine.with_roofline(name, Roofline(**outcome.found)))


def check_graphs(study: Study, files: Sequence[Path], options: Options) -> None:
    """Read and check all graphs before any run starts.

    Raises
    ------
    JetpyError
        If a graph cannot be read, differs from the study's graph of the same name, has fewer
        vertices than parts, or is deleted by a batch of modifiers.
    """
    for name, file in names_of(files).items():
        graph = _read(file)
        check_one_weight(graph, "a study")
        study.check_graph(_about(name, graph))
        most = max(options.ks, default=0)
        if most > graph.n:
            raise JetpyError(
                f"{file} has {graph.n} vertices, but k is {most}; each part needs a vertex. Leave "
                "out the graph or this k"
            )
        largest = max((changes_in(text).modifiers for text in options.changes), default=0)
        if largest // KINDS >= graph.n:
            raise JetpyError(
                f"{file} has {graph.n} vertices, and a batch of {largest} modifiers deletes "
                f"{largest // KINDS}; some must stay. Leave out the graph or these modifiers"
            )


def _read(file: Path) -> Graph:
    """Read a graph; errors that name an option of other commands tell what to do instead."""
    try:
        return read_graph(file)
    except FileFormatError as error:
        if "(--" not in str(error):
            raise
        raise FileFormatError(
            f"{error}. jetpy study has none of these options: write the graph by "
            "jetpy.write_graph(new, jetpy.read_graph(old, ...))"
        ) from error


def _about(name: str, graph: Graph) -> dict[str, str]:
    return {"graph": name, "n": f"{graph.n}", "m": f"{graph.m}", "graph_sha": checksum(graph)}


def make_runs(
    study: Study, files: Sequence[Path], options: Options, progress: Progress
) -> list[Row]:
    """Make all missing runs, and return the rows of failed runs.

    Raises
    ------
    JetpyError
        If a graph cannot be read, or differs from the study's graph of the same name, or one of
        jetpy's back ends is missing.
    """
    todo = {
        name: [case for case in cases_of(name, options) if study.lacks(case, options.repeats)]
        for name in names_of(files)
    }
    total, done = sum(map(len, todo.values())), 0
    failed = []
    for name, file in names_of(files).items():
        if not todo[name]:
            continue
        graph = _read(file)
        about = {**_about(name, graph), "class": study.classes.get(name, "")}
        study.check_graph(about)
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder), graph)
            for case in todo[name]:
                progress(done, total)
                row = {**about, **_row(study, case, folder, options)}
                study.append(row)
                if row["status"] != DONE:
                    failed.append(row)
                done += 1
    study.tidy()
    return failed


def _row(study: Study, case: Case, folder: str, options: Options) -> dict[str, Any]:
    """Make a run, or copy the run of a serial tool, and return its row without the graph."""
    about = {
        **case._asdict(),
        "application": case.application,
        "problem": case.problem,
        "platform": case.platform(study.name),
        "coverage_key": "",
        "machine": study.name,
    }
    same = next(_same_run(study, case, options), None)
    if same is not None:
        if case.changes:
            study.repeat_batches(same, case)
        elif case.tool == JETPY:
            study.repeat_kernels(same, case)
        return {**study.runs[study.key_of(same)], **about}
    profile = case.tool == JETPY and not case.changes and not study.has_kernels(case)
    program = f"{options.programs.get(case.tool, '')}"
    task = Task(case, folder, options.time_limit, profile, options.repeats, program)
    outcome = run_apart(
        "jetpy.study.child",
        task.to_json(),
        threads=case.threads,
        time_limit=options.time_limit * options.repeats,
    )
    if outcome.status == DONE:
        study.append_kernels(case, outcome.found["kernels"])
        if case.changes:
            study.append_batches(case, outcome.found["batches"])
    how = {"measured_threads": case.threads, "repeats": options.repeats}
    return {**about, "date": _now(), **how, **_measured(outcome)}


def _same_run(study: Study, case: Case, options: Options) -> Iterator[Case]:
    """Yield measured runs that this one would only repeat with more threads."""
    if not case.uses_threads:
        for threads in options.threads:
            other = case._replace(threads=threads)
            if study.has_measured(other, options.repeats):
                yield other


def _measured(outcome: Outcome) -> dict[str, Any]:
    if outcome.status != DONE:
        return {**_NOTHING, "feasible": "no", "status": outcome.status}
    measured = outcome.found
    times = {name: f"{measured[name]:.6f}" for name in _TIMES}
    seconds, feasible = times["seconds"], measured["feasible"]
    return {
        **_NOTHING,
        **{name: measured[name] for name in _DETAILS if name in measured},
        "fom": seconds if feasible and float(seconds) else "",
        "fom_cut": (measured.get("cost", measured["cut"]) or "") if feasible else "",
        "cut": measured["cut"],
        "imbalance": measured["imbalance"],
        "feasible": "yes" if feasible else "no",
        "parts_sha": measured["sha"],
        **times,
        "kernels": len(measured["kernels"]) or "",
        "status": DONE,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
