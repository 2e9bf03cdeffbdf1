"""``jetpy doctor``: the state of back ends on this machine, and remedies for problems."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetpy.cli.command import Command, example
from jetpy.cli.docs_path import guide
from jetpy.cli.options import json_option, quiet_option
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.errors import BackendError
from jetpy.progress import progress_bars

if TYPE_CHECKING:
    from jetpy.device.doctor import Cache, CacheFolder, DoctorReport
    from jetpy.device.selfcheck import Outcome
    from jetpy.engines.cuda.installation import Installation as Cuda
    from jetpy.engines.diagnosis import Installation


@click.command("doctor", cls=Command, by_several=True, epilog=example("jetpy doctor"))
@json_option
@quiet_option
def doctor_command(json_file: Path | None, quiet: bool) -> None:
    """Check which back ends work on this machine, and explain how to fix the others.

    Each back end runs kernels whose results are known. The first run also compiles them, which
    takes most of its time. The command also prints the machine and the versions of packages. It
    fails if no back end works, or if one computes a wrong result.
    """
    check_outputs([], json_file)

    from jetpy.device.doctor import run_doctor

    with progress_bars(quiet=quiet) as bars:
        report = run_doctor(bars.busy)
    if json_file is not None:
        write_json(json_file, report.as_dict())
    if not quiet and json_file != STDOUT:
        _print(report)
    if report.wrong:
        raise BackendError(
            f"the self-check of {' and '.join(report.wrong)} failed; do not use "
            f"{'it' if len(report.wrong) == 1 else 'them'}"
        )
    if report.none_works:
        raise BackendError("no back end works")


def _print(found: DoctorReport) -> None:
    from jetpy.cli.tables import columns, facts, stdout_console
    from jetpy.engines.diagnosis import problems

    console = stdout_console()
    rows = [(name, *_verdict(name, outcome)) for name, outcome in found.outcomes.items()]
    console.print(columns(("back end", "", "details"), rows, left=3))
    machine = [
        ("auto takes", found.auto or "nothing"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("processor", found.processor),
        ("threads available", f"{found.threads}"),
        ("GPU", "\n".join(found.gpus) or "no NVIDIA driver"),
        ("compiled kernels", _library(found.library)),
        *_cache(found.cache),
        ("CUDA", _cuda(found.cuda)),
        *_kokkos(found.kokkos),
    ]
    versions = [(name, number or "not installed") for name, number in found.packages.items()]
    console.print(facts([*machine, *versions]))
    for problem in found.problems:
        console.print(f"\nWRONG: {problem.what}\nFIX:   {problem.fix}")
    if found.kokkos is None or any(problems(found.kokkos)):
        click.echo(f"\nTo install the Kokkos back ends, see {guide('kokkos')}")


def _verdict(name: str, outcome: Outcome) -> tuple[str, str]:
    """Return whether a back end works, and its device or the reason why it does not."""
    from jetpy.device.backends import ON_GPU
    from jetpy.errors import count

    if outcome.missing:
        return "-", outcome.missing
    if outcome.wrong:
        return "WRONG", "\n".join(outcome.wrong)
    return "works", "on a GPU" if name in ON_GPU else count(outcome.threads, "thread")


def _cuda(found: Cuda) -> str:
    """Describe the CUDA installation."""
    from jetpy.engines.diagnosis import version_text

    versions = {"driver": found.driver, "CuPy's": found.cupy_cuda, "NVRTC": found.nvrtc}
    words = [f"{who} {version_text(v)}" if v else f"no {who}" for who, v in versions.items()]
    if found.architectures:
        words[-1] += f" (sm_{found.architectures[0]} to sm_{found.architectures[-1]})"
    return ", ".join(words)


def _kokkos(found: Installation | None) -> list[tuple[str, str]]:
    """Describe the Kokkos installation, if any."""
    from jetpy.engines.diagnosis import version_text

    if found is None:
        return [("Kokkos", "not installed for this Python")]
    words = "headers not found"
    if found.config is not None:
        config = found.config
        words = ", ".join(
            [
                version_text(config.version),
                f"C++{config.standard}",
                " ".join((*config.spaces, *config.architectures)),
                "views on mdspan" if config.views_are_mdspans else "views without mdspan",
                "shared libraries" if found.shared else "no shared libraries",
            ]
        )
    compilers = [
        f"{name} {version_text(number)}" if number else f"no {name}"
        for name, number in (("g++", found.gxx), ("nvcc", found.nvcc))
    ]
    return [("Kokkos", words), ("compilers", ", ".join(compilers))]


def _library(level: str | None) -> str:
    """Describe the precompiled CPU kernels of this installation."""
    if level is None:
        return "none in this installation; jetpy compiles each kernel when it is needed"
    return f"installed with jetpy, for {level}"


def _cache(found: Cache) -> list[tuple[str, str]]:
    """Describe the folders of compiled kernels, and whether they are usable."""
    from jetpy.engines.cache import MOVE

    first, last = found.folders[0], found.folders[-1]
    if found.refused:
        return [("cache folder", f"{first.path}: NOT USED, {found.refused}")]
    rows = [("cache folder", f"{first.path} ({_contents(first)})")]
    if first != last:
        rows[0] = ("cache folder", f"{first.path}, read-only ({_contents(first)})")
        rows.append(("for new kernels", f"{last.path} ({_contents(last)})"))
    if not found.writable:
        rows.append(("NOT WRITABLE", f"{last.path}; every run compiles new kernels; {MOVE}"))
    return rows


def _contents(folder: CacheFolder) -> str:
    from jetpy.errors import count

    words = f"{count(folder.files, 'file')} of kernels, {folder.bytes / 1e6:.1f} MB"
    if not folder.damaged:
        return words
    return f"{words}; {folder.damaged} DAMAGED; jetpy recompiles them when needed"
