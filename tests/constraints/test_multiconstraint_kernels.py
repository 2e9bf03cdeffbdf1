"""The parts that kernels for several weights choose, compared with plain Python."""

from __future__ import annotations

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
from jetpy.kernel_language.reading import read_workunits
from jetpy.problem.multiconstraint import MultiConstraint, loads
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.constraints.multiconstraint import refine_level
from tests.conftest import require_backend
from tests.modules import import_kernels
from tests.strategies import weighted_graphs


@pytest.fixture(scope="module")
def probes() -> ModuleType:
    """Import the kernels of `multiconstraint_probes.py` without PyKokkos."""
    return import_kernels("tests.constraints.multiconstraint_probes")


@dataclass
class Choices:
    """A partition, and the destinations of its vertices, recounted for each call."""

    graph: Graph
    parts: list[int]
    several: MultiConstraint

    @property
    def k(self) -> int:
        return len(self.several.limits)

    def connection(self, v: int, q: int) -> int:
        """Return the weight of the edges from a vertex to a part."""
        row = slice(self.graph.indptr[v], self.graph.indptr[v + 1])
        edges = zip(self.graph.indices[row], self.graph.edge_weights[row], strict=True)
        return sum(int(weight) for u, weight in edges if self.parts[u] == q)

    def adjacent(self, v: int) -> set[int]:
        """Return the parts of the neighbours, without the vertex's current part."""
        row = self.graph.indices[self.graph.indptr[v] : self.graph.indptr[v + 1]]
        return {self.parts[u] for u in row} - {self.parts[v]}

    def spare(self, q: int) -> np.ndarray:
        """Return the spare weight of a part, each weight scaled to count the same."""
        held = loads(self.several.weights, np.array(self.parts, np.int32), self.k)
        return (self.several.limits[q] - held[q]) * self.several.factors

    def growth(self, v: int, q: int) -> int:
        """Return the overload that a vertex adds to a part."""
        spare, weights = self.spare(q), self.several.weights[v] * self.several.factors
        return int((np.maximum(weights - spare, 0) - np.maximum(-spare, 0)).sum())

    def improving(self, v: int) -> int:
        """Return the adjacent part with room and the strongest connection, of equals the lowest."""
        fitting = [q for q in self.adjacent(v) if (self.several.weights[v] <= self.room(q)).all()]
        return min(fitting, key=lambda q: (-self.connection(v, q), q), default=NO_PART)

    def room(self, q: int) -> np.ndarray:
        return self.spare(q) // self.several.factors

    def roomiest(self) -> int:
        return max(range(self.k), key=lambda q: (self.spare(q).min(), -q))

    def relieving(self, v: int) -> int:
        """Return the adjacent or roomiest part that grows least, unless another part grows less."""
        others = [q for q in range(self.k) if q != self.parts[v]]
        near = (self.adjacent(v) | {self.roomiest()}) - {self.parts[v]}
        grown = {q: self.growth(v, q) for q in others}
        best = min(near, key=lambda q: (grown[q], -self.connection(v, q), q), default=NO_PART)
        if best != NO_PART and grown[best] == min(grown.values()):
            return best
        return min(others, key=lambda q: (grown[q], q), default=NO_PART)


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    """Draw few different weights, so that connections and growths tie, and little or much room."""
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
def test_destinations_equal_the_oracle(
    backend_name: str, probes: ModuleType, expected: Choices
) -> None:
    backend = require_backend(backend_name)
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
def test_loads_are_updated(start: Choices, seed: int) -> None:
    engine, graph, n, k = require_backend("cpu"), start.graph, start.graph.n, start.k
    state = State.of(
        engine, start.several, np.array(start.parts, np.int32), np.full(n, NO_PART, np.int32)
    )
    engine.run_tasks(
        1, refine_level, n=n, k=k, passes=2, seed=seed, graph=upload(engine, graph), state=state
    )
    assert np.array_equal(state.loads, loads(start.several.weights, state.parts, k).ravel())
