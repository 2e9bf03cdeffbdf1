"""The parts that kernels for several weights choose, compared with plain Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.constraints.multiconstraint import state_of
from jetpy.device.device_graph import upload
from jetpy.engines.kokkos.engine import KokkosBackend
from jetpy.graph.csr import Graph
from jetpy.kernel_language.reading import read_workunits
from jetpy.problem.metrics import edge_cut
from jetpy.problem.multiconstraint import MultiConstraint, divisors_of, loads
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.constraints.multiconstraint import MultiConstraint as State
from jetpy.workloads.constraints.multiconstraint import refine_level
from tests.conftest import require_backend
from tests.graphs import from_edges, path
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
        """Return the parts with a connection, without the vertex's current part."""
        return {q for q in range(self.k) if self.connection(v, q) > 0} - {self.parts[v]}

    def held(self, q: int) -> np.ndarray:
        """Return the weights of a part."""
        return loads(self.several.weights, np.array(self.parts, np.int32), self.k)[q]

    def spare(self, q: int) -> np.ndarray:
        """Return the spare weight of a part, each weight scaled to count the same."""
        return (self.several.limits[q] - self.held(q)) * self.several.factors

    def excess(self, q: int, held: np.ndarray) -> int:
        """Return what part q with these weights has above its limits and below the lower ones."""
        above, below = held - self.several.limits[q], self.several.lower_limits[q] - held
        return int(((above.clip(0) + below.clip(0)) * self.several.factors).sum())

    def growth(self, v: int, q: int) -> int:
        """Return the excess that a vertex adds to a part."""
        held = self.held(q)
        return self.excess(q, held + self.several.weights[v]) - self.excess(q, held)

    def loss(self, v: int) -> int:
        """Return the excess that a vertex adds to its part by leaving it."""
        p, held = self.parts[v], self.held(self.parts[v])
        return self.excess(p, held - self.several.weights[v]) - self.excess(p, held)

    def improving(self, v: int) -> int:
        """Return the adjacent part with room and the strongest connection, of equals the lowest.

        A vertex that its part needs may only go to a part that needs it more.
        """
        fitting = [
            q
            for q in self.adjacent(v)
            if (self.several.weights[v] <= self.room(q)).all()
            and (self.loss(v) <= 0 or self.loss(v) + self.growth(v, q) < 0)
        ]
        return min(fitting, key=lambda q: (-self.connection(v, q), q), default=NO_PART)

    def room(self, q: int) -> np.ndarray:
        return self.spare(q) // self.several.factors

    def roomiest(self) -> int:
        return max(range(self.k), key=lambda q: (self.spare(q).min(), -q))

    def neediest(self) -> set[int]:
        """Return the part furthest below its lower limits, or no part."""
        below = [(self.several.lower_limits[q] - self.held(q)).clip(0) for q in range(self.k)]
        need = [int((weights * self.several.factors).sum()) for weights in below]
        return {need.index(max(need))} if max(need) > 0 else set()

    def relieving(self, v: int) -> int:
        """Return the adjacent, roomiest or neediest part whose excess grows least.

        If it grows, return another part if its excess grows less.
        """
        others = [q for q in range(self.k) if q != self.parts[v]]
        near = (self.adjacent(v) | {self.roomiest()} | self.neediest()) - {self.parts[v]}
        grown = {q: self.growth(v, q) for q in others}
        best = min(near, key=lambda q: (grown[q], -self.connection(v, q), q), default=NO_PART)
        if best != NO_PART and (grown[best] <= 0 or grown[best] == min(grown.values())):
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
    below = draw(st.sampled_from([0, 1, 4]))
    lower = (limits - rng.integers(1, 4, limits.shape) * below).clip(0) * min(below, 1)
    return Choices(graph, parts.tolist(), MultiConstraint.of(weights, limits, limits, lower))


@settings(max_examples=300)
@given(expected=choices())
def test_destinations_equal_the_oracle(
    backend_name: str, probes: ModuleType, expected: Choices
) -> None:
    backend = require_backend(backend_name)
    engine, graph, n = backend.host, expected.graph, expected.graph.n
    if isinstance(engine, KokkosBackend):
        engine.prepare(getattr(probes, workunit) for workunit in read_workunits(probes))
    parts = np.array(expected.parts, np.int32)
    device, free = upload(engine, graph), np.full(n, NO_PART, np.int32)
    state = state_of(engine, device, expected.several, parts, free)
    held = loads(expected.several.weights, parts, expected.k).ravel()
    state = replace(state, loads=engine.from_host(held))
    improving, relieving = engine.empty(n), engine.empty(n)
    engine.run_tasks(
        1, probes.choose_each, n=n, k=expected.k, improving=improving, relieving=relieving,
        graph=device, state=state,
    )  # fmt: skip
    assert engine.to_host(improving).tolist() == [expected.improving(v) for v in range(n)]
    assert engine.to_host(relieving).tolist() == [expected.relieving(v) for v in range(n)]
    connections = engine.to_host(state.connections)
    assert not connections[: expected.k].any()
    for v, row in enumerate(engine.to_host(state.rows).tolist()):
        assert (row > 0) == (graph.degrees[v] > expected.k)
        table = connections[row : row + expected.k].tolist()
        assert row == 0 or table == [expected.connection(v, q) for q in range(expected.k)]


