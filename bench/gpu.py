"""jetpy on large graphs, compared with GPU partitioners.

With --reference, the program compares jetpy with the results in a CSV file. It skips cases that the
result file already contains. With --peer, it runs jetpy and the C++ Jet in turn. With --tables, it
prints the tables of earlier runs of --peer.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import platform
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import jetpy
from bench import peer
from bench.fingerprint import digest
from bench.gpu_cases import HALVES, REAL, SETS, select_cases
from bench.instances import Instance, generated_instances, real_instances
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import add_markdown_option, mean_text, note, ratio_text, show
from jetpy.device.backends import BACKENDS, ON_GPU, get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.threads import available_threads

OTHERS = {"jet": "jet-cpp", "def": "gpu-heipa-default", "ult": "gpu-heipa-ultra"}
"""Tools of the reference by their abbreviation in the table."""

STAGES = ("total", "coarsen", "initial", "refine")
COLUMNS = (*STAGES, "upload")
"""Coarsening, and so the total, includes the upload of the graph."""

Case = tuple[str, int]
"""Graph and number of parts."""


class Reference(NamedTuple):
    """Results of other partitioners.

    Attributes
    ----------
    figures
        For each case and tool, a dictionary with the keys cut and total (seconds), if measured.
    sizes
        Numbers of vertices and edges of each graph.
    """

    figures: dict[Case, dict[str, dict[str, float]]]
    sizes: dict[str, tuple[int, int]]


def read_reference(path: Path) -> Reference:
    """Read a CSV file with the columns graph, n, m, k, tool, cut and seconds."""
    reference = Reference({}, {})
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            texts = {"cut": row["cut"], "total": row["seconds"]}
            figures = {name: float(text) for name, text in texts.items() if text}
            reference.figures.setdefault((row["graph"], int(row["k"])), {})[row["tool"]] = figures
            reference.sizes[row["graph"]] = int(row["n"]), int(row["m"])
    return reference


def generate(instances: Sequence[Instance]) -> None:
    """Generate graphs in parallel. They are stored in the cache."""
    with ProcessPoolExecutor(available_threads()) as pool:
        for line in pool.map(_generate, instances):
            note(line)


def generate_missing(instances: Sequence[Instance], cache: Path) -> None:
    """Generate the graphs that the cache does not contain."""
    generate([instance for instance in instances if not (cache / f"{instance.name}.npz").exists()])


def _generate(instance: Instance) -> str:
    start = perf_counter()
    return f"{instance.load()!r} generated in {perf_counter() - start:.1f} s"


def available_backends(options: argparse.Namespace) -> Iterator[str]:
    """Yield the back ends of the options that are available."""
    for backend in options.backends:
        try:
            get_backend(backend, options.threads)
        except jetpy.BackendError as error:
            note(f"{backend} is left out: {error}")
        else:
            yield backend


def measure(
    graph: jetpy.Graph, k: int, backend: str, preset: str, options: argparse.Namespace
) -> Iterator[Record]:
    """Partition a graph once to warm up, then `--repeat` times with each seed."""

    def partition(seed: int) -> jetpy.Partition:
        return jetpy.partition(
            graph, k, seed=seed, preset=preset, backend=backend, threads=options.threads
        )

    partition(options.seeds[0])
    for seed in options.seeds:
        runs = [partition(seed) for _ in range(options.repeat)]
        first, hashes = runs[0], sorted({digest(run.parts) for run in runs})
        yield {
            "graph": graph.name,
            "n": graph.n,
            "m": graph.m,
            "k": k,
            "backend": backend,
            "threads": first.threads,
            "preset": preset,
            "seed": seed,
            "cut": first.cut,
            "imbalance": round(first.imbalance, 5),
            "feasible": all(run.feasible for run in runs),
            "hashes": hashes,
            "launches": first.launches,
            "levels": len(first.levels),
            "iterations": sum(level.iterations for level in first.levels),
            **{stage: round(median(run.seconds[stage] for run in runs), 5) for stage in STAGES},
            "upload": round(median(_upload_seconds(graph, backend) for _ in runs), 5),
            "totals": [round(run.seconds["total"], 5) for run in runs],
        }


def _upload_seconds(graph: jetpy.Graph, name: str) -> float:
    """Return the seconds of uploading a graph to a back end."""
    backend = get_backend(name)
    with backend.using():
        start = perf_counter()
        upload(backend, graph)
        backend.synchronize()
        return perf_counter() - start


def run(instances: Sequence[Instance], reference: Reference, options: argparse.Namespace) -> int:
    """Measure the missing cases and append each record at once. Return the number of failures."""
    path, failed = results_path(options.results), 0
    done = {_key(record) for record in read_records(path)}
    backends = list(available_backends(options))
    for instance in instances:
        missing = [
            (k, backend, preset)
            for name, k in reference.figures
            if name == instance.name
            for backend in backends
            for preset in options.presets
            if {(name, k, backend, preset, seed) for seed in options.seeds} - done
        ]
        if not missing:
            continue
        graph = instance.load()
        if (graph.n, graph.m) != reference.sizes[graph.name]:
            raise SystemExit(f"{graph!r} is not the graph of the reference")
        for k, backend, preset in missing:
            label = f"{graph.name} k={k} {backend} {preset}"
            try:
                for record in measure(graph, k, backend, preset, options):
                    append_record(path, record)
                    note(f"{label}: {record['total']:.4f} s, cut {record['cut']:,}")
            except Exception:  # one failure must not waste the device time of the other cases
                failed += 1
                note(f"{label} failed: {traceback.format_exc()}")
    return failed


def prepare(instances: Sequence[Instance], folder: Path) -> None:
    """Write the missing METIS files in parallel, and generate the graphs for them."""
    missing = [i for i in instances if not (folder / f"{i.name}.graph").exists()]
    with ProcessPoolExecutor(available_threads()) as pool:
        writers = {pool.submit(peer.metis_file, i, folder): i.name for i in missing}
        for writer in as_completed(writers):
            error = writer.exception()
            note(f"{writers[writer]}: {error!r}" if error else f"wrote {writer.result()}")


def device_name(backends: Sequence[str]) -> str:
    """Return the name of the GPU if one of the back ends runs on it, else that of the CPU."""
    if set(backends) & set(ON_GPU):
        cuda = importlib.import_module("cupy").cuda
        return str(cuda.runtime.getDeviceProperties(0)["name"].decode())
    return platform.processor() or platform.machine()


def run_with_peer(options: argparse.Namespace) -> int:
    """Run jetpy and the C++ Jet in turn and print the tables. Return the number of failures."""

    def partition(graph: jetpy.Graph, k: int, tool: peer.Tool, seed: int) -> peer.Run:
        backend, preset, threads = tool.name, tool.preset, options.threads
        run = jetpy.partition(graph, k, seed=seed, preset=preset, backend=backend, threads=threads)
        if not run.feasible:
            raise ValueError(f"the parts of {tool} with seed {seed} are not feasible")
        seconds = run.seconds["total"], _upload_seconds(graph, backend)
        return peer.Run(*(round(value, 6) for value in seconds), run.cut)

    cases = select_cases(options.set, options.half, options.only)
    if options.graphs is None and any(case.group == REAL for case in cases):
        note("the real graphs are left out: give --graphs DIR")
        cases = [case for case in cases if case.group != REAL]
    instances = {i.name: i for i in generated_instances(options.generated)}
    if options.graphs is not None:
        instances |= {i.name: i for i in real_instances(options.graphs)}
    graphs = dict.fromkeys(case.graph for case in cases)
    prepare([instances[name] for name in graphs if name in instances], options.generated)
    if options.only_generate:
        return 0
    backends = list(available_backends(options))
    tools = [peer.Tool(backend, preset) for backend in backends for preset in options.presets]
    if not tools:
        raise SystemExit("none of the back ends is available")
    plan = peer.Plan(
        program=options.peer.resolve(),
        folder=options.generated,
        tools=tools,
        seeds=options.seeds,
        repeat=options.repeat,
        rounds=options.rounds,
        device=device_name(backends),
    )
    path = options.results / "gpu-peer.csv"
    rows, failed = peer.compare(cases, instances, partition, plan, path)
    if rows:
        peer.print_tables(rows, markdown=options.markdown)
    return failed


def results_path(folder: Path) -> Path:
    """Return the result file."""
    return folder / "gpu.jsonl"


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("graph", "k", "backend", "preset", "seed"))


def ratios(ours: Mapping[str, float], theirs: Mapping[str, dict[str, float]]) -> list[float | None]:
    """Return time, time without the upload, and cut, each divided by that of each other tool.

    A ratio is None if the other tool was not measured.
    """
    pairs = [
        (value, theirs.get(tool, {}).get(quantity))
        for value, quantity in (
            (ours["total"], "total"),
            (ours["total"] - ours["upload"], "total"),
            (ours["cut"], "cut"),
        )
        for tool in OTHERS.values()
    ]
    return [value / other if other else None for value, other in pairs]


def table(cases: Mapping[Case, list[Record]], reference: Reference) -> list[list[str]]:
    """Return a row per case with medians over the seeds, then means and maxima of the ratios."""
    rows, found = [], []
    for (name, k), records in cases.items():
        ours = {
            key: median(record[key] for record in records) for key in ("cut", "launches", *COLUMNS)
        }
        found.append(ratios(ours, reference.figures[name, k]))
        numbers = [f"{ours['cut']:.0f}", f"{ours['launches']:.0f}"]
        numbers += [f"{ours[stage]:.4f}" for stage in COLUMNS]
        rows.append([name, str(k), *numbers, *(ratio_text(ratio or None) for ratio in found[-1])])
    columns = [[ratio for ratio in column if ratio] for column in zip(*found, strict=True)]
    means = [mean_text(column) for column in columns]
    maxima = [ratio_text(max(column, default=None)) for column in columns]
    for label, texts in (("geometric mean", means), ("worst", maxima)):
        rows.append([label, *[""] * (len(rows[0]) - 1 - len(texts)), *texts])
    return rows


def report(records: Sequence[Record], reference: Reference, options: argparse.Namespace) -> None:
    """Print a table per back end and preset, then infeasible and nondeterministic cases."""
    others = ", ".join(f"{tool} ({short})" for short, tool in OTHERS.items())
    headers = ["graph", "k", "cut", "launch", "total", "coarse", "init", "refine", "upload"]
    headers += [f"{quantity}/{short}" for quantity in "tdc" for short in OTHERS]
    for backend in options.backends:
        for preset in options.presets:
            cases: dict[Case, list[Record]] = {}
            for record in records:
                if (record["backend"], record["preset"]) == (backend, preset):
                    cases.setdefault((record["graph"], record["k"]), []).append(record)
            if cases:
                show(
                    f"{backend}, {preset}: seconds; time (t), time without upload (d) and cut (c) "
                    f"divided by those of {others}",
                    headers,
                    table(cases, reference),
                    markdown=options.markdown,
                )
    for record in records:
        if not record["feasible"] or len(record["hashes"]) > 1:
            defect = "differ between runs" if record["feasible"] else "are NOT feasible"
            print(f"the parts of {_key(record)} {defect}")
    hashes: dict[tuple[Any, ...], list[str]] = {}
    for record in records:
        case = tuple(record[name] for name in ("graph", "k", "preset", "seed"))
        hashes.setdefault(case, []).append(" ".join(record["hashes"]))
    shared = [group for group in hashes.values() if len(group) > 1]
    if shared:
        equal = sum(len(set(group)) == 1 for group in shared)
        print(f"{equal} of {len(shared)} cases that ran on several back ends have equal parts")


def main() -> None:
    """Generate the graphs, measure the missing cases, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="CSV",
        help="results of other partitioners: columns graph, n, m, k, tool, cut and seconds",
    )
    parser.add_argument("--generated", type=Path, metavar="DIR", help="cache of generated graphs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="use only these graphs")
    parser.add_argument(
        "--only-generate", action="store_true", help="stop after generating the graphs"
    )
    parser.add_argument("--presets", nargs="+", default=["default"])
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(ON_GPU))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs with each seed")
    parser.add_argument("--threads", type=int, help="CPU threads; all by default")
    parser.add_argument(
        "--peer",
        type=Path,
        metavar="PROGRAM",
        help="executable of the C++ Jet, to run in turn with jetpy",
    )
    parser.add_argument("--rounds", type=int, default=4, help="rounds with --peer")
    parser.add_argument(
        "--set", nargs="+", choices=SETS, default=["ten"], help="sets of cases for --peer"
    )
    parser.add_argument("--half", choices=HALVES, help="with --peer, only this half of the cases")
    parser.add_argument(
        "--graphs", type=Path, metavar="DIR", help="with --peer, folder of the real graphs"
    )
    parser.add_argument(
        "--tables",
        nargs="+",
        type=Path,
        metavar="CSV",
        help="print only the tables of these files, which --peer has written",
    )
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    if options.tables:
        rows = [row for path in options.tables for row in peer.read_runs(path)]
        peer.print_tables(rows, markdown=options.markdown)
        return
    if options.generated is None:
        parser.error("--generated is needed")
    if options.peer is not None:
        if not (options.only_generate or os.access(options.peer, os.X_OK)):
            parser.error(f"{options.peer} is not an executable file")
        failed = run_with_peer(options)
        raise SystemExit(f"{failed} cases failed" if failed else 0)
    if options.reference is None:
        parser.error("--reference or --peer is needed")
    reference = read_reference(options.reference)
    names = set(options.only or reference.sizes)
    instances = [i for i in generated_instances(options.generated) if i.name in names]
    unknown = names - (reference.sizes.keys() & {instance.name for instance in instances})
    if unknown:
        raise SystemExit(
            f"these graphs lack a reference or a generator: {', '.join(sorted(unknown))}"
        )
    generate_missing(instances, options.generated)
    if options.only_generate:
        return
    failed = run(instances, reference, options)
    latest = {
        _key(record): record
        for record in read_records(results_path(options.results))
        if record["graph"] in names
        and (record["graph"], record["k"]) in reference.figures
        and record["seed"] in options.seeds
    }
    report(list(latest.values()), reference, options)
    raise SystemExit(f"{failed} cases failed" if failed else 0)


if __name__ == "__main__":
    main()
