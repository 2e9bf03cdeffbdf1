"""The kernel language: workunits are read once, and printed for each engine.

`reading` turns a module of PyKokkos workunits into definitions: groups of parameters are taken
apart, constants are numbers, and every expression has its type (`tree`). `llvm_printer`,
`pykokkos_printer` and `cuda_printer` print these for the engine that runs them. What one engine
cannot do is refused for all (`refusals`).
"""

from jetpy.kernel_language.definition import Definition, Kind, with_callees
from jetpy.kernel_language.reading import (
    read_module,
    read_workunit,
    read_workunits,
    workunit_names,
)
from jetpy.kernel_language.types import View, Width

__all__ = [
    "Definition",
    "Kind",
    "View",
    "Width",
    "read_module",
    "read_workunit",
    "read_workunits",
    "with_callees",
    "workunit_names",
]
