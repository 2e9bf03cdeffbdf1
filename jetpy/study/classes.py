"""Classes of graphs, from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

from jetpy.errors import JetpyError

COLUMNS = ("name", "class")


def read_classes(path: Path) -> dict[str, str]:
    """Return the class of each graph in a CSV file with the columns `name` and `class`.

    Other columns are ignored.

    Raises
    ------
    JetpyError
        If the file has no such columns.
    """
    with open(path, newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if not set(COLUMNS) <= set(reader.fieldnames or ()):
            raise JetpyError(f"{path}: the columns {' and '.join(COLUMNS)} are missing")
        return {row["name"]: row["class"] for row in reader}
