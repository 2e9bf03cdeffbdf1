"""One graph on several processes: the same parts as on one, and the time that takes.

    python -m bench.distributed --graphs DIR cube:100 rmat:16:16 --processes 1 2 3 4 --threads 1 2

partitions every graph (files, or cubes and R-MAT graphs by their sizes) by `jetpy.partition`, and
by `jetpy.distributed` with so many processes, and compares the parts. --weights gives vertices and
edges random weights as well; --small is the size up to which levels are gathered, so that small
graphs are partitioned in pieces, too (by the preset fast; with default, levels below the size of
flows are gathered in any case). Times are those of the slowest process, "of one's" is that over the
time of one process with the most threads, and "talk" is the share that the first process spent in
MPI, which includes waiting for others; "calls" and "MB" are how often it did so, and what it handed
over. --levels tells these for each level, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from bench.child import answers
from bench.tables import show
from jetpy.distributed import api
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import MpiCommunicator
from jetpy.distributed.levels import PieceLevel
from jetpy.distributed.reading import read_block
from jetpy.study.answers import answering
from jetpy.study.arrays import checksum_of_parts

HEADERS = ["graph", "processes", "threads", "cut", "parts", "s", "of one's", "talk", "calls", "MB"]
EQUAL = HEADERS.index("parts")
LEVEL_HEADERS = ["vertices", "edges", "ghosts", "calls", "MB", "iterations", "calls", "MB"]
"""The first calls and MB are those of coarsening, the others those of refinement."""
TIMED = (
    *("allreduce", "gather", "allgather", "alltoallv", "alltoall", "allgather_objects"),
    "totals",
)
Level = tuple[int, str]
"""Number of vertices, and stage."""


@dataclass
class Talk:
    """How often a process has talked, and how many bytes it has handed over."""

    calls: int = 0
    handed: int = 0


class Timed(MpiCommunicator):
    """Knows how long it has talked, and on which levels."""

    def __init__(self, comm: Any) -> None:
        self.seconds = 0.0
        self.all = Talk()
        self.levels: dict[Level, Talk] = defaultdict(Talk)
        self.ghosts: dict[int, int] = {}
        super().__init__(comm)

    def note(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Count a call, and the bytes of the arrays that it sends, which follow the back end."""
        sent = arguments[1:] if name == "allreduce" else arguments[1:2]
        handed = sum(a.nbytes for a in sent if isinstance(a, np.ndarray))
        level, piece = level_of(sys._getframe(2))
        if piece is not None:
            self.ghosts[piece.global_n] = piece.n_with_ghosts - piece.n_owned
        for talk in (self.all, self.levels[level]):
            talk.calls += 1
            talk.handed += handed

    def __getattribute__(self, name: str) -> Any:
        """Return a method of the communicator that adds to its seconds."""
        method = super().__getattribute__(name)
        if name not in TIMED:
            return method

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            self.note(name, arguments)
            try:
                return method(*arguments)
            finally:
                self.seconds += time.perf_counter() - started

        return timed


def level_of(frame: FrameType | None) -> tuple[Level, Any]:
    """Return the number of vertices of the level that a call is for, its stage, and its piece."""
    while frame is not None:
        for stage in (PieceLevel.contract, PieceLevel.refine):
            if frame.f_code is stage.__code__:
                piece = frame.f_locals["self"].graph
                return (piece.global_n, stage.__name__), piece
        frame = frame.f_back
    return (0, "rest"), None


def block_of(comm: Any, spec: str, *, weights: bool) -> Block:
    """Return this process's block of a graph."""
    kind, *sizes = spec.split(":")
    if kind == "cube":
        block = jetpy.distributed.cube(comm, *[int(sizes[0])] * 3)
    elif kind == "rmat":
        block = jetpy.distributed.rmat(comm, *map(int, sizes))
    else:
        block = read_block(api.communicator(comm), spec)
    return with_weights(comm, block) if weights else block


def with_weights(comm: Any, block: Block) -> Block:
    """Return a block with weights that depend on the numbers of vertices alone."""
    first = sum(
        api.communicator(comm).allgather_objects(block.n)[: 0 if comm is None else comm.rank]
    )
    own = np.arange(first, first + block.n, dtype=np.int64)
    tails = np.repeat(own, np.diff(block.indptr))
    low, high = np.minimum(tails, block.indices), np.maximum(tails, block.indices)
    edge_weights = ((low * 7919 + high * 104729) % 97 + 1).astype(np.int32)
    vertex_weights = (own * 15485863 % 100 + 1).astype(np.int32)
    return replace(block, edge_weights=edge_weights, vertex_weights=vertex_weights)


def cases(options: argparse.Namespace) -> Iterator[tuple[str, bool, int, str]]:
    """Return graphs, whether they are weighted, numbers of parts and presets."""
    for spec in options.graph:
        for weights in (False, True) if options.weights else (False,):
            for k in options.k:
                for name in options.presets:
                    yield spec, weights, k, name


