"""``jetpy compile``: make the kernels ready ahead of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from jetpy.bars import STAGES, progress_bars
from jetpy.cli.command import Command
from jetpy.cli.options import backend_option, device_option

if TYPE_CHECKING:
    from jetpy.backends.workers import Compilation


@click.command("compile", cls=Command)
@backend_option
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    help="Processes that compile at a time; as many as there are processors by default.",
)
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    metavar="SM",
    help="For --backend cuda: compile for GPUs of this architecture, as in sm_90; none of them has "
    "to be here. May be given several times.",
)
@device_option
def compile_command(
    backend: str, jobs: int | None, architectures: tuple[str, ...], device: int | None
) -> None:
    """Compile the kernels now, so that the first run starts at once.

    Kernels that are in the cache are not compiled again: after an interruption or an error the
    same command goes on where it was.
    """
    from jetpy.backends import get_backend
    from jetpy.backends.cuda.kernels import compiler_for
    from jetpy.backends.workers import watch_compilations
    from jetpy.cache import cache_dir
    from jetpy.cli.tables import facts, stdout_console
    from jetpy.errors import OptionError

    compile_all: Callable[..., object]
    if architectures:
        if backend != "cuda" or device is not None:
            raise OptionError("--arch goes with --backend cuda, and without --device")
        name, compile_all = f"cuda, for {', '.join(architectures)}", compiler_for(architectures)
    else:
        engine = get_backend(backend, device=device)
        name, compile_all = engine.name, engine.compile
    found = total = 0
    started = time.perf_counter()
    with watch_compilations() as compilations:

        def progress(done: int, of: int) -> None:
            nonlocal found, total
            found, total = done - _count(compilations), of
            bars.stage("compile", done, of)

        try:
            with progress_bars() as bars:
                bars.busy(STAGES["compile"])
                compile_all(jobs=jobs, progress=progress)
        finally:
            rows = [
                ("back end", name),
                *_summary(compilations, found, total),
                ("seconds", f"{time.perf_counter() - started:.1f}"),
                ("cache folder", f"{cache_dir()}"),
            ]
            stdout_console().print(facts(rows))


def _count(compilations: list[Compilation]) -> int:
    return sum(len(c.workunits) for c in compilations)


def _summary(compilations: list[Compilation], found: int, total: int) -> list[tuple[str, str]]:
    """Count the kernels, and name what took longest."""
    compiled = [c for c in compilations if c.failure is None]
    counts = {
        "compiled": _count(compiled),
        "found in the cache": found,
        "FAILED": _count(compilations) - _count(compiled),
        "left": total - found - _count(compilations),
    }
    told = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number > 0)
    rows = [("kernels", f"{total:,}: {told}" if told else "all found in the cache")]
    if compiled:
        slowest = max(compiled, key=lambda c: c.seconds)
        first, *others = slowest.workunits
        beside = f" and {len(others)} more" if others else ""
        rows.append(("slowest", f"{first}{beside}, {slowest.seconds:.1f} s"))
    return rows
