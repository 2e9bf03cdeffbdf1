"""Sets of cases for `bench.gpu --peer`, in groups and in two halves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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


def select_cases(
    sets: Sequence[str], half: str | None = None, only: Collection[str] | None = None
) -> list[Case]:
    """Return the cases of these sets, all cases of a graph together.

    Parameters
    ----------
    sets : sequence of str
        Keys of `SETS`.
    half : str, optional
        Select the cases of one half.
    only : collection of str, optional
        Select the cases of these graphs.

    Raises
    ------
    SystemExit
        If the sets do not contain a graph of `only`.
    """
    groups = [group for name in dict.fromkeys(sets) for group in SETS[name].items()]
    unknown = set(only or ()) - {graph for _, graphs in groups for graph in graphs}
    if unknown:
        raise SystemExit(f"--set {' '.join(sets)} lacks {', '.join(sorted(unknown))}")
    return [
        case
        for name, graphs in groups
        for case in _halved(name, graphs)
        if half in (None, case.half) and (not only or case.graph in only)
    ]


def _halved(group: str, graphs: Mapping[str, tuple[int, ...]]) -> Iterator[Case]:
    """Yield the cases of a group, whose graphs belong to the halves in turn."""
    for i, (graph, ks) in enumerate(graphs.items()):
        for k in ks:
            yield Case(group, HALVES[i % 2], graph, k)
