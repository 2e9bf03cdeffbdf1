"""The names of all checks, and their findings."""

from __future__ import annotations

from typing import NamedTuple

from tests.fuzz.oracles import Ints

CHECKS = (
    *("no exception", "no crash", "nothing printed", "quick", "mistakes", "one error"),
    "process and row named",
    *("parts", "cut", "part weights", "empty parts", "ideals", "limits", "limit", "imbalance"),
    *("lower limits", "refused", "fewest parts", "together", "within", "moved"),
    *("feasible is correct", "feasible", "volume", "pieces", "disconnected", "isolated"),
    *("no part empty", "fixed vertices stay", "moved weight", "weights are divided"),
    *("volume no larger", "pieces where free", "input is left alone"),
    *("not less balanced", "cut no larger", "engines agree", "processes agree"),
    *("one task a PE", "no worse than plain", "cost", "cost by level"),
    *("update reports the cut", "vertices", "edges", "vertex weights", "saved sessions agree"),
    *(
        "alone and at once agree",
        "mesh neighbours",
        "mesh node pairs",
        "mesh parts",
        "mesh in Gmsh",
        "mesh files in pieces",
    ),
    *("vertex names", "edges of lists", "files of graphs", "files of parts"),
    *("members", "ghosts", "subgraph ids", "subgraph edges", "subgraph weights"),
    *("evaluated", "refined is no worse", "one column is one weight"),
    *(
        "permutation",
        "rows last and together",
        "cheapest method",
        "choices agree",
        "engines agree when updated",
        "elimination tree",
        "column counts",
        "fill",
        "operations",
        "operations of the start",
    ),
    *("no fill of forests", "tree", "separated"),
    *("large nodes", "projected sides", "candidate weights", "best candidates"),
    *("labels", "sides share no edge", "side weights", "two sides", "sides keep the limit"),
)


class Finding(NamedTuple):
    """The result of a check; `wrong` is empty if it holds."""

    check: str
    wrong: str = ""


def ensure(check: str, holds: object, otherwise: str) -> Finding:
    """Return the finding of a check; `otherwise` describes the defect."""
    assert check in CHECKS, check
    return Finding(check, "" if holds else otherwise)


def same(check: str, found: object, expected: object) -> Finding:
    """Compare two values."""
    return ensure(check, found == expected, f"{found} is {expected}")


def equal(check: str, first: Ints, other: Ints) -> Finding:
    """Compare two arrays."""
    holds = first.shape == other.shape and (first == other).all()
    return ensure(check, holds, f"{first.tolist()[:20]} ... and {other.tolist()[:20]} ...")
