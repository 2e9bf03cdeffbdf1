"""Result files of the benchmarks: one JSON object per line, appended as soon as it is measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from bench.provenance import note_measurement

RESULTS = Path(__file__).parent / "results"

Record = dict[str, Any]
APPENDING = Lock()
"""Threads of this process append one after the other."""


def read_records(path: Path) -> list[Record]:
    """Return the records of a file, or none if the file does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def append_record(path: Path, record: Record) -> None:
    """Append a record to a file, and the commit, machine, date and command to `provenance.json`.

    Create the files and their folder if they do not exist.
    """
    with APPENDING:
        path.parent.mkdir(parents=True, exist_ok=True)
        note_measurement(path)
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")


def by_tool(records: Iterable[Record], *case: str) -> dict[str, dict[Any, Record]]:
    """Return the last record of each tool and case. A case is the tuple of the values of `case`."""
    found: dict[str, dict[Any, Record]] = {}
    for record in records:
        found.setdefault(record["tool"], {})[tuple(record[key] for key in case)] = record
    return found


def is_jetpy(tool: str) -> bool:
    """Return whether a tool is jetpy, with one of its back ends, presets or methods."""
    return tool.startswith("jetpy/")
