"""Problems with low limits have large nodes, and defects of large nodes are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.initial import sharing
from jetpy.ordering import dissection, effort, large_nodes
from jetpy.ordering.large_nodes import LargeNodes
from tests.fuzz.calls import KINDS
from tests.fuzz.checks import Finding
from tests.fuzz.draws import Problem
from tests.fuzz.node_limits import NodeLimits
from tests.fuzz.orderings import Ordered, ordered
from tests.fuzz.runs import ENGINES
from tests.fuzz.separators import Separating, separating

GRID = jetpy.generators.grid(20, 25)
LIMITS = NodeLimits(60, 30, 2, 2, 300, 20)
PROBLEMS = {
    "ordering": Ordered(GRID, "default", np.arange(GRID.n), 20, 1, LIMITS),
    "separator": Separating(GRID, "default", 0.2, 1, LIMITS),
}
COUNTS = "large nodes", "projected sides", "candidate weights", "best candidates"


def found(problem: Problem) -> list[Finding]:
    return list(problem.findings(ENGINES))


def values() -> list[Any]:
    return [
        *(dissection.LARGEST_NODE, large_nodes.LARGEST_COARSE, large_nodes.HOPS),
        *(sharing.MIN_GAIN, sharing.SLOWDOWN),
        *(large_nodes.projected, LargeNodes.separate, LargeNodes._refine),
        effort.EFFORTS,
    ]


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_low_limits_end_with_the_problem(problem: Problem) -> None:
    """Both engines and the imitated GPU separate large nodes."""
    before = values()
    findings = found(problem)
    assert not [finding for finding in findings if finding.wrong]
    counts = Counter(finding.check for finding in findings)
    assert all(counts[check] >= len(ENGINES) + 1 for check in COUNTS)
    assert counts["engines agree"] == len(ENGINES)
    assert values() == before


def test_only_low_limits_reach_large_nodes() -> None:
    plain = Separating(GRID, "default", 0.2, 1)
    assert not {finding.check for finding in found(plain)} & set(COUNTS)


def test_calls_at_once_have_no_low_limits() -> None:
    assert not {ordered, separating} & set(KINDS.values())


def swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `projected` with swapped sides."""

    def projected(coarse: Any, fine: Any, sides: Any) -> Any:
        found = function(coarse, fine, sides)
        found[found != 2] ^= 1
        return found

    return projected


def with_a_joined_edge(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `separate` with a vertex of side 0 on side 1."""

    def separate(self: Any, nodes: Any, chosen: Any, sides: Any) -> None:
        function(self, nodes, chosen, sides)
        sides[np.flatnonzero(sides == 0)[0]] = 1

    return separate


def with_less_weight(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `_refine` with wrong weights."""

    def refine(*arguments: Any, **options: Any) -> Any:
        weights, best = function(*arguments, **options)
        return weights - 1, best

    return refine


@pytest.mark.parametrize(
    ("owner", "name", "broken", "checks"),
    [
        (large_nodes, "projected", swapped, {"projected sides"}),
        (LargeNodes, "separate", with_a_joined_edge, {"large nodes", "best candidates"}),
        (LargeNodes, "_refine", with_less_weight, {"candidate weights"}),
    ],
)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_defects_of_large_nodes_are_found(
    problem: Problem,
    owner: Any,
    name: str,
    broken: Callable[..., Any],
    checks: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, name, broken(getattr(owner, name)))
    assert checks <= {finding.check for finding in found(problem) if finding.wrong}
