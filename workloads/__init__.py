"""The kernels: PyKokkos workunits and device functions only, a folder a stage.

Importing this package needs no PyKokkos: its decorators are the identity and every back end
reads the source of the workunits, so the modules are imported against empty stand-in names.
"""

import importlib
import pkgutil
import sys

from jetpy.kernel_language import pykokkos_standin

_pykokkos = sys.modules.get("pykokkos")
sys.modules["pykokkos"] = pykokkos_standin
try:
    MODULES = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(__path__, f"{__name__}.")
        if not info.ispkg
    ]
finally:
    if _pykokkos is None:
        del sys.modules["pykokkos"]
    else:
        sys.modules["pykokkos"] = _pykokkos
