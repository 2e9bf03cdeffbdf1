"""``jetpy study``: runs on all back ends and of other partitioners, and a page about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from jetpy import choices
from jetpy.choices import DISTRIBUTION
from jetpy.cli.command import COMMAND_LINE, PageCommand, example, notify, options_given
from jetpy.cli.options import json_option, quiet_option, read_numbers
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.progress import Bars, progress_bars

if TYPE_CHECKING:
    from jetpy.study.results import Results

EXTRA = "bench"
PEERS = ("metis", "kaminpar", "mtkahypar", "mtkahypar-quality", "kahip", "scotch")
DEFAULT_PEERS = ("metis", "kaminpar", "mtkahypar", "kahip")
PROGRAMS = ("jet", "gpu-heipa", "gpu-heipa-ultra")
BACKENDS = tuple(name for name in get_args(choices.Backend) if name != "auto")
MIN_MODIFIERS = 5
"""Minimum number of modifiers of a batch: one of each kind, and two inserted edges."""
PAGE = "report.html"
WITH_MERGE = ("sources", "merge", "output", "json_file", "quiet")
"""Parameters that are allowed with --merge."""


def numbers(least: int) -> Callable[[str], tuple[int, ...]]:
    """Return a parser of distinct integers separated by commas, each at least `least`."""

    def read(text: str) -> tuple[int, ...]:
        numbers = tuple(dict.fromkeys(read_numbers(text, int, "an integer")))
        if min(numbers) < least:
            raise click.BadParameter(f"{min(numbers)} is too small; it must be at least {least}")
        return numbers

    return read


def fractions(text: str) -> tuple[float, ...]:
    """Parse distinct decimal numbers separated by commas."""
    return tuple(dict.fromkeys(read_numbers(text, float)))


def some_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of known words separated by commas; `none` is the empty list."""

    def read(text: str) -> tuple[str, ...]:
        if text == "none":
            return ()
        chosen = words(text)
        for item in chosen:
            if item not in known:
                raise click.BadParameter(f"{item!r} is unknown; choose from {', '.join(known)}")
        return chosen

    return read


def words(text: str) -> tuple[str, ...]:
    """Parse distinct words separated by commas."""
    return tuple(dict.fromkeys(item.strip() for item in str(text).split(",")))


def program(text: str) -> tuple[str, Path]:
    """Parse NAME=PATH: the name of a partitioner, and the path of its program."""
    name, equals, path = str(text).partition("=")
    if not equals or name not in PROGRAMS:
        raise click.BadParameter(f"{text!r} is not NAME=PATH with a NAME of {', '.join(PROGRAMS)}")
    if not (Path(path).is_file() and os.access(path, os.X_OK)):
        raise click.BadParameter(f"{path} is not an executable file")
    return name, Path(path).resolve()


