"""Sets of cases for `bench.gpu --peer`, in groups and in two halves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

REAL = "real"
"""The group of the graphs that `--graphs` has."""
BOTH = (8, 64)

SETS: Mapping[str, Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "ten": {
        "ten": {
            "cube200": (32, 256),
            "rgg22": (32, 256),
            "road22": (32, 256),
            "grid2000x4000": (256,),
            "rmat20": (32, 256),
            "del20": (32,),
        }
    },
    "unseen": {
        "generated": {"cube150": BOTH, "del3M": BOTH, "rgg2M": BOTH, "rmat19x24": BOTH},
        REAL: {
            "netcard_aig": BOTH,
            "ibm14_star": BOTH,
            "mdual": BOTH,
            "hyp_aig": BOTH,
            "USA-road-NY": BOTH,
        },
        "finite elements": {"stencil100": BOTH, "stencil140": BOTH, "tetrahedra45": BOTH},
    },
}
"""Numbers of parts of each graph, by set and group."""
HALVES = ("A", "B")


class Case(NamedTuple):
    """A graph and a number of parts."""

    group: str
    half: str
    graph: str
    k: int

    def __str__(self) -> str:
        return f"{self.graph}/{self.k}"


def select_cases(sets: Sequence[str], half: str | None = None) -> list[Case]:
    """Return the cases of these keys of `SETS`, or of one half, all cases of a graph together."""
    groups = [group for name in dict.fromkeys(sets) for group in SETS[name].items()]
    cases = (case for name, graphs in groups for case in _halved(name, graphs))
    return [case for case in cases if half in (None, case.half)]


def _halved(group: str, graphs: Mapping[str, tuple[int, ...]]) -> Iterator[Case]:
    """Yield the cases of a group, whose graphs belong to the halves in turn."""
    for i, (graph, ks) in enumerate(graphs.items()):
        for k in ks:
            yield Case(group, HALVES[i % 2], graph, k)
