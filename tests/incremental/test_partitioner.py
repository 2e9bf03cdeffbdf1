"""Batches of modifiers compared with networkx, and placement compared with plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.device.backends import get_backend
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.problem.presets import IGKWAY_UPDATES
from tests.conftest import register_mode, require_backend
from tests.graphs import from_edges, path
from tests.incremental.oracle import (
    apply,
    as_networkx,
    cut_of,
    entering,
    placed,
    random_batch,
)
from tests.strategies import weighted_graphs

ENGINE = {"backend": "cpu", "threads": 1}
LOCAL = jetpy.IncrementalOptions(refine_after=None, repartition_after=None, max_drift=None)
"""Refine and repartition only if the balance is lost."""
OPTIONS = [
    LOCAL,
    replace(LOCAL, on_host=False),
    jetpy.IncrementalOptions(extra_buckets=0),
    jetpy.IncrementalOptions(extra_buckets=0, on_host=False),
]


def check_state(live: jetpy.IncrementalPartitioner, model: nx.Graph) -> None:
    """Compare the graph, its weights and all measures with values from scratch."""
    parts, ids = live.partition, live.vertices
    assert ids.tolist() == sorted(model)
    assert (parts[ids] >= 0).all()
    assert (parts[ids] < live.k).all()
    assert (np.delete(parts, ids) == -1).all()
    found = nx.relabel_nodes(as_networkx(live.graph), dict(enumerate(ids.tolist())))
    assert dict(found.nodes(data="weight")) == dict(model.nodes(data="weight"))
    assert nx.utils.graphs_equal(found, nx.Graph(model))
    assert (live.n, live.m) == (len(model), model.number_of_edges())
    assert live.cut == cut_of(model, parts)
    weights = [sum(model.nodes[v]["weight"] for v in model if parts[v] == p) for p in range(live.k)]
    assert live.part_weights.tolist() == weights
    assert live.feasible == (max(weights) <= live.limit)


@pytest.fixture
def engine(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Return the back end that the sessions of a test use."""
    monkeypatch.setattr(
        "jetpy.incremental.partitioner.get_backend",
        lambda *_: get_backend(backend.name, backend.threads),
    )
    return backend


relaxed = settings(max_examples=20)


@relaxed
@given(
    graph=weighted_graphs(),
    k=st.integers(1, 5),
    options=st.sampled_from(OPTIONS),
    seed=st.integers(0, 1 << 20),
)
def test_state_equals_the_changed_graph(
    engine: Backend, graph: Graph, k: int, options: jetpy.IncrementalOptions, seed: int
) -> None:
    live = jetpy.IncrementalPartitioner(graph, k, options=options)
    model, rng = as_networkx(graph), random.Random(seed)
    for _ in range(6):
        batch = random_batch(rng, model, len(live.partition), 4)
        apply(model, batch, len(live.partition))
        update = live.update(batch)
        assert update.cut == live.cut
        assert 0 < update.modification_seconds < update.seconds
        check_state(live, model)


