"""Turns modules of workunits into Python modules of ranges, which Numba compiles.

For each workunit there is one function, called by its address: it runs the workunit over some
indices in a row. All are of one type, int64 (start, stop, accumulator, whether to write, address of
a block), and return the accumulator. A block is the number of indices of the launch and the
workunit's arguments, a word of 8 bytes each: addresses of arrays, and numbers.
"""

from __future__ import annotations

from types import ModuleType

from jetpy.kernel_language import (
    Definition,
    Kind,
    View,
    Width,
    read_module,
    read_workunits,
    with_callees,
)
from jetpy.kernel_language.numba_printer import print_function

HEADER = '''\
"""Generated from {module}; do not edit."""
from numba import njit
from numba.core.types import (
    boolean, float32, float64, int32, int64, uint32, uint64, uintp,
)
from jetpy.backends.numba_engine.atomics import (
    atomic_compare_exchange, atomic_fetch_add, atomic_fetch_max, atomic_fetch_min, atomic_fetch_or,
)
from jetpy.backends.numba_engine.arithmetic import c_divide, c_remainder
from jetpy.backends.numba_engine.machine import elements_at, float_of, words_at

device = njit(
    forceinline=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)
'''

RANGE = """\
def {name}_range(_start, _stop, _acc, _last, _block):
    _words = words_at(_block)
    _last_pass = _last != 0
{arguments}
    for _i in range(_start, _stop):
        {step}
    return _acc
"""


def generate(module: ModuleType, width: Width = Width.NARROW) -> str:
    """Return the source of a module of ranges, and of the functions that they call."""
    parts = [HEADER.format(module=module.__name__)]
    for definition in with_callees(read_module(module, width).values()):
        parts.append(print_function(definition))
    parts += [_range(workunit) for workunit in read_workunits(module, width).values()]
    return "\n\n".join(parts)


def range_of(name: str) -> str:
    """Return what the range of a workunit is called."""
    return f"{name}_range"


def _range(definition: Definition) -> str:
    arguments = definition.arguments
    result, implicit = {
        Kind.FOR: ("", ["_i"]),
        Kind.REDUCE: ("_acc = ", ["_i", "_acc"]),
        Kind.SCAN: ("_acc = ", ["_i", "_acc", "_last_pass"]),
    }[definition.kind]
    passed = [*implicit, *(f"_p_{name}" for name in arguments)]
    loads = [
        f"    _p_{name} = {_argument(f'_words[{place}]', kind)}"
        for place, (name, kind) in enumerate(arguments.items(), 1)
    ]
    return RANGE.format(
        name=definition.name,
        arguments="\n".join(loads),
        step=f"{result}{definition.name}({', '.join(passed)})",
    )


def _argument(word: str, kind: str | View) -> str:
    if isinstance(kind, View):
        return f"elements_at({word}, {kind.element}(0))"
    return f"float_of({word})" if kind.startswith("float") else word
