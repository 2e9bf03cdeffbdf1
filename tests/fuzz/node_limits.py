"""Low limits of nested dissection: nodes of small graphs become large, and are checked.

The limits are constants of modules, so a problem with low limits must have its process to itself.
`tests.fuzz.calls`, which solves several problems at once, has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np

from jetpy.device.device_graph import download
from jetpy.engines.base import Array
from jetpy.initial import sharing
from jetpy.ordering import dissection, effort, large_nodes, small_nodes
from jetpy.ordering.depth import Nodes, Numbers
from jetpy.ordering.large_nodes import LargeNodes, NodesLevel
from tests.device_backend import DeviceBackend, lent
from tests.fuzz.checks import Finding, ensure, equal
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine
from tests.fuzz.oracles import Ints

CHOICES: Choices = {"node limits": ["default", "low"]}
LABELS = 3
"""Two sides and the separator."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class NodeLimits:
    """Values of the constants of `jetpy.ordering`.

    `flow_hops` is `Effort.hops` of all presets. `host_size` and `tasks_at_once` are those of the
    imitated GPU, which takes tasks as soon as that seems to save any time.
    """

    largest_node: int
    largest_coarse: int
    hops: int
    flow_hops: int
    host_size: int
    tasks_at_once: int

    def __str__(self) -> str:
        return (
            f"nodes {self.largest_node}, coarse {self.largest_coarse}, "
            f"hops {self.hops} and {self.flow_hops}, host {self.host_size}, "
            f"tasks {self.tasks_at_once}"
        )

    @contextmanager
    def lowered(self) -> Iterator[list[Finding]]:
        """Set the limits in this process; yield the list of findings about large nodes."""
        checks = Checks()
        presets = effort.EFFORTS.items()
        efforts = {name: replace(preset, hops=self.flow_hops) for name, preset in presets}
        with ExitStack() as patches:
            for owner, name, value in (
                (dissection, "LARGEST_NODE", self.largest_node),
                (large_nodes, "LARGEST_COARSE", self.largest_coarse),
                (small_nodes, "RETRIED_NODE", self.largest_coarse // 2),
                (large_nodes, "HOPS", self.hops),
                (sharing, "MIN_GAIN", -(10**6)),
                (sharing, "SLOWDOWN", 2),
                (effort, "EFFORTS", efforts),
                *checks.functions(),
            ):
                patches.enter_context(patch.object(owner, name, value))
            yield checks.findings


def any_node_limits(rng: Random) -> NodeLimits | None:
    """Return low limits, or None in every second problem."""
    if rng.pick("node limits", CHOICES["node limits"]) == "default":
        return None
    coarse = int(rng.integers(10, 61))
    return NodeLimits(
        largest_node=coarse * int(rng.integers(1, 4)),
        largest_coarse=coarse,
        hops=int(rng.integers(1, 9)),
        flow_hops=int(rng.integers(0, 7)),
        host_size=int(rng.integers(0, 1000)),
        tasks_at_once=int(rng.integers(0, 40)),
    )


def smallest_graph(limits: NodeLimits | None) -> int:
    """Return the smallest number of vertices to draw, so that low limits have an effect."""
    return 1 if limits is None else limits.largest_node


def on_all(
    solve: Callable[[Engine], Result], engines: Sequence[Engine], limits: NodeLimits | None
) -> tuple[list[Result], list[Finding]]:
    """Return the result of each engine, and findings about large nodes.

    With low limits, the last result is that of a back end that imitates a GPU.
    """
    if limits is None:
        return [solve(engine) for engine in engines], []
    with limits.lowered() as findings:
        results = [solve(engine) for engine in engines]
        with _imitating_a_gpu(limits):
            results.append(solve(engines[0]))
    return results, findings


@cache
def _device() -> DeviceBackend:
    return DeviceBackend(2)


@contextmanager
def _imitating_a_gpu(limits: NodeLimits) -> Iterator[None]:
    """Let orderings and separators run on a back end with memory of its own."""
    with (
        patch.object(_device(), "host_size", limits.host_size),
        patch.object(_device(), "tasks_at_once", limits.tasks_at_once),
        lent(_device()),
    ):
        yield


class Checks:
    """Functions of `jetpy.ordering.large_nodes` with checks of their results."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.expected: Numbers | None = None
        """Weights of the labels of each node: those of its best candidate."""

    def functions(self) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
        """Yield the owner and name of each function, and the one that replaces it."""
        projected, separate, refine = large_nodes.projected, LargeNodes.separate, LargeNodes._refine

        def checked_projection(coarse: NodesLevel, fine: NodesLevel, sides: Array) -> Array:
            found = projected(coarse, fine, sides)
            coarse_sides = coarse.backend.to_host(sides).reshape(-1, coarse.graph.n)
            expected = coarse_sides[:, fine.backend.to_host(coarse.coarse_of)].ravel()
            fine_sides = fine.backend.to_host(found)
            self.findings.append(equal("projected sides", fine_sides, expected))
            return found

        def checked_refinement(
            large: LargeNodes, level: NodesLevel, sides: Array, *others: Any, **options: Any
        ) -> tuple[Numbers, Array]:
            weights, best = refine(large, level, sides, *others, **options)
            found = level.backend.to_host(sides).reshape(-1, level.graph.n)
            own = level.backend.to_host(level.graph.vertex_weights)
            sums = [label_weights(each, own, level.starts) for each in found]
            self.findings.append(equal("candidate weights", weights, np.stack(sums, axis=1)))
            self.expected = weights[np.arange(len(best)), large.host.to_host(best)]
            return weights, best

        def checked_separators(
            large: LargeNodes, nodes: Nodes, chosen: Numbers, sides: Array
        ) -> None:
            self.expected = None
            separate(large, nodes, chosen, sides)
            labels, graph = large.host.to_host(sides), download(large.host, nodes.graph)
            is_member, sources = nodes.members(chosen), graph.sources(0, graph.n)
            joined = (labels[sources] == 0) & (labels[graph.indices] == 1) & is_member[sources]
            holds = np.isin(labels[is_member], range(LABELS)).all() and not joined.any()
            wrong = f"{joined.sum()} edges join the sides of nodes"
            self.findings.append(ensure("large nodes", holds, wrong))
            if self.expected is not None:
                sums = label_weights(labels, graph.vertex_weights, nodes.starts)[chosen]
                self.findings.append(equal("best candidates", sums, self.expected))

        yield large_nodes, "projected", checked_projection
        yield LargeNodes, "_refine", checked_refinement
        yield LargeNodes, "separate", checked_separators


def label_weights(labels: Ints, weights: Ints, starts: Numbers) -> Numbers:
    """Return the weights of the labels of each node: int64, shape (nodes, 3)."""
    own = weights.astype(np.int64)[:, None] * (labels[:, None] == np.arange(LABELS))
    return np.add.reduceat(own, starts[:-1])
