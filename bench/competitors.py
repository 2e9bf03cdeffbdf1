"""Partitioners to compare, each with its presets and numbers of threads."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.child import answers, failures_noted
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


def add_competitor_options(
    parser: argparse.ArgumentParser,
    tools: Sequence[str],
    presets: Sequence[str],
    threads: Sequence[int],
) -> None:
    """Add the options that select competitors, with these defaults, and the option `--seeds`."""
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=tools)
    parser.add_argument("--presets", nargs="+", default=presets, help="jetpy's presets")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--threads",
        nargs="+",
        type=int,
        default=threads,
        help="numbers of threads of tools that support more than one",
    )


def competitors(options: argparse.Namespace) -> Iterator[Competitor]:
    """Yield each tool of the options with every preset and number of threads that it supports."""
    for name in options.tools:
        tool = TOOLS[name]
        for preset in [tool.preset] if tool.preset else options.presets:
            for threads in options.threads if tool.threaded else [1]:
                yield Competitor(name, preset, threads)


def answers_of(
    competitor: Competitor,
    case: str,
    folder: str,
    ks: Sequence[int],
    seeds: Sequence[int],
    unavailable: set[str],
    *more: object,
) -> Iterator[Any]:
    """Run a competitor in a new process on the graph in a folder, and yield its results.

    If the tool is unavailable or fails, print this and end. An unavailable tool is added to
    `unavailable`.

    Parameters
    ----------
    case
        Name of the graph and the condition, for messages.
    more
        Further arguments of `bench.tools`.
    """
    with failures_noted(competitor.label, case) as outcome:
        yield from answers(
            "bench.tools",
            *(competitor.tool, folder, competitor.preset, competitor.threads),
            *("--ks", *ks, "--seeds", *seeds, *more),
            threads=competitor.threads,
        )
    if outcome.unavailable:
        unavailable.add(competitor.tool)
