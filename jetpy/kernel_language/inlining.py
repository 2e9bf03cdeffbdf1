"""Selects device functions that compilers must not inline: they would make kernels much longer.

A kernel that refines a graph on one thread changes a heap in a hundred places. If all of these
calls are inlined, the functions of the heap take most of the time of the compiler. And compilers
take longer for one long function than for several short ones. Kernels of parallel steps are short,
and calls would take up to a fifth of their time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import cache

from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.tree import Call, Statement, nodes

SHORT = 9
"""Functions with fewer statements are always inlined."""
LONG_KERNEL = 700
"""Number of statements of a long kernel, with those of the functions inlined in it."""


def not_inlined(
    workunits: Collection[Definition], max_statements: int, longest: int
) -> set[Definition]:
    """Return the device functions of a module that are not inlined, in any of its workunits.

    `max_statements` is the maximum number of statements that a function with several copies may
    have in one kernel if all calls are inlined. In long kernels, functions of more than `longest`
    statements, with those of the functions inlined in them, are not inlined either.
    """
    not_inlined = _copied_too_often(workunits, max_statements)
    long_kernels = [one for one in workunits if _length(one, not_inlined) > LONG_KERNEL]
    for one in with_callees(long_kernels):  # callees first
        if one not in workunits and _length(one, not_inlined) > longest:
            not_inlined.add(one)
    return not_inlined


def _length(definition: Definition, not_inlined: Collection[Definition]) -> int:
    """Return the number of statements of a definition, with those of functions inlined in it."""
    lengths: dict[Definition, int] = {}
    for one in with_callees([definition]):  # callees first
        inside = _calls(one).items()
        own = sum(count * lengths[callee] for callee, count in inside if callee not in not_inlined)
        lengths[one] = _statements(one) + own
    return lengths[definition]


def _copied_too_often(workunits: Collection[Definition], max_statements: int) -> set[Definition]:
    definitions = with_callees(workunits)
    calls = {one: _calls(one) for one in definitions}
    statements = {one: _statements(one) for one in definitions}
    inlined: dict[Definition, int] = {}
    for one in definitions:  # callees first
        copied = sum(count * inlined[callee] for callee, count in calls[one].items())
        inlined[one] = statements[one] + copied
    too_often = set()
    for workunit in workunits:
        copies = Counter({workunit: 1})
        for one in reversed(with_callees([workunit])):  # callers first
            for callee, count in calls[one].items():
                copies[callee] += count * copies[one]
            if (
                copies[one] > 1
                and statements[one] >= SHORT
                and copies[one] * inlined[one] > max_statements
            ):
                too_often.add(one)
    return too_often


@cache
def _calls(definition: Definition) -> Counter[Definition]:
    """Count the calls of each callee in the text of a definition."""
    names = Counter(node.name for node in nodes(definition.body) if isinstance(node, Call))
    return Counter({callee: names[callee.name] for callee in definition.callees})


@cache
def _statements(definition: Definition) -> int:
    return sum(isinstance(node, Statement) for node in nodes(definition.body))
