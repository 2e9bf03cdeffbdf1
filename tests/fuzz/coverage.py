"""All possible choices and checks, and those that no run has covered."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from tests.fuzz import (
    bounds,
    calls,
    changes,
    constrained,
    draws,
    faults,
    files,
    lists,
    mappings,
    mesh_files,
    meshes,
    mistakes,
    node_limits,
    orderings,
    parmetis,
    processes,
    refining,
    results,
    runs,
    separators,
    several,
)
from tests.fuzz.checks import CHECKS
from tests.fuzz.choices import Choice

KINDS = {"kind": [kind.__name__ for kind in runs.KINDS], "check": CHECKS}
MODULES = (
    draws,
    refining,
    mappings,
    constrained,
    bounds,
    several,
    changes,
    parmetis,
    processes,
    results,
    lists,
    files,
    meshes,
    mesh_files,
    mistakes,
    faults,
    orderings,
    separators,
    node_limits,
    calls,
)
KNOWN: dict[Choice, None] = {
    (what, str(item)): None
    for what, items in chain(KINDS.items(), *(module.CHOICES.items() for module in MODULES))
    for item in items
}


def not_covered(met: Iterable[Choice]) -> list[str]:
    """Return the missing choices as text: "objective=volume"."""
    there = set(met)
    return [f"{what}={item}" for what, item in KNOWN if (what, item) not in there]
