"""Keeps Numba's compiled code in jetpy's cache, a file for each signature of a launcher."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core import sigutils
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from jetpy.backends.numba_engine import SUFFIX
from jetpy.cache import keep_entry, read_entry


class KernelCache:
    """What Numba asks for compiled code of one function, and gives it to.

    What cannot be loaded is as if it were not there, so that it is compiled again; what cannot be
    written is kept in memory.

    Parameters
    ----------
    folder : Path
        Where to keep it, below the cache folder; the same for all that the code depends on.
    name : str
        Name of the function.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def entry(self, signature: Any) -> Path:
        """Return the name of the entry for a signature."""
        arguments, _ = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
        digest = hashlib.sha256(repr(tuple(arguments)).encode()).hexdigest()[:8]
        return self._folder / f"{self._name}-{digest}{SUFFIX}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None."""
        content = read_entry(self.entry(sig))
        if content is None:
            return None
        target_context.refresh()
        rebuild: Any = CompileResult._rebuild
        try:
            return rebuild(target_context, *pickle.loads(content))
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        keep_entry(self.entry(sig), dumps(data._reduce()))  # type: ignore[no-untyped-call]
