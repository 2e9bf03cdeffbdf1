"""The kernel language: workunits are read once, and printed for each engine.

`reading` turns a module of PyKokkos workunits into definitions: groups of parameters are taken
apart, constants are numbers, and every expression has its type (`tree`). `llvm_printer`,
`pykokkos_printer` and `cuda_printer` print these for the engine that runs them; the last two are
tables of `text_printer`. What one engine cannot do is refused for all (`refusals`).

A launch takes no more than a `Signature`, which compiled code has with it. So this package imports
no more either; what has to read kernels imports the modules that do.
"""

from jetpy.kernel_language import sources  # first: it reads the files of the others
from jetpy.kernel_language.signature import Kind, Signature
from jetpy.kernel_language.types import View, Width

__all__ = ["Kind", "Signature", "View", "Width", "sources"]
