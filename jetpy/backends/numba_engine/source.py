"""Turns modules of workunits into Python modules of compiled launchers.

For each workunit there is one launcher, named like it, that takes the number of indices, the
number of threads and the workunit's own arguments. Indices are dealt to threads in blocks,
round robin, so that regions of expensive indices are shared; a scan gives each thread one
contiguous range. Short ranges run on the calling thread.
"""

from __future__ import annotations

from types import ModuleType

from jetpy.kernel_language import Definition, Kind, View, read_module, read_workunits, with_callees
from jetpy.kernel_language.numba_printer import print_function

HEADER = '''\
"""Generated from {module}; do not edit."""
import numpy as np
from numba import njit, prange
from numba.core.types import (
    boolean, float32, float64, int32, int64, uint32, uint64, uintp,
)
from jetpy.backends.numba_engine.atomics import (
    atomic_compare_exchange, atomic_fetch_add, atomic_fetch_max, atomic_fetch_min, atomic_fetch_or,
    pointer,
)
from jetpy.backends.numba_engine.arithmetic import c_divide, c_remainder

SERIAL = {serial}
BLOCK = {block}
inner = {{"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}}
device = njit(forceinline=True, **inner)
ranged = njit(**inner)
launcher = njit(parallel=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)
'''

SERIAL = 2048
BLOCK = 512

_RANGE = """\
@ranged
def range_{name}(_start, _stop, _acc, _last, {own}):
{pointers}
    for _i in range(_start, _stop):
        {step}
    return _acc
"""

_FOR = """\
@launcher
def launch_{name}(_n, _threads, {own}):
    if _n <= SERIAL or _threads == 1:
        range_{name}(0, _n, 0, True, {own})
    else:
        for _thread in prange(_threads):
            for _block in range(_thread, (_n + BLOCK - 1) // BLOCK, _threads):
                range_{name}(_block * BLOCK, min(_n, (_block + 1) * BLOCK), 0, True, {own})
"""

_REDUCE = """\
@launcher
def launch_{name}(_n, _threads, {own}):
    if _n <= SERIAL or _threads == 1:
        return range_{name}(0, _n, 0, True, {own})
    _sums = np.zeros(_threads * 8, np.int64)
    for _thread in prange(_threads):
        _sum = 0
        for _block in range(_thread, (_n + BLOCK - 1) // BLOCK, _threads):
            _sum = range_{name}(_block * BLOCK, min(_n, (_block + 1) * BLOCK), _sum, True, {own})
        _sums[_thread * 8] = _sum
    return _sums.sum()
"""

_SCAN = """\
@launcher
def launch_{name}(_n, _threads, {own}):
    if _n <= SERIAL or _threads == 1:
        return range_{name}(0, _n, 0, True, {own})
    _sums = np.zeros(_threads * 8, np.int64)
    _size = (_n + _threads - 1) // _threads
    for _thread in prange(_threads):
        _stop = min(_n, (_thread + 1) * _size)
        _sums[_thread * 8] = range_{name}(_thread * _size, _stop, 0, False, {own})
    _total = 0
    for _thread in range(_threads):
        _sum = _sums[_thread * 8]
        _sums[_thread * 8] = _total
        _total += _sum
    for _thread in prange(_threads):
        _stop = min(_n, (_thread + 1) * _size)
        range_{name}(_thread * _size, _stop, _sums[_thread * 8], True, {own})
    return _total
"""


def signature_of(definition: Definition) -> tuple[str, ...]:
    """Numba type strings of a launcher's parameters."""

    def numba_type(kind: str | View) -> str:
        if isinstance(kind, View):
            return f"{kind.element}[::1]"
        return "float64" if kind.startswith("float") else "int64"

    own = (numba_type(kind) for kind in definition.arguments.values())
    return ("int64", "int64", *own)


def generate(module: ModuleType) -> str:
    """Return the source of a module of launchers, and of the functions that they call."""
    parts = [HEADER.format(module=module.__name__, serial=SERIAL, block=BLOCK)]
    for definition in with_callees(read_module(module).values()):
        parts.append(print_function(definition))
    parts += [_launcher(workunit) for workunit in read_workunits(module).values()]
    return "\n\n".join(parts)


def _launcher(definition: Definition) -> str:
    own = list(definition.arguments)
    views = {name for name in own if isinstance(definition.parameters[name], View)}
    pointers = "\n".join(f"    _p_{name} = pointer({name})" for name in own if name in views)
    passed = [f"_p_{name}" if name in views else name for name in own]
    template, result, implicit = {
        Kind.FOR: (_FOR, "", ["_i"]),
        Kind.REDUCE: (_REDUCE, "_acc = ", ["_i", "_acc"]),
        Kind.SCAN: (_SCAN, "_acc = ", ["_i", "_acc", "_last"]),
    }[definition.kind]
    call = f"{result}{definition.name}({', '.join(implicit + passed)})"
    names = {"name": definition.name, "own": ", ".join(own)}
    return _RANGE.format(pointers=pointers, step=call, **names) + "\n\n" + template.format(**names)