def refined(start: Choices, seed: int) -> State:
    """Return the state after refinement of a partition."""
    engine, graph, n, k = require_backend("cpu"), start.graph, start.graph.n, start.k
    device, parts = upload(engine, graph), np.array(start.parts, np.int32)
    state = state_of(engine, device, start.several, parts, np.full(n, NO_PART, np.int32))
    engine.run_tasks(1, refine_level, n=n, k=k, passes=2, seed=seed, graph=device, state=state)
    return state


@settings(max_examples=60)
@given(start=choices().filter(lambda drawn: drawn.k > 1), seed=st.integers(0, 99))
def test_loads_and_connections_are_updated(start: Choices, seed: int) -> None:
    state = refined(start, seed)
    expected = loads(start.several.weights, state.parts, start.k)
    assert np.array_equal(state.loads, expected.ravel())
    after = Choices(start.graph, state.parts.tolist(), start.several)
    for v, row in enumerate(state.rows.tolist()):
        if row > 0:
            table = state.connections[row : row + start.k].tolist()
            assert table == [after.connection(v, q) for q in range(start.k)]


@settings(max_examples=100)
@given(start=choices().filter(lambda drawn: drawn.k > 1), seed=st.integers(0, 99))
def test_excess_never_grows_and_the_cut_only_if_it_falls(start: Choices, seed: int) -> None:
    found, before = refined(start, seed).parts, np.array(start.parts, np.int32)
    excess = start.several.excess(before), start.several.excess(found)
    cuts = edge_cut(start.graph, before), edge_cut(start.graph, found)
    assert excess[1] < excess[0] or (excess[1] == excess[0] and cuts[1] <= cuts[0])


@pytest.mark.parametrize(("least", "most"), [(4, 4), (3, 5), (0, 4)])
def test_parts_are_filled_from_the_neighbours(least: int, most: int) -> None:
    """All vertices of a path begin in one part of three."""
    graph, ones = path(12), np.ones((12, 2), np.int32)
    limits = np.full((3, 2), most)
    several = MultiConstraint.of(ones, limits, limits, np.full((3, 2), least))
    found = refined(Choices(graph, [1] * 12, several), 3).parts
    assert several.excess(found) == 0


def test_vertices_stay_where_a_lower_limit_needs_them() -> None:
    """All cuts of the path are better than this one, but leave a part too light."""
    graph = from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], [9, 9, 1, 9, 9])
    ones, most = np.ones((6, 1), np.int32), np.full((2, 1), 6)
    parts = [0, 0, 1, 1, 1, 1]
    bound = MultiConstraint.of(ones, most, most, np.array([[2], [4]]))
    assert refined(Choices(graph, parts, bound), 0).parts.tolist() == parts
    free = MultiConstraint.of(ones, most, most, np.array([[2], [3]]))
    assert refined(Choices(graph, parts, free), 0).parts.tolist() == [0, 0, 0, 1, 1, 1]


def test_lower_limits_change_with_units_and_levels() -> None:
    weights = np.array([[4, 1], [6, 2], [2, 3]], np.int32)
    limits, lower = np.array([[9, 5], [7, 6]]), np.array([[3, 2], [5, 0]])
    several = MultiConstraint.of(weights, limits, limits, lower)
    assert several.in_units(divisors_of(weights)).limits.tolist() == [[4, 5], [3, 6]]
    assert several.in_units(divisors_of(weights)).lower_limits.tolist() == [[2, 2], [3, 0]]
    assert several.loosened(len(weights)).limits.tolist() == [[11, 6], [9, 7]]
    assert several.loosened(len(weights)).lower_limits.tolist() == [[1, 1], [3, 0]]
    coarse = several.coarsened(np.array([0, 0, 1]), 2)
    assert coarse.lower_limits.tolist() == lower.tolist()
    # the parts weigh (4, 1) and (8, 5): part 0 lacks one unit, part 1 has one too many
    assert several.excess(np.array([0, 1, 1])) == several.factors.sum()
