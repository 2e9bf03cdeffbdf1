"""The `numba` back end: generated launchers, cached per user, behind the three verbs."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend, Workunit
from jetpy.backends.threads import after_fork, available_threads, limit_spinning, openmp_is_lost
from jetpy.backends.workers import Entry, Group, announce, compile_in_parallel
from jetpy.cache import cache_dirs, is_writable, read_entry
from jetpy.kernel_language import read_workunits

Bind = Callable[..., list[Any]]
MAX_THREADS = 64
SECONDS = 1.2
"""To compile a kernel, about."""
COMPILE = f"{__name__}:compile_all"
IMPORTED = ("arithmetic.py", "atomics.py")
"""What launchers are compiled from beside their own text."""


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
def _launchers(module: ModuleType) -> dict[str, tuple[Any, str]]:
    """Make the launchers of one module of workunits.

    Returns, for each workunit, Numba's function and the signature that it is compiled for.
    """
    import numba
    from numba.core.registry import cpu_target

    from jetpy.backends.numba_engine import source
    from jetpy.backends.numba_engine.storage import KernelCache

    text = source.generate(module)
    imported = "".join(Path(__file__).with_name(name).read_text() for name in IMPORTED)
    processor = cpu_target.target_context.codegen().magic_tuple()
    salt = f"{numba.__version__} {np.__version__} {sys.version} {processor}"
    key = hashlib.sha256((text + imported + salt).encode()).hexdigest()[:16]
    short = module.__name__.rpartition(".")[2]
    generated = _import_text(f"jetpy_numba_{short}_{key}", text)
    launchers = {}
    for name, definition in read_workunits(module).items():
        function = getattr(generated, f"launch_{name}")
        function._cache = KernelCache(Path("numba", key), name)
        launchers[name] = function, f"({', '.join(source.signature_of(definition))})"
    return launchers


def _import_text(name: str, text: str) -> ModuleType:
    """Make a module of a text, whose lines error messages show."""
    module, file = ModuleType(name), f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    sys.modules[name] = module
    exec(compile(text, file, "exec"), module.__dict__)
    return module


def _module(name: str) -> ModuleType:
    from jetpy import workloads

    modules: dict[str, ModuleType] = {m.__name__: m for m in workloads.MODULES}
    return modules[name]


def compile_one(module_name: str, workunit: str) -> None:
    """Load one launcher from the cache, or compile it."""
    function, signature = _launchers(_module(module_name))[workunit]
    function.compile(signature)


def compile_all(*entries: Entry) -> None:
    """Load or compile launchers, each given by the names of its module and workunit."""
    for entry in entries:
        compile_one(*entry)


def _compile_here(groups: Iterable[Group]) -> Iterator[Group]:
    """Compile launchers in this process, which keeps them in memory."""
    for group in groups:
        compile_all(*group)
        yield group


def _is_cached(module_name: str, workunit: str) -> bool:
    """Whether there is compiled code on disk for a launcher."""
    function, signature = _launchers(_module(module_name))[workunit]
    return read_entry(function._cache.entry(signature)) is not None


_living: WeakSet[NumbaBackend] = WeakSet()


@after_fork
def _use_one_thread() -> None:
    if openmp_is_lost():
        for backend in _living:
            backend.threads = 1


class NumbaBackend(Backend):
    """Workunits compiled by Numba; arrays are NumPy's.

    In a child forked from a process whose threads run, it has one thread.
    """

    name = "numba"
    _width = 0
    """Threads that Numba was last told to use, which is one number for all back ends."""

    def __init__(self, threads: int | None = None) -> None:
        wanted = min(threads or available_threads(), MAX_THREADS)
        self.threads = 1 if openmp_is_lost() else wanted
        self.xp = np
        self.launches = 0
        self._numba = _import_numba(self.threads)
        self._compiled: dict[Workunit, tuple[Callable[..., Any], Bind]] = {}
        self._loaded = False
        self._tape: list[tuple[Callable[..., Any], int, list[Any]]] | None = None
        _living.add(self)

    def _launch(self, n: int, workunit: Workunit, arguments: dict[str, Any]) -> Any:
        entry = self._compiled.get(workunit)
        if entry is None:
            entry = self._load(workunit)
        function, bind = entry
        passed = bind(**arguments)
        if self._tape is not None:
            self._tape.append((function, n, passed))
            return 0
        self._set_width()
        self.launches += 1
        return function(n, self.threads, *passed)

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
            threads = self.threads
            for function, n, passed in tape:
                function(n, threads, *passed)

        return play

    def _load(self, workunit: Workunit) -> tuple[Callable[..., Any], Bind]:
        module = sys.modules[workunit.__module__]
        function, _ = _launchers(module)[workunit.__name__]
        bind = read_workunits(module)[workunit.__name__].bind
        self._compiled[workunit] = function, bind
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
            processes = jobs or available_threads()
            keeps = is_writable(cache_dirs()[-1])
            announce(len(missing), SECONDS * len(missing) / (processes if keeps else 1))
            if progress is not None:
                progress(done, len(todo))
            for group in (
                compile_in_parallel(COMPILE, missing, processes)
                if keeps
                else _compile_here(missing)
            ):
                done += len(group)
                if progress is not None:
                    progress(done, len(todo))
        compile_all(*todo)
        self._loaded = True
        return time.perf_counter() - started
