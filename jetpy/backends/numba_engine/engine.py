"""The `numba` back end: generated launchers, cached per user, behind the three verbs."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend, Workunit
from jetpy.backends.threads import available_threads, limit_spinning
from jetpy.backends.workers import Entry, Group, compile_in_parallel
from jetpy.cache import cache_dir, write_if_missing

MAX_THREADS = 64
COMPILE = f"{__name__}:compile_all"


def _import_numba(threads: int) -> ModuleType:
    """Import Numba with room for `threads` threads, on a layer whose launches are cheap."""
    if "numba" not in sys.modules:
        most = max(threads, available_threads())
        os.environ.setdefault("NUMBA_NUM_THREADS", str(most))
        os.environ.setdefault("NUMBA_THREADING_LAYER_PRIORITY", "omp tbb workqueue")
        limit_spinning()
    import numba

    return numba


@cache
def _launchers(module: ModuleType) -> dict[str, tuple[Callable[..., Any], tuple[str, ...]]]:
    """Import the generated launchers of one module of workunits.

    Returns, for each workunit, the compiled function and its Numba signature as text.
    """
    import numba

    from jetpy.backends.numba_engine import source
    from jetpy.backends.numba_engine.translate import Kind

    text, definitions = source.generate(module)
    engine = "".join(p.read_text() for p in sorted(Path(__file__).parent.glob("*.py")))
    salt = f"{numba.__version__} {np.__version__} {sys.version} {platform.machine()}"
    key = hashlib.sha256((text + engine + salt).encode()).hexdigest()[:16]
    short = module.__name__.rpartition(".")[2]
    path = cache_dir() / "numba" / key / f"{short}.py"
    write_if_missing(path, text)
    spec = importlib.util.spec_from_file_location(f"jetpy_numba_{short}_{key}", path)
    assert spec is not None
    assert spec.loader is not None
    generated = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = generated
    spec.loader.exec_module(generated)
    return {
        name: (getattr(generated, f"launch_{name}"), source.signature_of(definition))
        for name, definition in definitions.items()
        if definition.kind is not Kind.FUNCTION and _is_own(module, name)
    }


def _is_own(module: ModuleType, name: str) -> bool:
    return bool(getattr(module, name).__module__ == module.__name__)


def _module(name: str) -> ModuleType:
    from jetpy import workloads

    modules: dict[str, ModuleType] = {m.__name__: m for m in workloads.MODULES}
    return modules[name]


def compile_one(module_name: str, workunit: str) -> None:
    """Compile one launcher, or load it from the cache."""
    function, signature = _launchers(_module(module_name))[workunit]
    function.compile(f"({', '.join(signature)})")  # type: ignore[attr-defined]


def compile_all(*entries: Entry) -> None:
    """Compile or load launchers, each given by the names of its module and workunit."""
    for entry in entries:
        compile_one(*entry)


def _is_cached(module_name: str, workunit: str) -> bool:
    """Whether there is compiled code on disk for a launcher."""
    function, _ = _launchers(_module(module_name))[workunit]
    folder = Path(function.stats.cache_path)  # type: ignore[attr-defined]
    return any(folder.glob(f"*launch_{workunit}-*.nbi"))


class NumbaBackend(Backend):
    """Workunits compiled by Numba; arrays are NumPy's."""

    name = "numba"
    _width = 0
    """Threads that Numba was last told to use, which is one number for all back ends."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = min(threads or available_threads(), MAX_THREADS)
        self.xp = np
        self.launches = 0
        self._numba = _import_numba(self.threads)
        self._compiled: dict[Workunit, tuple[Callable[..., Any], tuple[str, ...]]] = {}
        self._loaded = False
        self._tape: list[tuple[Callable[..., Any], list[Any]]] | None = None

    def _launch(self, n: int, workunit: Workunit, arguments: dict[str, Any]) -> Any:
        entry = self._compiled.get(workunit)
        if entry is None:
            entry = self._load(workunit)
        function, names = entry
        passed = [n, self.threads, *[arguments[name] for name in names]]
        if self._tape is not None:
            self._tape.append((function, passed))
            return 0
        self._set_width()
        self.launches += 1
        return function(*passed)

    def _set_width(self) -> None:
        if NumbaBackend._width != self.threads:
            most = self._numba.config.NUMBA_NUM_THREADS
            self._numba.set_num_threads(min(self.threads, most))
            NumbaBackend._width = self.threads

    def record(self, launches: Callable[[], None], /) -> Callable[[], None]:
        tape = self._tape = []
        try:
            launches()
        finally:
            self._tape = None

        def play() -> None:
            self._set_width()
            self.launches += len(tape)
            for function, passed in tape:
                function(*passed)

        return play

    def _load(self, workunit: Workunit) -> tuple[Callable[..., Any], tuple[str, ...]]:
        module = sys.modules[workunit.__module__]
        function, _ = _launchers(module)[workunit.__name__]
        names = function.py_func.__code__.co_varnames[2 : function.py_func.__code__.co_argcount]  # type: ignore[attr-defined]
        self._compiled[workunit] = (function, names)
        return self._compiled[workunit]

    def parallel_for(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        self._launch(n, workunit, arguments)

    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        return int(self._launch(n, workunit, arguments))

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        return int(self._launch(n, workunit, arguments))

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        ready = np.ascontiguousarray(array)
        return ready if ready.flags.writeable else ready.copy()

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        return np.asarray(array)

    def compile(
        self,
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        from jetpy import workloads

        if self._loaded:
            return 0.0
        started = time.perf_counter()
        todo = [(m.__name__, name) for m in workloads.MODULES for name in _launchers(m)]
        missing: list[Group] = [[entry] for entry in todo if not _is_cached(*entry)]
        done = len(todo) - len(missing)
        if missing:
            if progress is not None:
                progress(done, len(todo))
            for group in compile_in_parallel(COMPILE, missing, jobs or available_threads()):
                done += len(group)
                if progress is not None:
                    progress(done, len(todo))
        compile_all(*todo)
        self._loaded = True
        return time.perf_counter() - started
