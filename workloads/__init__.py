"""The kernels: PyKokkos workunits and device functions, one folder per stage.

Importing this package does not need PyKokkos. Every engine reads the source of the workunits, so
the modules are imported with a stand-in whose decorators return the function unchanged.
"""

import importlib
import os
import sys

from jetpy.kernel_language import pykokkos_standin

_FILES = [
    (folder.name, file)
    for folder in sorted(os.scandir(__path__[0]), key=lambda entry: entry.name)
    if folder.is_dir()
    for file in sorted(os.listdir(folder))
    if file.endswith(".py") and file != "__init__.py"
]
_pykokkos = sys.modules.get("pykokkos")
sys.modules["pykokkos"] = pykokkos_standin
try:
    MODULES = [
        importlib.import_module(f"{__name__}.{folder}.{file.removesuffix('.py')}")
        for folder, file in _FILES
    ]
finally:
    if _pykokkos is None:
        del sys.modules["pykokkos"]
    else:
        sys.modules["pykokkos"] = _pykokkos
