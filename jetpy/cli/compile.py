"""``jetpy compile``: make the kernels ready ahead of time."""

from __future__ import annotations

import click

from jetpy.cli.command import Command
from jetpy.cli.options import backend_option
from jetpy.cli.progress import STAGES, progress_bars


@click.command("compile", cls=Command)
@backend_option
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    help="Kernels compiled at a time; as many as there are processors by default.",
)
def compile_command(backend: str, jobs: int | None) -> None:
    """Compile the kernels now, so that the first run starts at once."""
    from jetpy.backends import get_backend
    from jetpy.cache import cache_dir
    from jetpy.cli.tables import count

    engine = get_backend(backend)
    kernels = 0
    with progress_bars() as bars:
        bars.busy(STAGES["compile"])

        def progress(done: int, total: int) -> None:
            nonlocal kernels
            kernels = total
            bars.stage("compile", done, total)

        seconds = engine.compile(jobs=jobs, progress=progress)
    what = count(kernels, "kernel") if kernels else "all kernels, compiled before,"
    click.echo(f"{engine.name}: {what} ready after {seconds:.1f} s; kept in {cache_dir()}")
