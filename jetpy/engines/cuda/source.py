"""CUDA C of a module of workunits: its device functions, and a kernel for each workunit."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from jetpy.engines.cuda import templates
from jetpy.kernel_language import Kind, View, Width
from jetpy.kernel_language.cuda_printer import TYPES, print_function
from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.inlining import not_inlined
from jetpy.kernel_language.reading import read_workunits

MAX_STATEMENTS, LONGEST = 700, 700
"""Limits for `not_inlined`; NVRTC takes long for long kernels. Parallel kernels are shorter."""
_KERNELS = {
    Kind.FOR: templates.FOR,
    Kind.REDUCE: templates.REDUCE,
    Kind.SCAN: templates.SCAN,
}


@cache
def source(module: ModuleType, width: Width = Width.NARROW) -> str:
    """Return the CUDA C of a module.

    The result is cached; later changes of the file have no effect.
    """
    own = read_workunits(module, width).values()
    called = not_inlined(own, MAX_STATEMENTS, LONGEST)
    functions = [print_function(one, inlined=one not in called) for one in with_callees(own)]
    return "\n".join([templates.ATOMICS, templates.VERBS, *functions, *map(_kernel, own)])


def _kernel(definition: Definition) -> str:
    own = {f"{name}_": kind for name, kind in definition.arguments.items()}
    declared = "".join(f", {_type(kind)} {name}" for name, kind in own.items())
    given = "".join(f", {name}" for name in own)
    template = _KERNELS[definition.kind]
    index = TYPES[str(next(iter(definition.parameters.values())))]
    return template.format(name=definition.name, index=index, declared=declared, given=given)


def _type(kind: str | View) -> str:
    return f"{TYPES[kind.element]}*" if isinstance(kind, View) else TYPES[kind]
