"""Tables that compare the papers' numbers with jetpy's."""

from __future__ import annotations

import csv
from pathlib import Path

from bench.pages.table import Cells
from bench.papers.experiment import Result


def of_experiment(path: Path) -> Cells:
    """Return a row for each number of the paper that jetpy has measured, in the paper's order."""
    with open(path, newline="", encoding="utf-8") as stream:
        results = [Result(**row) for row in csv.DictReader(stream)]
    rows = [
        [each.row, each.column, each.paper, str(each.ours)]
        for each in results
        if each.paper and _is_number(str(each.ours))
    ]
    return Cells(["row", "column", "paper", "jetpy"], rows)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
