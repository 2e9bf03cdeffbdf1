"""``jetpy compile``: compile the kernels in advance."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import Command, example
from jetpy.cli.options import backend_option, device_option, json_option, quiet_option
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.progress import STAGES, progress_bars

if TYPE_CHECKING:
    from jetpy.engines.base import Backend
    from jetpy.engines.workers import Compilation, Compiler


@click.command(
    "compile",
    cls=Command,
    by_several=True,
    epilog=example("jetpy compile", "jetpy compile --backend cuda --arch sm_90 --arch sm_100"),
)
@backend_option
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of threads or processes that compile at the same time, for GPUs and Kokkos; by "
    "default the number of processors.",
)
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    metavar="SM",
    help="Compile for GPUs of this architecture, for example sm_90; needs --backend cuda, but "
    "not a GPU. May be given several times.",
)
@device_option
@json_option
@quiet_option
def compile_command(
    backend: str,
    jobs: int | None,
    architectures: tuple[str, ...],
    device: int | None,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Compile the kernels now, so that the first run does not have to.

    Kernels in the cache are not compiled again. After an interruption or an error, the same
    command compiles the kernels that are missing.
    """
    check_outputs([], json_file)

    from jetpy.device.backends import get_backend, kernel_modules
    from jetpy.engines.cache import cache_dirs
    from jetpy.engines.cuda.kernels import compilers_for
    from jetpy.engines.workers import in_turn, watch_compilations, without_announcement
    from jetpy.errors import OptionError
    from jetpy.kernel_language.reading import workunit_names

    compilers: list[Compiler]
    modules = kernel_modules()
    if architectures:
        if backend != "cuda" or device is not None:
            raise OptionError("--arch needs --backend cuda, and cannot be combined with --device")
        name, compilers = (
            f"cuda, for {', '.join(architectures)}",
            compilers_for(architectures, modules),
        )
    else:
        engine = get_backend(backend, device=device)
        name, compilers = engine.name, [partial(one.compile, modules) for one in _engines(engine)]
    kernels = sum(len(workunit_names(module)) for module in modules)
    cached, total = 0, len(compilers) * kernels
    started = time.perf_counter()
    with watch_compilations() as compilations, without_announcement():

        def progress(done: int, of: int) -> None:
            nonlocal cached
            cached = done - _count(compilations)
            bars.stage("compile", done, of)

        try:
            with progress_bars(quiet=quiet) as bars:
                bars.busy(STAGES["compile"])
                in_turn(compilers, kernels)(jobs=jobs, progress=progress)
                cached = total - _count(compilations)
        finally:
            report = _report(compilations, cached, total)
            report = {"backend": name, **report, "seconds": time.perf_counter() - started}
            report["cache_folder"] = str(cache_dirs()[-1])
            if json_file is not None:
                write_json(json_file, report)
            if not quiet and json_file != STDOUT:
                _print(report)


def _engines(engine: Backend) -> Iterator[Backend]:
    """Yield the compilers of a back end: it and its host engine, each with both widths."""
    from jetpy.errors import BackendError
    from jetpy.kernel_language import Width

    for one in dict.fromkeys((engine, engine.host)):
        yield one
        try:
            wide = one.with_width(Width.WIDE)
        except BackendError:
            continue
        yield wide


def _count(compilations: list[Compilation]) -> int:
    return sum(len(c.workunits) for c in compilations)


def _report(compilations: list[Compilation], found: int, total: int) -> dict[str, Any]:
    """Count the kernels, and name the slowest compilation."""
    compiled = [c for c in compilations if c.failure is None]
    report: dict[str, Any] = {
        "kernels": total,
        "compiled": _count(compiled),
        "found": found,
        "failed": _count(compilations) - _count(compiled),
        "left": total - found - _count(compilations),
    }
    if compiled:
        slowest = max(compiled, key=lambda c: c.seconds)
        report["slowest"] = {"kernels": list(slowest.workunits), "seconds": slowest.seconds}
    return report


def _print(report: dict[str, Any]) -> None:
    from jetpy.cli.tables import facts, stdout_console

    words = {
        "compiled": "compiled",
        "found": "found in the cache",
        "failed": "FAILED",
        "left": "left",
    }
    counts = ", ".join(f"{report[key]:,} {word}" for key, word in words.items() if report[key] > 0)
    is_ready = report["found"] == report["kernels"]
    kernels = "all found in the cache" if is_ready else f"{report['kernels']:,}: {counts}"
    rows = [("back end", report["backend"]), ("kernels", kernels)]
    if "slowest" in report:
        first, *others = report["slowest"]["kernels"]
        beside = f" and {len(others)} more" if others else ""
        rows.append(("slowest", f"{first}{beside}, {report['slowest']['seconds']:.1f} s"))
    rows.append(("seconds", f"{report['seconds']:.1f}"))
    rows.append(("cache folder", report["cache_folder"]))
    stdout_console().print(facts(rows))
