"""Sections: counters and lists that many vertices add to are there once for each section of them.

Threads of processors work on vertices in a row, and so have sections of their own: there a section
is a range of vertices. On a GPU blocks of vertices are dealt round, so that all sections grow.
"""

import pykokkos as pk

from jetpy.workloads.control_block import SECTIONS
from jetpy.workloads.groups import Refinement


@pk.function
def section_of(v: int, state: Refinement) -> int:
    """Return the section of a vertex, one of `SECTIONS`."""
    return (v >> state.section_bits) & SECTIONS - 1


@pk.function
def tally_section(v: int, sections: int, state: Refinement) -> int:
    """Return the section of a vertex where there are only so many."""
    return section_of(v, state) * sections // SECTIONS
