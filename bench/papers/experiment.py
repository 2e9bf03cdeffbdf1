"""An experiment of a paper, and its results, each with the paper's number."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.papers.setting import Setting

NUMBERS = Path(__file__).with_name("numbers")

PEER_MISSING = "peer missing"
NO_GRAPH = "no such graph"
NOT_MEASURED = "not measured here"
"""Stand for a value: the peer is not available; no selected graph has the class or name; the
machine, the back end or jetpy cannot give it."""

WITHOUT_PACKAGE = ("GKSG", "mt-metis", "SharedMap", "IntMap")
"""Partitioners of the papers on G-kway and mapping that cannot be had."""

Cell = tuple[str, str]
"""Row and column of a table."""
Values = Mapping[Cell, float | str]
"""A number for each cell, or the reason why there is none."""


class Result(NamedTuple):
    """A cell of a table: the paper's number ("" if it gives none), jetpy's, or the reason."""

    row: str
    column: str
    paper: str
    ours: float | str


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        Abbreviation of the paper, and of the table or figure: ``jet.table1``.
    needs : str
        Graphs, machine and peers; peers that cannot be had.
    minutes : float
        Approximate time of a run on the real graphs with 16 cores.
    measure : callable
        Measures all cells.
    """

    name: str
    needs: str
    minutes: float
    measure: Callable[[Setting], Values]

    @property
    def title(self) -> str:
        """What it shows: the first sentence about its measurement."""
        first, _, _ = (self.measure.__doc__ or "").partition("\n")
        return first.removeprefix("Return ").removesuffix(".")

    def run(self, setting: Setting) -> list[Result]:
        """Measure all cells, and return each with the paper's number.

        Cells have the order in which they are measured. They lack those of partitioners that cannot
        be had.

        Raises
        ------
        KeyError
            If the experiment does not give another one of the paper's cells.
        """
        values, paper = dict(self.measure(setting)), numbers(self.name)
        for cell in paper:
            if any(name in text for name in WITHOUT_PACKAGE for text in cell):
                values.setdefault(cell, PEER_MISSING)
        cells = [*values, *(cell for cell in paper if cell not in values)]
        return [Result(*cell, paper.get(cell, ""), values[cell]) for cell in cells]


def experiment(
    name: str, needs: str, minutes: float
) -> Callable[[Callable[[Setting], Values]], Experiment]:
    """Make an experiment of the function that measures it; the arguments are its attributes."""
    return lambda measure: Experiment(name, needs, minutes, measure)


def numbers(name: str) -> dict[Cell, str]:
    """Return the numbers that a paper gives for an experiment, by cell, in the paper's order."""
    path = NUMBERS / f"{name.partition('.')[0]}.csv"
    with open(path, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["experiment"] == name]
    return {(row["row"], row["column"]): row["value"] for row in rows}


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write a CSV file with a line for each cell."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(Result._fields)
        writer.writerows(result._replace(ours=text_of(result.ours)) for result in results)


def read_results(path: Path) -> list[Result]:
    """Read such a file; all numbers stay texts."""
    with open(path, newline="", encoding="utf-8") as stream:
        return [Result(**row) for row in csv.DictReader(stream)]


def number_of(text: str) -> float | None:
    """Return the number that a text is; None for other texts, such as ">0.8" and names."""
    try:
        return float(text)
    except ValueError:
        return None


def text_of(value: float | str) -> str:
    """Return a number with four significant digits, and no fewer than its integer part has."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def table(results: Iterable[Result]) -> tuple[list[str], list[list[str]]]:
    """Return the header and rows of a table; each cell is "ours (paper's)".

    Rows that are numbers come first, in ascending order. A table with more columns than rows is
    transposed, because it would be too wide.
    """
    cells = {(result.row, result.column): result for result in results}
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    rows.sort(key=lambda row: float(row) if row.isdecimal() else math.inf)

    def text(row: str, column: str) -> str:
        result = cells.get((row, column))
        if result is None:
            return ""
        ours = text_of(result.ours)
        return f"{ours} ({result.paper})" if result.paper else ours

    if len(columns) > len(rows):
        return ["", *rows], [[column, *(text(row, column) for row in rows)] for column in columns]
    return ["", *columns], [[row, *(text(row, column) for column in columns)] for row in rows]