@click.command(
    "study",
    cls=PageCommand,
    epilog=example(
        "jetpy study mesh.graph -k 8,64 --threads 1,2 -o study",
        "jetpy study --merge laptop gpu -o both",
    ),
)
@click.argument(
    "sources",
    metavar="GRAPH [GRAPH]...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
)
@click.option("-k", "ks", type=numbers(2), metavar="K,...", help="Numbers of parts.")
@click.option(
    "--hierarchy",
    "hierarchies",
    type=words,
    metavar="A:B:...,...",
    help="Also map onto machines, with these hierarchies as in jetpy map.",
)
@click.option("--distances", metavar="A:B:...", help="Distances of the machines to map onto.")
@click.option(
    "--methods",
    type=some_of(get_args(choices.Method)),
    default="im",
    show_default=True,
    metavar="NAME,...",
    help="Methods of jetpy to map with.",
)
@click.option(
    "--modifiers",
    type=numbers(MIN_MODIFIERS),
    metavar="B,...",
    help="Also change the graphs: batches of about these numbers of modifiers, as in jetpy update. "
    "jetpy updates its partition after each batch; jetpy and the other partitioners also partition "
    "from scratch.",
)
@click.option(
    "--batches",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of batches of a changing graph.",
)
@click.option(
    "--backends",
    type=some_of(BACKENDS),
    metavar="NAME,...",
    help="Back ends of jetpy; by default all that pass the self-check of jetpy doctor.",
)
@click.option(
    "--tools",
    type=some_of(PEERS),
    default=",".join(DEFAULT_PEERS),
    show_default=True,
    metavar="NAME,...",
    help="Other partitioners to compare with; mtkahypar-quality, scotch and none are also allowed. "
    "mtkahypar and kahip also map; scotch only maps. The study leaves out tools that are not "
    "installed.",
)
@click.option(
    "--tool",
    "programs",
    type=program,
    multiple=True,
    metavar="NAME=PATH",
    help="Also compare with a program at a path: jet (the C++ Jet), gpu-heipa or gpu-heipa-ultra. "
    "It counts as running on the GPU if the machine has one. Can be repeated.",
)
@click.option(
    "--threads",
    type=numbers(1),
    metavar="N,...",
    help="Numbers of CPU threads; by default all that the process may use.",
)
@click.option(
    "--presets",
    type=some_of(get_args(choices.Preset)),
    default="default",
    show_default=True,
    metavar="NAME,...",
    help="Presets of jetpy to run.",
)
@click.option(
    "--seeds",
    type=numbers(0),
    default="0",
    show_default=True,
    metavar="N,...",
    help="Seeds to run. With several seeds, the page reports medians.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of times to make each run. The page reports the run of median time, the "
    "shortest and the longest time.",
)
@click.option(
    "--imbalance",
    "imbalances",
    type=fractions,
    default="0.03",
    show_default=True,
    metavar="E,...",
    help="Allowed imbalances. A part may weigh at most (1 + E) times the average; the average is "
    "rounded up, the limit down.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop a run after this time.",
)
@click.option(
    "--classes",
    "class_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare classes of graphs: a CSV file with the columns name and class.",
)
@click.option(
    "--machine",
    metavar="NAME",
    help="Name of this machine in the study; the default is a hash of its properties.",
)
@click.option(
    "--merge",
    is_flag=True,
    help="Merge studies: GRAPH... are their folders, and jetpy runs nothing.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    required=True,
    help="Write the tables and report.html to this folder; a study already there is continued.",
)
@json_option
@quiet_option
@click.pass_context
def study_command(
    ctx: click.Context,
    sources: tuple[Path, ...],
    ks: tuple[int, ...] | None,
    hierarchies: tuple[str, ...] | None,
    distances: str | None,
    methods: tuple[choices.Method, ...],
    modifiers: tuple[int, ...] | None,
    batches: int,
    backends: tuple[choices.Backend, ...] | None,
    tools: tuple[str, ...],
    programs: tuple[tuple[str, Path], ...],
    threads: tuple[int, ...] | None,
    presets: tuple[choices.Preset, ...],
    seeds: tuple[int, ...],
    repeats: int,
    imbalances: tuple[float, ...],
    time_limit: float,
    class_file: Path | None,
    machine: str | None,
    merge: bool,
    output: Path,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Compare back ends and other partitioners on graphs, and write a page with the results.

    Each run has its own process, and jetpy saves its result at once. After an interruption, the
    same command continues. The command fails if parts differ between back ends or numbers of
    threads.
    """
    from jetpy.pages.page import check_installed

    check_installed()
    check_outputs([], json_file, inputs=[] if merge else sources)
    if merge:
        _refuse_options_of_runs(ctx)
    elif ks is None and hierarchies is None:
        raise click.UsageError(
            "-k is missing; give the numbers of parts, for example -k 8,64, or --hierarchy"
        )
    elif (hierarchies is None) != (distances is None):
        raise click.UsageError("--hierarchy and --distances need each other; give both")
    elif "scotch" in tools and hierarchies is None:
        raise click.UsageError(
            "scotch only maps; give --hierarchy and --distances, or leave it out"
        )
    elif programs and ks is None:
        raise click.UsageError("programs of --tool only partition; give -k, or leave them out")
    elif modifiers and ks is None:
        raise click.UsageError("--modifiers needs numbers of parts; give -k")

    from jetpy.io.atomic import atomic_write
    from jetpy.study.page import study_page
    from jetpy.study.results import read_results

    if merge:
        from jetpy.study.merge import merge as join

        join(sources, output)
    else:
        from jetpy.study.changes import Changes
        from jetpy.study.mappers import machine_text

        asked: dict[str, Any] = {
            "ks": ks or (),
            "machines": tuple(machine_text(own, distances or "") for own in hierarchies or ()),
            "methods": methods,
            "changes": tuple(f"{Changes(own, batches)}" for own in modifiers or ()),
            "presets": presets,
            "programs": dict(programs),
            "threads": threads,
            "seeds": seeds,
            "repeats": repeats,
            "imbalances": imbalances,
            "time_limit": time_limit,
        }
        with progress_bars(quiet=quiet) as bars:
            failed = _run(sources, output, machine, class_file, backends, tools, asked, bars)
        for row in failed:
            run = f"{row['problem']} seed={row['seed']}, {row['application']}"
            notify("warning", f"{run}: {row['status']}")
    results = read_results(output)
    page = study_page(results, ctx.meta[COMMAND_LINE]).encode()
    with atomic_write(output / PAGE) as stream:
        stream.write(page)
    _conclude(results, output, json_file, quiet=quiet)


def _refuse_options_of_runs(ctx: click.Context) -> None:
    """Refuse options of runs with --merge, instead of ignoring them."""
    given = [option for name, option in options_given(ctx).items() if name not in WITH_MERGE]
    if given:
        raise click.UsageError(f"--merge runs nothing; leave out {', '.join(given)}")


def _run(
    files: Sequence[Path],
    output: Path,
    name: str | None,
    class_file: Path | None,
    backends: tuple[choices.Backend, ...] | None,
    tools: Sequence[str],
    asked: dict[str, Any],
    bars: Bars,
) -> list[dict[str, Any]]:
    """Make the missing runs, and return the rows of failed runs."""
    from jetpy.device.doctor import run_doctor
    from jetpy.engines.threads import available_threads
    from jetpy.problem.problem import checked_imbalance
    from jetpy.study.cases import Options
    from jetpy.study.classes import read_classes
    from jetpy.study.machine import machine_of
    from jetpy.study.programs import checksum_of_program
    from jetpy.study.runner import check_graphs, installed, make_runs, measure_rooflines, names_of
    from jetpy.study.study import Study

    for imbalance in asked["imbalances"]:
        checked_imbalance(imbalance, large=False)
    names_of(files)
    classes = read_classes(class_file) if class_file else {}
    present, missing = installed(tools)
    if missing:
        notify(
            "note",
            f"the study leaves out {', '.join(missing)}, which is not installed: pip install "
            f"'{DISTRIBUTION}[{EXTRA}]'",
        )
    most = max(asked["threads"] or (1,))
    if most > available_threads():
        notify(
            "warning",
            f"the study runs up to {most} threads, but this process may use "
            f"{available_threads()}; times with more threads than processors do not show what "
            f"{most} processors would reach",
        )
    checksums = {tool: checksum_of_program(path) for tool, path in asked["programs"].items()}
    here = replace(machine_of(run_doctor(bars.busy)), programs=checksums)
    working: Any = backends or here.works
    options = Options(
        **{**asked, "threads": asked["threads"] or (available_threads(),)},
        backends=tuple(working),
        tools=tuple(present),
        programs_on_gpu=bool(here.gpus),
    )
    study = Study.opened(output, name or here.id, here, classes)
    bars.busy("Reading graphs")
    check_graphs(study, files, options)
    bars.busy("Measuring bandwidth")
    measure_rooflines(study, options)
    return make_runs(study, files, options, lambda done, total: bars.stage("study", done, total))


def _conclude(results: Results, output: Path, json_file: Path | None, *, quiet: bool) -> None:
    """Print the summary of the study; raise BackendError if parts differ."""
    from jetpy.errors import BackendError

    if json_file is not None:
        write_json(json_file, {"page": str(output / PAGE), **results.as_dict()})
    if not quiet and json_file != STDOUT:
        click.echo(f"wrote {output / PAGE}: {results.summary}")
    if results.unequal:
        raise BackendError(
            f"parts differ on {'; '.join(results.unequal)}, which is a defect; run jetpy doctor"
        )
