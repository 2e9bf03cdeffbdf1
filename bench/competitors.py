"""Partitioners that are compared, each with its presets and numbers of threads."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any

from bench.child import Absent, answers
from bench.tables import note
from bench.tools import TOOLS


@dataclass(frozen=True)
class Competitor:
    """A tool with a preset and a number of threads."""

    tool: str
    preset: str
    threads: int

    @property
    def label(self) -> str:
        """Name in tables and figures, such as jetpy/cpu/default/2."""
        return f"{self.tool}/{self.preset}/{self.threads}"


def competitors(options: argparse.Namespace) -> Iterator[Competitor]:
    """Tools with all presets and numbers of threads that are asked for and that they have."""
    for name in options.tools:
        tool = TOOLS[name]
        for preset in [tool.preset] if tool.preset else options.presets:
            for threads in options.threads if tool.threaded else [1]:
                yield Competitor(name, preset, threads)


def answers_of(
    competitor: Competitor,
    folder: str,
    ks: Sequence[int],
    seeds: Sequence[int],
    absent: set[str],
    *more: object,
) -> Iterator[Any]:
    """Run a competitor in a process of its own, on the graph in a folder, and yield its answers.

    `more` are further arguments of `bench.tools`. If the tool is found absent it is added; that,
    and failures, are told and end the answers.
    """
    try:
        yield from answers(
            "bench.tools",
            *(competitor.tool, folder, competitor.preset, competitor.threads),
            *("--ks", *ks, "--seeds", *seeds, *more),
            threads=competitor.threads,
        )
    except Absent as reason:
        note(f"  left out: {reason}")
        absent.add(competitor.tool)
    except CalledProcessError as error:
        note(f"  failed, status {error.returncode}")
