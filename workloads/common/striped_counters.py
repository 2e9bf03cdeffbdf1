"""Sections: counters and lists that many vertices add to are there once for each section of them.

Threads of processors work on vertices in a row, and so have sections of their own: there a section
is a range of vertices. On a GPU blocks of vertices are dealt round, so that all sections grow.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import SECTIONS
from jetpy.workloads.common.groups import Refinement

APART = 16
"""Counters between those of two sections, so that no cache line has some of both."""


@pk.function
def section_of(v: int, state: Refinement) -> int:
    """Return the section of a vertex, one of `SECTIONS`."""
    return (v >> state.section_bits) & SECTIONS - 1


@pk.function
def tally_section(i: int, count: pk.int64, sections: int) -> int:
    """Return the section of an index of so many, dealt to threads in as many sections.

    Unlike vertices, all of which may be in a few sections.
    """
    if sections == 1:
        return 0
    return i * sections // count


@pk.function
def section_place(section: int, p: int, k: int) -> int:
    """Return the place of a section's counter for a part."""
    return section * (k + APART) + p
