"""Compiled modules of workunits, from the cache or the compiler. No GPU is needed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from types import ModuleType

from jetpy.engines.cache import keep_entry, one_at_a_time, read_entry
from jetpy.engines.cuda import SUFFIX, nvrtc
from jetpy.engines.cuda.entries import Target, join_entry, remember, short_name
from jetpy.engines.cuda.nvrtc import OPTIONS
from jetpy.engines.cuda.source import source
from jetpy.engines.threads import available_threads
from jetpy.engines.workers import Compilation, Compiler, Group, Progress, announce, count_of, note
from jetpy.errors import BackendError
from jetpy.kernel_language import Signature, Width
from jetpy.kernel_language.reading import read_workunits, workunit_names
from jetpy.kernel_language.signature import signatures_as_text


def with_workunits(modules: Iterable[ModuleType]) -> list[ModuleType]:
    """Return the modules that have workunits."""
    return [module for module in modules if workunit_names(module)]


def compilers_for(architectures: Sequence[str], modules: Sequence[ModuleType]) -> list[Compiler]:
    """Return compiling functions, one for each architecture (such as sm_90) and width.

    No GPU is needed. The functions take `jobs` and `progress` as `compiled` does.

    Raises
    ------
    OptionError
        If an architecture is malformed.
    BackendError
        If NVRTC is not installed, or does not support one of them.
    """
    compiler = nvrtc.load()
    wanted = [compiler.checked(architecture) for architecture in dict.fromkeys(architectures)]
    return [
        partial(compiled, modules, Target(compiler, architecture, width))
        for architecture in wanted
        for width in Width
    ]


def entry_name(module: ModuleType, target: Target) -> Path:
    """Return the name of a module's cache entry, which depends on all of its inputs."""
    circumstances = repr((target.compiler.version, OPTIONS, target.architecture))
    texts = signatures_as_text(_signatures(module, target)), source(module, target.width)
    key = hashlib.sha256("\n".join([circumstances, *texts]).encode()).hexdigest()[:16]
    return Path("cuda", target.architecture, f"{short_name(module)}-{key}{SUFFIX}")


def compiled(
    modules: Sequence[ModuleType],
    target: Target,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[ModuleType, bytes]:
    """Return the entry of each module with workunits; compile any that the cache lacks.

    `jobs` threads compile, by default one per processor. Each entry is stored when it is ready, so
    the next call continues after an interruption. A module that fails does not stop others.

    Raises
    ------
    BackendError
        At the end, with the compiler's message, if a module did not compile.
    """
    wanted = with_workunits(modules)
    ready = _kept(wanted, target)
    if len(ready) < len(wanted):
        with one_at_a_time("cuda"):
            ready = _completed(wanted, target, jobs or available_threads(), progress)
    remember(
        {module: entry_name(module, target) if module in ready else None for module in modules},
        target,
    )
    return ready


def _kept(wanted: Sequence[ModuleType], target: Target) -> dict[ModuleType, bytes]:
    """Return the entries in the cache."""
    found = {module: read_entry(entry_name(module, target)) for module in wanted}
    return {module: entry for module, entry in found.items() if entry is not None}


def _completed(
    wanted: Sequence[ModuleType], target: Target, jobs: int, progress: Progress | None
) -> dict[ModuleType, bytes]:
    """Compile missing entries, after another look for entries from other processes."""
    ready = _kept(wanted, target)
    missing = [module for module in wanted if module not in ready]
    if not missing:
        return ready
    total, done = _count(wanted), _count(ready)
    announce(count_of(_count(missing)))
    if progress is not None:
        progress(done, total)
    failures = []
    for module, made in _compile(missing, target, jobs):
        done += _count([module])
        if isinstance(made, bytes):
            ready[module] = made
        else:
            failures.append(f"compiling the workunits of {short_name(module)} failed:\n{made}")
        if progress is not None:
            progress(done, total)
    if failures:
        raise BackendError("\n\n".join(failures))
    return ready


def _compile(
    missing: Sequence[ModuleType], target: Target, jobs: int
) -> Iterator[tuple[ModuleType, bytes | BackendError]]:
    """Compile modules, longest source first; yield each with its entry or its error."""

    def compile_one(module: ModuleType) -> tuple[ModuleType, bytes | BackendError, float]:
        started = time.perf_counter()
        made: bytes | BackendError
        try:
            text = source(module, target.width)
            cubin = target.compiler.compile(text, f"{short_name(module)}.cu", target.architecture)
            made = join_entry(_signatures(module, target), cubin)
            keep_entry(entry_name(module, target), made)
        except BackendError as error:
            made = error
        return module, made, time.perf_counter() - started

    longest_first = sorted(missing, key=lambda m: len(source(m, target.width)), reverse=True)
    pool = ThreadPoolExecutor(jobs)
    try:
        for future in as_completed([pool.submit(compile_one, m) for m in longest_first]):
            module, made, seconds = future.result()
            group: Group = [(short_name(module), name) for name in workunit_names(module)]
            failure = str(made) if isinstance(made, BackendError) else None
            note(Compilation(group, seconds, failure))
            yield module, made
    finally:
        pool.shutdown(cancel_futures=True)


def _signatures(module: ModuleType, target: Target) -> list[Signature]:
    return [workunit.signature for workunit in read_workunits(module, target.width).values()]


def _count(wanted: Sequence[ModuleType] | dict[ModuleType, bytes]) -> int:
    return sum(len(workunit_names(module)) for module in wanted)