def on_one(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Partition all cases by `jetpy.partition`."""
    for spec, weights, k, name in cases(options):
        block = block_of(None, spec, weights=weights)
        graph = jetpy.as_graph(
            (block.indptr, block.indices, block.edge_weights, block.vertex_weights)
        )
        results = [
            jetpy.partition(
                graph, k, preset=name, backend=options.backend, threads=options.threads[0]
            )
            for _ in range(options.repeat)
        ]
        seconds = median(result.seconds["total"] for result in results)
        yield describe(
            spec, weights, k, name, results[-1], checksum_of_parts(results[-1].parts), seconds
        )


def on_several(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Partition all cases together with the other processes."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for spec, weights, k, name in cases(options):
        block = block_of(world, spec, weights=weights)
        seconds = []
        for _ in range(options.repeat):
            comm = Timed(world)
            result = jetpy.distributed.partition(
                comm,
                block,
                k,
                preset=name,
                backend=options.backend,
                threads=options.threads[0],
                small=options.small,
            )
            seconds.append(max(world.allgather(result.seconds["total"])))
        parts = world.gather(result.parts)
        if parts is not None:
            told = describe(
                spec,
                weights,
                k,
                name,
                result,
                checksum_of_parts(np.concatenate(parts)),
                median(seconds),
            )
            yield {
                **told,
                "talk": comm.seconds / seconds[-1],
                "calls": comm.all.calls,
                "handed": comm.all.handed,
                "levels": by_levels(result, comm),
            }


def by_levels(result: Any, comm: Timed) -> list[list[str]]:
    """Return the rows of a table of the levels in pieces: what the first process has said."""
    rows = []
    for level in result.levels:
        if level.n in comm.ghosts:
            coarsen, refine = (comm.levels[level.n, stage] for stage in ("contract", "refine"))
            rows.append(
                [
                    f"{level.n:,}",
                    f"{level.m:,}",
                    f"{comm.ghosts[level.n]:,}",
                    f"{coarsen.calls:,}",
                    f"{coarsen.handed / 1e6:.2f}",
                    str(level.iterations),
                    f"{refine.calls:,}",
                    f"{refine.handed / 1e6:.2f}",
                ]
            )
    return rows


def describe(
    spec: str, weights: bool, k: int, name: str, result: Any, parts: str, seconds: float
) -> dict[str, Any]:
    """Return a row of a table."""
    return {
        "case": f"{Path(spec).name}{' weighted' * weights}, k = {k}, {name}",
        "cut": result.cut,
        "feasible": result.feasible,
        "parts": parts,
        "seconds": seconds,
    }


def launch(size: int, threads: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows that so many processes tell; of `jetpy.partition` for none."""
    arguments = [*options.graph, "--child", size, "--threads", threads, "--repeat", options.repeat]
    if options.small is not None:
        arguments += ["--small", options.small]
    arguments += ["--backend", options.backend, "--presets", *options.presets]
    arguments += ["-k", *options.k, *["--weights"] * options.weights]
    return list(answers("bench.distributed", *arguments, processes=size or None))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="*", help="files, cube:SIDE, rmat:SCALE:EDGE_FACTOR")
    parser.add_argument("--graphs", type=Path, metavar="DIR", help="all graphs of a folder")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("-k", type=int, nargs="+", default=[2, 8, 64])
    parser.add_argument("--presets", nargs="+", default=["default", "fast"])
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--small", type=int)
    parser.add_argument("--repeat", type=int, default=1, help="times are medians of so many runs")
    parser.add_argument("--levels", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.graphs is not None:
        options.graph += sorted(map(str, options.graphs.glob("*.graph*")))
    if options.child is not None:
        answer = answering()
        for row in on_several(options) if options.child else on_one(options):
            answer(row)
        return
    one = {row["case"]: row for row in launch(0, max(options.threads), options)}
    rows = []
    for size in options.processes:
        for threads in options.threads:
            for row in launch(size, threads, options):
                expected = one[row["case"]]
                if options.levels:
                    show(f"{row['case']}, {size} processes", LEVEL_HEADERS, row["levels"])
                same = row["parts"] == expected["parts"]
                rows.append(
                    [
                        row["case"],
                        str(size),
                        str(threads),
                        f"{row['cut']:,}",
                        "equal" if same else "DIFFERENT",
                        f"{row['seconds']:.3f}",
                        f"{row['seconds'] / expected['seconds']:.2f}",
                        f"{row['talk']:.2f}",
                        f"{row['calls']:,}",
                        f"{row['handed'] / 1e6:,.1f}",
                    ]
                )
    title = "Processes beside one that has the most threads"
    show(title, HEADERS, rows)
    equal = sum(row[EQUAL] == "equal" for row in rows)
    print(f"\n{equal} of {len(rows)} partitions equal to those of `jetpy.partition`")


if __name__ == "__main__":
    main()