@relaxed
@given(
    graph=weighted_graphs(least=4),
    k=st.integers(2, 4),
    options=st.sampled_from([*OPTIONS[:2], replace(LOCAL, max_degree=3)]),
    seed=st.integers(0, 1 << 20),
)
def test_placement_equals_the_oracle(
    engine: Backend, graph: Graph, k: int, options: jetpy.IncrementalOptions, seed: int
) -> None:
    rng = random.Random(seed)
    given = [rng.randrange(k) for _ in range(graph.n)]
    live = jetpy.IncrementalPartitioner(
        graph, k, parts=given, imbalance=1.0, large_imbalance=True, seed=seed, options=options
    )
    model, first = as_networkx(graph), graph.n
    before = {v: {u: d["weight"] for u, d in model[v].items()} for v in model}
    batch = random_batch(rng, model, first, 2)
    apply(model, batch, first)
    update = live.update(batch)
    after = {v: {u: d["weight"] for u, d in model[v].items()} for v in model}
    named = {v for pair in [*batch.delete_edges, *batch.insert_edges] for v in pair}
    modified = {v for v in model if v in named or before.get(v) != after[v]}
    parts = {v: given[v] if v < first else k for v in model}
    pseudo = entering(model, parts, modified, k, options.max_degree)
    total = sum(dict(model.nodes(data="weight")).values())
    ideal = -(-total // k)
    expected = placed(model, parts, pseudo, k, live.limit - (live.limit - ideal) // 32, seed)
    if update.action == "placed":
        found = live.partition
        assert {v: found[v] for v in live.vertices.tolist()} == expected
    else:
        assert update.reason in ("balance", "drift")


def test_session_can_be_emptied_and_filled_again(engine: Backend) -> None:
    live = jetpy.IncrementalPartitioner(grid(6, 7), 3)
    live.delete_vertices(live.vertices[::2])
    live.delete_vertices(live.vertices)
    assert (live.n, live.m, live.cut, live.limit) == (0, 0, 0, 0)
    assert live.part_weights.tolist() == [0, 0, 0]
    check_state(live, nx.Graph())
    update = live.insert_vertices(30)
    assert update.vertices.tolist() == list(range(42, 72))
    live.insert_edges([(v, v + 1) for v in range(42, 71)], [2] * 29)
    model = nx.path_graph(range(42, 72))
    nx.set_node_attributes(model, 1, "weight")
    nx.set_edge_attributes(model, 2, "weight")
    check_state(live, model)
    assert live.feasible


def test_session_can_start_without_vertices(engine: Backend) -> None:
    live = jetpy.IncrementalPartitioner(from_edges(0, []), 4)
    live.update(jetpy.Batch(insert_vertices=[3, 1], insert_edges=[(1, 0)]))
    model = as_networkx(from_edges(2, [(0, 1)], [1], [3, 1]))
    check_state(live, model)


def test_empty_batch_changes_nothing(engine: Backend) -> None:
    live = jetpy.IncrementalPartitioner(grid(5, 5), 2)
    before = live.partition
    update = live.update(jetpy.Batch())
    assert (update.moved, update.action, update.reason) == (0, "placed", "")
    assert (live.partition == before).all()


@pytest.mark.parametrize("options", OPTIONS[:2], ids=["host", "device"])
def test_rows_grow_beyond_their_buckets(engine: Backend, options: jetpy.IncrementalOptions) -> None:
    """Two vertices get hundreds of neighbours, in batches, so that their rows move repeatedly."""
    n = 400
    live = jetpy.IncrementalPartitioner(path(n), 4, options=options)
    model = as_networkx(path(n))
    for start in range(0, n, 40):
        for center in (5, n - 1):
            others = [
                v for v in range(start, start + 40) if not model.has_edge(center, v) and v != center
            ]
            batch = jetpy.Batch(insert_edges=[(center, v) for v in others])
            apply(model, batch, n)
            live.update(batch)
    check_state(live, model)
    live.rebuild()
    check_state(live, model)


def test_batch_replaces_the_weight_of_an_edge(engine: Backend) -> None:
    live = jetpy.IncrementalPartitioner(path(4), 2, parts=[0, 0, 1, 1])
    update = live.update(
        jetpy.Batch(delete_edges=[(1, 2)], insert_edges=[(2, 1)], edge_weights=[7])
    )
    assert live.m == 3
    assert live.graph.total_edge_weight == 9
    assert update.cut == live.cut == cut_of(as_networkx(live.graph), live.partition)


def test_vertex_follows_its_edges(engine: Backend) -> None:
    """The edge of vertex 3 to vertex 2 is replaced by one to the other part."""
    live = jetpy.IncrementalPartitioner(
        path(8), 2, parts=[0] * 4 + [1] * 4, imbalance=0.5, options=LOCAL
    )
    update = live.update(jetpy.Batch(delete_edges=[(2, 3)], insert_edges=[(3, 6)]))
    assert live.partition.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert (update.cut, update.moved, update.action) == (0, 1, "placed")


def test_session_starts_with_the_best_of_its_tries() -> None:
    """The imbalance is so large that the room reserved for updates has no effect.

    That holds for graphs that are not small, as with a given method of coarsening.
    """
    graph, seed = delaunay(3000), 2**31 - 2
    seeds = [seed, seed + 1, 0]
    run: dict[str, Any] = {"imbalance": 3.0, "large_imbalance": True, **ENGINE}
    run |= {"preset": "fast", "coarsening": "two-hop"}
    cuts = [jetpy.partition(graph, 8, seed=s, **run).cut for s in seeds]
    live = jetpy.IncrementalPartitioner(graph, 8, seed=seed, **run)
    assert len(set(cuts)) > 1
    assert live.cut == min(cuts)
    one = jetpy.IncrementalOptions(tries=1)
    live = jetpy.IncrementalPartitioner(graph, 8, seed=seed, options=one, **run)
    assert live.cut == cuts[0]


@pytest.mark.parametrize(("highest", "part"), [(12, 1), (11, 0)])
def test_vertex_above_max_degree_keeps_its_part(engine: Backend, highest: int, part: int) -> None:
    """Ten of the twelve neighbours of vertex 0 are in the other part, on a ring."""
    ring = range(1, 11)
    edges = [(0, v) for v in ring] + [(v, v % 10 + 1) for v in ring] + [(0, 11), (11, 12)]
    graph, parts = from_edges(13, edges), [0] + [1] * 10 + [0, 0]
    options = replace(LOCAL, max_degree=highest)
    live = jetpy.IncrementalPartitioner(
        graph, 2, parts=parts, imbalance=1.0, large_imbalance=True, options=options
    )
    live.insert_edges([(0, 12)])
    assert live.partition.tolist() == [part] + [1] * 10 + [0, 0]


@pytest.mark.parametrize("k", [2, 8])
def test_updates_keep_balance_and_cut(k: int) -> None:
    graph = delaunay(2000)
    live = jetpy.IncrementalPartitioner(graph, k, **ENGINE)
    rng, model = random.Random(k), as_networkx(graph)
    for _ in range(30):
        batch = random_batch(rng, model, len(live.partition), 20)
        apply(model, batch, len(live.partition))
        live.update(batch)
        assert live.feasible
    check_state(live, model)
    fresh = jetpy.partition(live.graph, k, **ENGINE)
    assert live.cut <= 1.1 * fresh.cut


def test_balance_is_restored_after_a_region_is_deleted() -> None:
    """After half of one part is deleted, the other parts are above the limit."""
    live = jetpy.IncrementalPartitioner(grid(40, 40), 4, options=LOCAL, **ENGINE)
    region = np.flatnonzero(live.partition == 1)[:200]
    update = live.delete_vertices(region)
    assert (update.action, update.reason) == ("refined", "balance")
    assert live.feasible
    assert update.moved > 0


@pytest.mark.parametrize(
    ("action", "options"),
    [
        ("placed", LOCAL),
        ("refined", replace(LOCAL, refine_after=0)),
        ("repartitioned", replace(LOCAL, repartition_after=0)),
    ],
)
def test_moved_counts_each_old_vertex_once(action: str, options: jetpy.IncrementalOptions) -> None:
    graph = delaunay(1000)
    live = jetpy.IncrementalPartitioner(graph, 8, options=options, **ENGINE)
    rng, model, moved = random.Random(1), as_networkx(graph), 0
    for _ in range(5):
        before = live.partition
        batch = random_batch(rng, model, len(before), 60)
        apply(model, batch, len(before))
        update = live.update(batch)
        after = live.partition[: len(before)]
        assert update.action == action
        assert update.moved == ((before != after) & (after >= 0)).sum()
        moved += update.moved
    assert moved > 0


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_interrupted_batch_makes_the_session_unusable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    live = jetpy.IncrementalPartitioner(grid(5, 5), 2, **ENGINE)
    with monkeypatch.context() as patch:
        patch.setattr("jetpy.incremental.placement.Placement.update", interrupt)
        with pytest.raises(KeyboardInterrupt):
            live.delete_vertices([3])
    for use in live.rebuild, lambda: live.save(tmp_path / "s.npz"), lambda: live.insert_vertices(1):
        with pytest.raises(jetpy.JetpyError, match="a batch was interrupted"):
            use()


def test_interrupted_refinement_keeps_the_session_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(20, 20)
    options = jetpy.IncrementalOptions(refine_after=0.0)
    live = jetpy.IncrementalPartitioner(graph, 4, options=options, **ENGINE)
    with monkeypatch.context() as patch:
        patch.setattr("jetpy.incremental.partitioner.refine_again", interrupt)
        with pytest.raises(KeyboardInterrupt):
            live.delete_vertices([3])
    update = live.delete_vertices([5])
    model = as_networkx(graph)
    model.remove_nodes_from([3, 5])
    assert update.action == "refined"
    check_state(live, model)


def test_updates_report_the_reason_of_refinement() -> None:
    graph = grid(30, 30)
    options = jetpy.IncrementalOptions(refine_after=0.02, repartition_after=0.05, max_drift=1e9)
    live = jetpy.IncrementalPartitioner(graph, 4, options=options, **ENGINE)
    edges = np.stack([np.arange(0, 800), np.arange(0, 800) + 31], axis=1)
    updates = [live.insert_edges(edges[i : i + 20]) for i in range(0, 200, 20)]
    actions = [(update.action, update.reason) for update in updates]
    assert ("refined", "changes") in actions
    assert ("repartitioned", "changes") in actions
    assert ("placed", "") in actions


def test_igkway_only_places_vertices_while_balanced() -> None:
    """As in the paper: the whole partition is never refined because of many changes."""
    graph = grid(30, 30)
    live = jetpy.IncrementalPartitioner(graph, 4, imbalance=0.1, preset="igkway", **ENGINE)
    assert live.options == IGKWAY_UPDATES
    edges = np.stack([np.arange(0, 800), np.arange(0, 800) + 31], axis=1)
    for start in range(0, 800, 100):
        assert live.insert_edges(edges[start : start + 100]).action == "placed"
    assert live.feasible
    check_state(live, as_networkx(live.graph))


def test_drift_of_the_cut_repartitions() -> None:
    """New vertices have edges to one part only, which cannot hold all of them."""
    options = jetpy.IncrementalOptions(refine_after=1e9, repartition_after=1e9, max_drift=0.2)
    live = jetpy.IncrementalPartitioner(grid(20, 20), 2, options=options, **ENGINE)
    reasons = []
    for _ in range(5):
        inside = np.flatnonzero(live.partition[:400] == 0)[:60]
        new = len(live.partition) + np.arange(20)
        edges = np.stack([np.repeat(new, 3), inside], axis=1)
        reasons.append(live.update(jetpy.Batch(insert_vertices=20, insert_edges=edges)).reason)
    assert "drift" in reasons
    assert live.feasible


def series(make: Callable[[], jetpy.IncrementalPartitioner]) -> list[list[int]]:
    """Return the partition after each of several batches; some batches repartition."""
    live, rng = make(), random.Random(3)
    model, found = as_networkx(live.graph), []
    for _ in range(4):
        batch = random_batch(rng, model, len(live.partition), 30)
        apply(model, batch, len(live.partition))
        live.update(batch)
        found.append(live.partition.tolist())
    return found


def test_progress_is_that_of_a_partition() -> None:
    stages: list[str] = []
    live = jetpy.IncrementalPartitioner(
        grid(9, 9), 2, progress=lambda stage, *_: stages.append(stage), **ENGINE
    )
    first = stages.count("refine")
    assert first > 0
    live.rebuild()
    assert stages.count("refine") > first
    shown = jetpy.IncrementalPartitioner(grid(9, 9), 2, progress=True, **ENGINE)
    assert (shown.partition == live.partition).all()
    with pytest.raises(jetpy.OptionError, match="progress is 3"):
        jetpy.IncrementalPartitioner(grid(9, 9), 2, progress=3, **ENGINE)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [3, 40])
def test_parts_do_not_depend_on_threads_or_back_end(
    k: int, backend_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = delaunay(1200)

    def run(threads: int | None, name: str = "cpu", *, on_host: bool = True) -> list[list[int]]:
        options = jetpy.IncrementalOptions(on_host=on_host)
        return series(
            lambda: jetpy.IncrementalPartitioner(
                graph, k, options=options, backend=name, threads=threads
            )
        )

    expected = run(1)
    assert run(2) == expected
    assert run(3) == expected
    require_backend(backend_name)
    assert run(None, backend_name) == expected
    assert run(None, backend_name, on_host=False) == expected
    assert run(2, register_mode("captured", monkeypatch)) == expected
    apart = register_mode("apart", monkeypatch)
    assert run(2, apart) == expected
    assert run(2, apart, on_host=False) == expected
