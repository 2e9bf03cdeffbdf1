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

from jetpy.device.backends import lease
from jetpy.engines.base import Array, Backend
from jetpy.ordering import depth, dissection, large_nodes, nested_dissection, separation
from jetpy.ordering.depth import Nodes, Numbers
from jetpy.ordering.large_nodes import LargeNodes, NodesLevel
from tests.device_backend import DeviceBackend
from tests.fuzz.checks import Finding, ensure, equal
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine

CHOICES: Choices = {"node limits": ["default", "low"]}
LABELS = 3
"""Two sides and the separator."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class NodeLimits:
    """Values of the constants of `jetpy.ordering`.

    `flow_hops` is `Effort.hops` of all presets, and `host_size` is that of the imitated GPU.
    """

    largest_node: int
    largest_coarse: int
    batch: int
    hops: int
    flow_hops: int
    host_size: int

    def __str__(self) -> str:
        return (
            f"nodes {self.largest_node}, coarse {self.largest_coarse}, batch {self.batch}, "
            f"hops {self.hops} and {self.flow_hops}, host {self.host_size}"
        )

    @contextmanager
    def lowered(self) -> Iterator[list[Finding]]:
        """Set the limits in this process; yield the list of findings about large nodes."""
        findings: list[Finding] = []
        efforts = nested_dissection.EFFORTS.items()
        efforts = {name: replace(effort, hops=self.flow_hops) for name, effort in efforts}
        values = (
            (depth, {"BATCH": self.batch}),
            (dissection, {"LARGEST_NODE": self.largest_node}),
            (large_nodes, {"LARGEST_COARSE": self.largest_coarse, "HOPS": self.hops}),
            (large_nodes, {"projected": _checked_projection(findings)}),
            (LargeNodes, {"separate": _checked_separators(findings)}),
            (LargeNodes, {"_refine": _checked_weights(findings)}),
            (nested_dissection, {"EFFORTS": efforts}),
        )
        with ExitStack() as patches:
            for owner, changes in values:
                patches.enter_context(patch.multiple(owner, **changes))
            yield findings


def any_node_limits(rng: Random) -> NodeLimits | None:
    """Return low limits, or None in every second problem."""
    if rng.pick("node limits", CHOICES["node limits"]) == "default":
        return None
    coarse = int(rng.integers(10, 61))
    return NodeLimits(
        largest_node=coarse * int(rng.integers(1, 4)),
        largest_coarse=coarse,
        batch=int(rng.integers(20, 401)),
        hops=int(rng.integers(1, 9)),
        flow_hops=int(rng.integers(0, 7)),
        host_size=int(rng.integers(0, 1000)),
    )


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
        with _imitating_a_gpu(limits.host_size):
            results.append(solve(engines[0]))
    return results, findings


@cache
def _device() -> DeviceBackend:
    return DeviceBackend(2)


@contextmanager
def _imitating_a_gpu(host_size: int) -> Iterator[None]:
    """Let orderings and separators run on a back end with memory of its own."""

    @contextmanager
    def leased(*_: Any) -> Iterator[tuple[Backend, Backend]]:
        with lease("cpu", 2) as host:
            yield _device(), host

    with (
        patch.object(_device(), "host_size", host_size),
        patch.object(nested_dissection, "leased", leased),
        patch.object(separation, "leased", leased),
    ):
        yield


def _checked_projection(findings: list[Finding]) -> Callable[..., Array]:
    """Return `projected` with a check of each vertex and candidate."""
    original = large_nodes.projected

    def projected(coarse: NodesLevel, fine: NodesLevel, sides: Array) -> Array:
        found = original(coarse, fine, sides)
        coarse_sides = coarse.backend.to_host(sides).reshape(-1, coarse.graph.n)
        expected = coarse_sides[:, fine.backend.to_host(coarse.coarse_of)]
        findings.append(equal("projected sides", fine.backend.to_host(found), expected.ravel()))
        return found

    return projected


def _checked_separators(findings: list[Finding]) -> Callable[..., None]:
    """Return `LargeNodes.separate` with a check that no edge joins the sides of a node."""
    original = LargeNodes.separate

    def separate(self: LargeNodes, nodes: Nodes, chosen: Numbers, sides: Array) -> None:
        original(self, nodes, chosen, sides)
        found, graph = self.host.to_host(sides), nodes.graph
        rows, indices = self.host.to_host(graph.indptr), self.host.to_host(graph.indices)
        is_member = nodes.members(chosen)
        first, second = np.repeat(found, np.diff(rows)), found[indices]
        joined = np.repeat(is_member, np.diff(rows)) & (first == 0) & (second == 1)
        is_label = np.isin(found[is_member], np.arange(LABELS))
        holds = is_label.all() and not joined.any()
        wrong = f"{joined.sum()} edges join the sides, {(~is_label).sum()} vertices have none"
        findings.append(ensure("large nodes", holds, wrong))

    return separate


def _checked_weights(findings: list[Finding]) -> Callable[..., tuple[Numbers, Array]]:
    """Return `LargeNodes._refine` with a check of the weights that it returns."""
    original = LargeNodes._refine

    def refine(
        self: LargeNodes, level: NodesLevel, sides: Array, *others: Any
    ) -> tuple[Numbers, Array]:
        weights, best = original(self, level, sides, *others)
        found = level.backend.to_host(sides).reshape(-1, level.graph.n)
        own = level.backend.to_host(level.graph.vertex_weights).astype(np.int64)
        sums = [
            np.add.reduceat(own * (found == label), level.starts[:-1], axis=1).T
            for label in range(LABELS)
        ]
        findings.append(equal("weights in bands", weights, np.stack(sums, axis=-1)))
        return weights, best

    return refine
