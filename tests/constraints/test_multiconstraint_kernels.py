"""The parts that kernels of several weights choose, against plain Python."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetpy.constraints.multiconstraint import State
from jetpy.device.device_graph import upload
from jetpy.engines.kokkos.engine import KokkosBackend
from jetpy.graph.csr import Graph
from jetpy.kernel_language import pykokkos_standin
from jetpy.kernel_language.reading import read_workunits
from jetpy.problem.multiconstraint import MultiConstraint, loads
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.constraints.multiconstraint import refine_level
from tests.conftest import working
from tests.strategies import weighted_graphs


@pytest.fixture(scope="module")
def probes() -> ModuleType:
    """The kernels of `several_probes.py`, imported without PyKokkos."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pykokkos", pykokkos_standin)
        return importlib.import_module("tests.constraints.several_probes")


@dataclass
class Choices:
    """A partition, and the choices of parts for a vertex, each counted anew."""

    graph: Graph
    parts: list[int]
    several: MultiConstraint

    @property
    def k(self) -> int:
        return len(self.several.limits)

    def connection(self, v: int, q: int) -> int:
        """Weight of the edges from a vertex to a part."""
        row = slice(self.graph.indptr[v], self.graph.indptr[v + 1])
        edges = zip(self.graph.indices[row], self.graph.edge_weights[row], strict=True)
        return sum(int(weight) for u, weight in edges if self.parts[u] == q)

    def adjacent(self, v: int) -> set[int]:
        """The parts of the neighbours, but for the vertex's own."""
        row = self.graph.indices[self.graph.indptr[v] : self.graph.indptr[v + 1]]
        return {self.parts[u] for u in row} - {self.parts[v]}

    def spare(self, q: int) -> np.ndarray:
        """What a part may still gain of each weight, all weights counting the same."""
        held = loads(self.several.weights, np.array(self.parts, np.int32), self.k)
        return (self.several.limits[q] - held[q]) * self.several.factors

    def growth(self, v: int, q: int) -> int:
        """By how much more a part is above its limits with a vertex."""
        spare, weights = self.spare(q), self.several.weights[v] * self.several.factors
        return int((np.maximum(weights - spare, 0) - np.maximum(-spare, 0)).sum())

    def improving(self, v: int) -> int:
        """The adjacent part with room of the strongest connection, the lowest of these."""
        fitting = [q for q in self.adjacent(v) if (self.several.weights[v] <= self.room(q)).all()]
        return min(fitting, key=lambda q: (-self.connection(v, q), q), default=NO_PART)

    def room(self, q: int) -> np.ndarray:
        return self.spare(q) // self.several.factors

    def roomiest(self) -> int:
        return max(range(self.k), key=lambda q: (self.spare(q).min(), -q))

    def relieving(self, v: int) -> int:
        """Of adjacent parts and the roomiest, that which grows least, unless another grows less."""
        others = [q for q in range(self.k) if q != self.parts[v]]
        near = (self.adjacent(v) | {self.roomiest()}) - {self.parts[v]}
        grown = {q: self.growth(v, q) for q in others}
        best = min(near, key=lambda q: (grown[q], -self.connection(v, q), q), default=NO_PART)
        if best != NO_PART and grown[best] == min(grown.values()):
            return best
        return min(others, key=lambda q: (grown[q], q), default=NO_PART)


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    """Few different weights, so that connections and growths tie; little room, or enough."""
    graph = draw(weighted_graphs(most=14))
    k, kinds = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    parts = rng.integers(0, k, graph.n)
    heaviest = draw(st.sampled_from([1, 2, 5]))
    weights = rng.integers(0, heaviest + 1, (graph.n, kinds)).astype(np.int32)
    held = loads(weights, parts, k)
    least, most = draw(st.sampled_from([(-3, 0), (-2, 2), (0, 5)]))
    limits = (held + rng.integers(least, most + 1, held.shape)).clip(0, 2 * held.sum(axis=0) + 1)
    return Choices(graph, parts.tolist(), MultiConstraint(weights, limits, limits))


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(expected=choices())
def test_parts_that_vertices_choose(
    backend_name: str, probes: ModuleType, expected: Choices
) -> None:
    backend = working(backend_name)
    engine, graph, n = backend.host, expected.graph, expected.graph.n
    if isinstance(engine, KokkosBackend):
        engine.prepare(getattr(probes, workunit) for workunit in read_workunits(probes))
    parts = np.array(expected.parts, np.int32)
    state = State.of(engine, expected.several, parts, np.full(n, NO_PART, np.int32))
    held = loads(expected.several.weights, parts, expected.k).ravel()
    state = replace(state, loads=engine.from_host(held))
    improving, relieving = engine.empty(n), engine.empty(n)
    engine.run_tasks(
        1, probes.choose_each, n=n, k=expected.k, improving=improving, relieving=relieving,
        graph=upload(engine, graph), state=state,
    )  # fmt: skip
    assert engine.to_host(improving).tolist() == [expected.improving(v) for v in range(n)]
    assert engine.to_host(relieving).tolist() == [expected.relieving(v) for v in range(n)]
    assert not engine.to_host(state.connections).any()


@settings(max_examples=60, deadline=None)
@given(start=choices().filter(lambda drawn: drawn.k > 1), seed=st.integers(0, 99))
def test_loads_are_kept_up_to_date(start: Choices, seed: int) -> None:
    engine, graph, n, k = working("cpu"), start.graph, start.graph.n, start.k
    state = State.of(
        engine, start.several, np.array(start.parts, np.int32), np.full(n, NO_PART, np.int32)
    )
    engine.run_tasks(
        1, refine_level, n=n, k=k, passes=2, seed=seed, graph=upload(engine, graph), state=state
    )
    assert np.array_equal(state.loads, loads(start.several.weights, state.parts, k).ravel())
