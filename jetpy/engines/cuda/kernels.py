"""Cubins of modules of workunits: from the cache, or compiled and kept there. No GPU is needed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType

from jetpy.engines.cache import cache_dirs, keep_entry, one_at_a_time, read_entry, write_entry
from jetpy.engines.cuda import SUFFIX, nvrtc
from jetpy.engines.cuda.nvrtc import NVRTC, OPTIONS
from jetpy.engines.cuda.source import source
from jetpy.engines.threads import available_threads
from jetpy.engines.workers import Compilation, Compiler, Group, Progress, announce, count_of, note
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.kernel_language.reading import workunit_names
from jetpy.kernel_language.sources import digest_of_kernels

SECONDS = 0.05
"""To compile a kernel, about."""


def with_workunits(modules: Iterable[ModuleType]) -> list[ModuleType]:
    """Return those modules that have workunits."""
    return [module for module in modules if workunit_names(module)]


def compilers_for(architectures: Sequence[str], modules: Sequence[ModuleType]) -> list[Compiler]:
    """Return what compiles modules for architectures (sm_90); no GPU has to be here.

    One for each architecture and width; they take `jobs` and `progress` as `cubins` does.

    Raises
    ------
    OptionError
        If an architecture has no such name.
    BackendError
        If NVRTC is not there, or does not compile for one of them.
    """
    compiler = nvrtc.load()
    wanted = [compiler.checked(architecture) for architecture in dict.fromkeys(architectures)]
    return [
        partial(cubins, with_workunits(modules), compiler, architecture, width=width)
        for architecture in wanted
        for width in Width
    ]


def entry(
    module: ModuleType, compiler: NVRTC, architecture: str, width: Width = Width.NARROW
) -> Path:
    """Return the name of a module's cubin in the cache, by all that it depends on."""
    circumstances = repr((compiler.version, OPTIONS, architecture))
    key = hashlib.sha256(f"{circumstances}\n{source(module, width)}".encode()).hexdigest()[:16]
    return Path("cuda", architecture, f"{_short(module)}-{key}{SUFFIX}")


def cubins(
    wanted: Sequence[ModuleType],
    compiler: NVRTC,
    architecture: str,
    *,
    width: Width = Width.NARROW,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[ModuleType, bytes]:
    """Return the cubin of each module; what the cache lacks is compiled, by `jobs` threads.

    As many threads as there are processors by default. Compiled ones are kept at once, so that
    after an interruption the next call goes on there. A module that fails does not keep the others
    from being compiled.

    Raises
    ------
    BackendError
        At the end, with the compiler's words, if a module did not compile.
    """
    ready = _kept(wanted, compiler, architecture, width)
    if len(ready) == len(wanted):
        return ready
    with one_at_a_time("cuda"):
        return _completed(
            wanted, compiler, architecture, width, jobs or available_threads(), progress
        )


def are_all_kept(compiler: NVRTC, architecture: str, width: Width = Width.NARROW) -> bool:
    """Return whether the cache holds a list of the cubins of all modules, and all files in it.

    The list is found by the bytes of the sources, without reading the kernels in them. A damaged
    cubin is compiled again when it is needed.
    """
    listed = read_entry(_list(compiler, architecture, width))
    if listed is None:
        return False
    tops = cache_dirs()
    return all(any((top / name).exists() for top in tops) for name in listed.decode().splitlines())


def list_all_kept(
    modules: Iterable[ModuleType],
    compiler: NVRTC,
    architecture: str,
    width: Width = Width.NARROW,
) -> None:
    """Keep a list of the cubins of all modules, which are in the cache, if it can be written."""
    names = (str(entry(module, compiler, architecture, width)) for module in modules)
    with suppress(OSError):
        write_entry(_list(compiler, architecture, width), "\n".join(names).encode())


def _list(compiler: NVRTC, architecture: str, width: Width) -> Path:
    circumstances = repr((compiler.version, OPTIONS, architecture, width.name))
    key = hashlib.sha256(f"{circumstances}{digest_of_kernels('cuda')}".encode()).hexdigest()[:16]
    return Path("cuda", architecture, f"all-{key}.txt")


def _kept(
    wanted: Sequence[ModuleType], compiler: NVRTC, architecture: str, width: Width
) -> dict[ModuleType, bytes]:
    """Return the cubins that the cache has."""
    found = {module: read_entry(entry(module, compiler, architecture, width)) for module in wanted}
    return {module: cubin for module, cubin in found.items() if cubin is not None}


def _completed(
    wanted: Sequence[ModuleType],
    compiler: NVRTC,
    architecture: str,
    width: Width,
    jobs: int,
    progress: Progress | None,
) -> dict[ModuleType, bytes]:
    """Do what `cubins` does; another process may have compiled what was missing a moment ago."""
    ready = _kept(wanted, compiler, architecture, width)
    missing = [module for module in wanted if module not in ready]
    if not missing:
        return ready
    total, done = _count(wanted), _count(ready)
    announce(count_of(_count(missing)), SECONDS * _count(missing) / min(jobs, len(missing)))
    if progress is not None:
        progress(done, total)
    failures = []
    for module, made in _compile(missing, compiler, architecture, width, jobs):
        done += _count([module])
        if isinstance(made, bytes):
            ready[module] = made
        else:
            failures.append(f"compiling the workunits of {_short(module)} failed:\n{made}")
        if progress is not None:
            progress(done, total)
    if failures:
        raise BackendError("\n\n".join(failures))
    return ready


def _compile(
    missing: Sequence[ModuleType],
    compiler: NVRTC,
    architecture: str,
    width: Width,
    jobs: int,
) -> Iterator[tuple[ModuleType, bytes | BackendError]]:
    """Compile modules, those that take longest first; yield each with its cubin, or what failed."""

    def compile_one(module: ModuleType) -> tuple[ModuleType, bytes | BackendError, float]:
        started = time.perf_counter()
        made: bytes | BackendError
        try:
            made = compiler.compile(source(module, width), f"{_short(module)}.cu", architecture)
            keep_entry(entry(module, compiler, architecture, width), made)
        except BackendError as error:
            made = error
        return module, made, time.perf_counter() - started

    longest_first = sorted(missing, key=lambda module: len(source(module)), reverse=True)
    pool = ThreadPoolExecutor(jobs)
    try:
        for future in as_completed([pool.submit(compile_one, m) for m in longest_first]):
            module, made, seconds = future.result()
            group: Group = [(_short(module), name) for name in workunit_names(module)]
            failure = str(made) if isinstance(made, BackendError) else None
            note(Compilation(group, seconds, failure))
            yield module, made
    finally:
        pool.shutdown(cancel_futures=True)


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _count(wanted: Sequence[ModuleType] | dict[ModuleType, bytes]) -> int:
    return sum(len(workunit_names(module)) for module in wanted)
