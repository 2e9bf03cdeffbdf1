"""jetpy on large graphs beside the GPU partitioners of a CSV file; goes on where it stopped."""

from __future__ import annotations

import argparse
import csv
import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any, NamedTuple

import jetpy
from bench import peer
from bench.fingerprint import digest
from bench.instances import Instance, generated_instances
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from jetpy.device.backends import BACKENDS, ON_GPU, get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.threads import available_threads

OTHERS = {"jet": "jet-cpp", "def": "gpu-heipa-default", "ult": "gpu-heipa-ultra"}
"""Tools of the reference by what their columns are called."""

STAGES = ("total", "coarsen", "initial", "refine")
COLUMNS = (*STAGES, "upload")
"""The upload of the graph is a part of coarsening, and so of the total."""

Record = dict[str, Any]
Case = tuple[str, int]
"""Graph and number of parts."""


class Reference(NamedTuple):
    """What each tool reaches in each case, as far as it was measured, and the size of each graph.

    The keys of a tool's figures are cut and total (seconds).
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
    """Make graphs side by side; they are kept in the cache."""
    with ProcessPoolExecutor(available_threads()) as pool:
        for line in pool.map(_generate, instances):
            note(line)


def _generate(instance: Instance) -> str:
    start = perf_counter()
    return f"{instance.load()!r} made in {perf_counter() - start:.1f} s"


def present(options: argparse.Namespace) -> Iterator[str]:
    """Those of the back ends asked for that work here."""
    for backend in options.backends:
        try:
            get_backend(backend, options.threads)
        except jetpy.BackendError as error:
            note(f"{backend} left out: {error}")
        else:
            yield backend


def measure(
    graph: jetpy.Graph, k: int, backend: str, preset: str, options: argparse.Namespace
) -> Iterator[Record]:
    """Partition a graph once to warm up, then several times with each seed."""

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
    """Seconds that it takes to bring a graph to a back end."""
    backend = get_backend(name)
    with backend.using():
        start = perf_counter()
        upload(backend, graph)
        backend.synchronize()
        return perf_counter() - start


def run(instances: Sequence[Instance], reference: Reference, options: argparse.Namespace) -> int:
    """Measure what the results file lacks, one JSON line each; return how many cases failed."""
    path, failed = results_path(options.results), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {_key(record) for record in read_records(path)}
    backends = list(present(options))
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
                    with open(path, "a", encoding="utf-8") as stream:
                        stream.write(json.dumps(record) + "\n")
                    note(f"{label}: {record['total']:.4f} s, cut {record['cut']:,}")
            except Exception:  # must not cost the time on the device that is left for the others
                failed += 1
                note(f"{label} failed: {traceback.format_exc()}")
    return failed


def run_beside_peer(options: argparse.Namespace) -> int:
    """Run by turns with another program; return how many cases failed."""

    def partition(graph: jetpy.Graph, k: int, backend: str) -> peer.Run:
        seed, preset, threads = options.seeds[0], options.presets[0], options.threads
        run = jetpy.partition(graph, k, seed=seed, preset=preset, backend=backend, threads=threads)
        return peer.Run(run.seconds["total"], _upload_seconds(graph, backend), run.cut)

    wanted = options.only or peer.CASES
    instances = [i for i in generated_instances(options.generated) if i.name in wanted]
    generate([i for i in instances if not (options.generated / f"{i.name}.npz").exists()])
    return peer.compare(instances, list(present(options)), partition, options)


def results_path(folder: Path) -> Path:
    """File of the results."""
    return folder / "gpu.jsonl"


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("graph", "k", "backend", "preset", "seed"))


def ratios(ours: Mapping[str, float], theirs: Mapping[str, dict[str, float]]) -> list[float | None]:
    """Time over that of each other tool, with the upload and without, then the cut.

    None where the other is not known.
    """
    pairs = [
        (own, theirs.get(tool, {}).get(quantity))
        for own, quantity in (
            (ours["total"], "total"),
            (ours["total"] - ours["upload"], "total"),
            (ours["cut"], "cut"),
        )
        for tool in OTHERS.values()
    ]
    return [own / other if other else None for own, other in pairs]


def table(cases: Mapping[Case, list[Record]], reference: Reference) -> list[list[str]]:
    """One row a case, medians over the seeds; then geometric means and largest ratios."""
    rows, found = [], []
    for (name, k), records in cases.items():
        ours = {
            key: median(record[key] for record in records) for key in ("cut", "launches", *COLUMNS)
        }
        found.append(ratios(ours, reference.figures[name, k]))
        numbers = [f"{ours['cut']:.0f}", f"{ours['launches']:.0f}"]
        numbers += [f"{ours[stage]:.4f}" for stage in COLUMNS]
        rows.append([name, str(k), *numbers, *(f"{r:.3f}" if r else "-" for r in found[-1])])
    columns = [[ratio for ratio in column if ratio] for column in zip(*found, strict=True)]
    for label, summary in (("geometric mean", geometric_mean), ("worst", max)):
        texts = [f"{summary(column):.3f}" if column else "-" for column in columns]
        rows.append([label, *[""] * (len(rows[0]) - 1 - len(texts)), *texts])
    return rows


def report(records: Sequence[Record], reference: Reference, options: argparse.Namespace) -> None:
    """Print one table per back end and preset, then what is wrong, if anything."""
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
                    f"{backend}, {preset}: seconds; over {others}: time (t), time without "
                    "upload (d), cut (c)",
                    headers,
                    table(cases, reference),
                    markdown=options.markdown,
                )
    for record in records:
        if not record["feasible"] or len(record["hashes"]) > 1:
            what = "differ from run to run" if record["feasible"] else "are NOT feasible"
            print(f"the parts of {_key(record)} {what}")
    hashes: dict[tuple[Any, ...], list[str]] = {}
    for record in records:
        case = tuple(record[name] for name in ("graph", "k", "preset", "seed"))
        hashes.setdefault(case, []).append(" ".join(record["hashes"]))
    shared = [own for own in hashes.values() if len(own) > 1]
    if shared:
        equal = sum(len(set(own)) == 1 for own in shared)
        print(f"parts equal on all back ends: {equal} of {len(shared)} cases run on several")


def main() -> None:
    """Make the graphs, measure what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--reference", type=Path, metavar="CSV")
    parser.add_argument("--generated", type=Path, required=True, metavar="DIR", help="cache")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="no other graphs than these")
    parser.add_argument(
        "--only-generate", action="store_true", help="stop once the graphs are made"
    )
    parser.add_argument("--presets", nargs="+", default=["default"])
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(ON_GPU))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs with each seed")
    parser.add_argument("--threads", type=int, help="CPU threads; all by default")
    parser.add_argument(
        "--peer", type=Path, metavar="PROGRAM", help="run by turns with the C++ Jet's executable"
    )
    parser.add_argument("--rounds", type=int, default=4, help="turns of each, with --peer")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    if options.peer is not None:
        failed = run_beside_peer(options)
        raise SystemExit(f"{failed} cases failed" if failed else 0)
    if options.reference is None:
        parser.error("--reference or --peer is needed")
    reference = read_reference(options.reference)
    wanted = set(options.only or reference.sizes)
    instances = [i for i in generated_instances(options.generated) if i.name in wanted]
    unknown = wanted - (reference.sizes.keys() & {instance.name for instance in instances})
    if unknown:
        raise SystemExit(f"no reference or no generator of {', '.join(sorted(unknown))}")
    generate([i for i in instances if not (options.generated / f"{i.name}.npz").exists()])
    if options.only_generate:
        return
    failed = run(instances, reference, options)
    latest = {
        _key(record): record
        for record in read_records(results_path(options.results))
        if record["graph"] in wanted
        and (record["graph"], record["k"]) in reference.figures
        and record["seed"] in options.seeds
    }
    report(list(latest.values()), reference, options)
    raise SystemExit(f"{failed} cases failed" if failed else 0)


if __name__ == "__main__":
    main()
