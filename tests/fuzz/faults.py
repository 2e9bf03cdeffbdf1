"""Wrong input of one of several processes, which threads represent: one error on all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import jetpy
import jetpy.distributed
from jetpy.distributed.communicator import Communicator
from jetpy.graph.csr import Graph
from jetpy.graph.validate import row_of
from tests.distributed.test_pieces import block_of
from tests.distributed.threads import run_on_threads
from tests.fuzz.checks import Finding, ensure
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph
from tests.fuzz.oracles import Ints

ARRAYS = "indptr", "indices", "edge_weights", "vertex_weights"
PLACES = "fixed", "home", "together"
ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
PER_RUN = 6
"""Faults drawn for one graph."""
Input = dict[str, Any]
"""The arrays and options of a call of one process, and its function."""
Spoil = Callable[[Input, int], None]
"""Makes input wrong, in an entry or a vertex of the process."""


class Fault(NamedTuple):
    """A fault in an "edge" or a "vertex", or in the options, and a part of the message.

    If `is_named`, the message names the edge or the vertex.
    """

    of: str
    spoil: Spoil
    message: str
    is_named: bool = True


def entry(name: str, value: int | Callable[[Input, int], int]) -> Spoil:
    """Return a function that replaces an entry of an array."""

    def spoil(given: Input, at: int) -> None:
        given[name][at] = value(given, at) if callable(value) else value

    return spoil


def whole(name: str, change: Callable[[Any], Any]) -> Spoil:
    """Return a function that replaces a whole array, or an option."""

    def spoil(given: Input, at: int) -> None:
        given[name] = change(given[name])

    return spoil


FAULTS = {
    "a neighbour outside": Fault(
        "edge", entry("indices", lambda given, at: given["n"] + at), "leaves the graph"
    ),
    "a negative neighbour": Fault(
        "edge", entry("indices", lambda given, at: -1 - at), "leaves the graph"
    ),
    "a loop": Fault(
        "edge",
        entry("indices", lambda given, at: given["first"] + row_of(given["indptr"], at)),
        "is a self-loop",
    ),
    "a negative edge weight": Fault("edge", entry("edge_weights", -1), "edge_weights has -1"),
    "an edge weight of 2**31": Fault("edge", entry("edge_weights", 2**31), f"has {2**31} for"),
    "no indices": Fault("edge", whole("indices", lambda values: values[:0]), "indptr", False),
    "fractional edge weights": Fault(
        "edge", whole("edge_weights", lambda values: values + 0.5), "not float64", False
    ),
    "a negative vertex weight": Fault("vertex", entry("vertex_weights", -1), "weights has -1"),
    "too few vertex weights": Fault(
        "vertex", whole("vertex_weights", lambda values: values[1:]), "entries", False
    ),
    "no vertex weights": Fault(
        "vertex", whole("vertex_weights", lambda _: None), "no vertex_weights", False
    ),
    "falling offsets": Fault("vertex", entry("indptr", -1), "indptr", False),
    "a fixed part of 3": Fault("vertex", entry("fixed", 3), "fixed has part 3"),
    "a home of -2": Fault("vertex", entry("home", -2), "home has part -2"),
    "a group of -2": Fault("vertex", entry("together", -2), "together has group -2"),
    "too many homes": Fault(
        "", whole("home", lambda values: np.append(values, 0)), "home has shape", False
    ),
    "no groups": Fault("", whole("together", lambda _: None), "together='nothing'", False),
    "another seed": Fault("", whole("seed", lambda _: 5), "seed=5", False),
    "another k": Fault("", whole("k", lambda _: 4), "k=4", False),
    "an unknown preset": Fault("", whole("preset", lambda _: "best"), "unknown preset", False),
    "another function": Fault("", whole("function", lambda _: "evaluate"), "evaluate", False),
}
CHOICES: Choices = {"fault": list(FAULTS), "processes with a fault": [2, 3, 4]}


class Case(NamedTuple):
    """A fault of a process, in one of its entries or vertices."""

    name: str
    rank: int
    at: int


@dataclass(frozen=True, eq=False)
class Faults:
    graph: Graph
    bounds: Ints
    cases: Sequence[Case]

    def __str__(self) -> str:
        blocks = np.diff(self.bounds).tolist()
        return f"faults: {self.graph.name}, blocks {blocks}, {'; '.join(map(str, self.cases))}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        for case in self.cases:
            messages = self._messages(case)
            yield ensure("one error", len(messages) == 1, f"{case}: {messages}")
            for part in (FAULTS[case.name].message, f"process {case.rank}", self._row(case)):
                found = all(part in message for message in messages)
                yield ensure("process and row named", found, f"{case}: {messages}")

    def _messages(self, case: Case) -> set[str]:
        """Return the different messages of the errors that processes raise."""

        def run(comm: Communicator) -> str:
            try:
                self._call(comm, case)
            except jetpy.JetpyError as error:
                return str(error)
            return "no error"

        return set(run_on_threads(len(self.bounds) - 1, run))

    def _row(self, case: Case) -> str:
        """Return the name of the edge or vertex in the message; "" if it has none."""
        fault, first = FAULTS[case.name], int(self.bounds[case.rank])
        if not fault.is_named:
            return ""
        if fault.of == "vertex":
            return f"vertex {first + case.at}"
        indptr = self.graph.indptr
        return f"edge ({row_of(indptr, int(indptr[first]) + case.at)}, "

    def _call(self, comm: Communicator, case: Case) -> None:
        block = block_of(self.graph, self.bounds, comm.rank)
        given: Input = {name: np.array(getattr(block, name), np.int64) for name in ARRAYS}
        given |= {name: np.full(block.n, -1) for name in PLACES}
        given |= {"k": 3, "seed": 0, "preset": "fast", "function": "partition"}
        given |= {"n": self.graph.n, "first": int(self.bounds[comm.rank])}
        if comm.rank == case.rank:
            FAULTS[case.name].spoil(given, case.at)
        rows = tuple(given[name] for name in ARRAYS)
        if given["function"] == "evaluate":
            jetpy.distributed.evaluate(comm, rows, np.zeros(block.n, int), 3)
        else:
            options = {name: given[name] for name in ("k", "seed", "preset", *PLACES)}
            jetpy.distributed.partition(comm, rows, **options, **ENGINE)


def faulty(rng: Random) -> Faults:
    graph, size = any_graph(rng), rng.pick("processes with a fault", [2, 3, 4])
    bounds = np.sort(np.concatenate(([0, graph.n], rng.integers(graph.n + 1, size=size - 1))))
    blocks, entries = np.diff(bounds), np.diff(graph.indptr[bounds])
    cases = []
    for _ in range(PER_RUN):
        name = rng.pick("fault", CHOICES["fault"])
        of, rank = FAULTS[name].of, int(rng.integers(size))
        count = int({"edge": entries, "vertex": blocks}.get(of, blocks + 1)[rank])
        if not of:
            rank = max(rank, 1)  # the options of process 0 are those that others must have
        if name == "no vertex weights" and count == graph.n:
            continue  # no process passes any
        if count:
            cases.append(Case(name, rank, int(rng.integers(count))))
    return Faults(graph, bounds, cases)
