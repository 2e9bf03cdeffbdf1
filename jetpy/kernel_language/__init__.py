"""The kernel language: workunits are read once, and printed for each engine.

`reading` turns a module of PyKokkos workunits into definitions: it expands parameter groups,
replaces constants by their values, and types every expression (`tree`). `llvm_printer`,
`pykokkos_printer` and `cuda_printer` print definitions for the engine that runs them; the last two
are tables of `text_printer`. Code that one engine cannot compile is refused for all (`refusals`).

A launch needs only a `Signature`, which is stored with the compiled code. This package therefore
imports nothing else; code that reads kernels imports the modules that it needs.
"""

from jetpy.kernel_language import sources  # first: it reads the files of the other modules
from jetpy.kernel_language.signature import Kind, Signature
from jetpy.kernel_language.types import View, Width

__all__ = ["Kind", "Signature", "View", "Width", "sources"]
