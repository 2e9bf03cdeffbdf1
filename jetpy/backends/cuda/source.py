"""The CUDA C of a module of workunits: its device functions, and a kernel for each workunit."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from jetpy.backends.cuda import templates
from jetpy.backends.cuda.printer import c_type, device_function
from jetpy.backends.launching import passed
from jetpy.backends.numba_engine.translate import Definition, Kind, read_module, with_callees

_KERNELS = {
    Kind.FOR: templates.FOR,
    Kind.REDUCE: templates.REDUCE,
    Kind.SCAN: templates.SCAN,
}


def workunits(module: ModuleType) -> dict[str, Definition]:
    """Return the workunits that a module defines, and does not import."""
    return {
        name: definition
        for name, definition in read_module(module).items()
        if definition.kind is not Kind.FUNCTION
        and getattr(module, name).__module__ == module.__name__
    }


@cache
def source(module: ModuleType) -> str:
    """Return the CUDA C of a module.

    The same each time: changes of the file do not count.
    """
    known, own = read_module(module), workunits(module)
    used: dict[str, Definition] = {}
    for definition in own.values():
        used.update((needed.name, needed) for needed in with_callees(definition, known))
    functions = (device_function(definition, known) for definition in used.values())
    return "\n".join([templates.ATOMICS, templates.VERBS, *functions, *map(_kernel, own.values())])


def symbol(workunit: str) -> str:
    """Return the name of a workunit's kernel."""
    return f"run_{workunit}"


def _kernel(definition: Definition) -> str:
    own = definition.arguments
    arrays, numbers = passed(own)
    declared = "".join(f", {c_type(own[name])} {name}_" for name in [*arrays, *numbers])
    given = "".join(f", {name}_" for name in own)
    template = _KERNELS[definition.kind]
    return template.format(name=definition.name, declared=declared, given=given)
