"""Commit, machine, date and command of each result file.

They are in the file `provenance.json` of the same folder, a list of measurements by file name.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jetpy.device.doctor import gpu_descriptions, processor_name
from jetpy.engines.threads import available_threads

FILE = "provenance.json"
ROOT = Path(__file__).parents[1]
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Measurement:
    """The circumstances of a measurement.

    Attributes
    ----------
    commit : str
        Commit of jetpy; with `-changed` if files of jetpy had uncommitted changes.
    machine : str
        Processor and number of threads that jetpy may use, and the GPUs.
    date : str
        Day in ISO format, UTC.
    command : str
        Program with its options. Names of files and folders are replaced by `PATH`.
    """

    commit: str
    machine: str
    date: str
    command: str


def measurements_of(path: Path) -> list[Measurement]:
    """Return the measurements of a result file, in the order in which they began."""
    return [Measurement(**fields) for fields in _all_fields(path.parent).get(path.name, [])]


@cache
def note_measurement(path: Path) -> None:
    """Append the measurement that this process makes to those of a result file, once."""
    fields = _all_fields(path.parent)
    own = fields.setdefault(path.name, [])
    if (this := asdict(_this_measurement())) not in own:
        own.append(this)
        (path.parent / FILE).write_text(f"{json.dumps(fields, indent=2)}\n", encoding="utf-8")


def _all_fields(folder: Path) -> dict[str, list[dict[str, str]]]:
    path = folder / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


@cache
def _this_measurement() -> Measurement:
    gpus = [text.split(",")[0] for text in gpu_descriptions()]
    return Measurement(
        commit(),
        ", ".join([f"{plain(processor_name())}, {available_threads()} threads", *gpus]),
        datetime.now(UTC).date().isoformat(),
        command_text(sys.argv),
    )


def plain(name: str) -> str:
    """Return the name of a processor without trade marks.

    >>> plain("Intel(R) Xeon(R) Processor")
    'Intel Xeon'
    """
    return re.sub(r"\((R|TM)\)| (CPU|Processor)", "", name)


def commit() -> str:
    """Return the commit of jetpy, marked if its files have uncommitted changes."""
    try:
        found = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "jetpy")
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return f"{found}-changed" if changed else found


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def command_text(arguments: Sequence[str]) -> str:
    """Return a command of a benchmark as text, given `sys.argv`.

    >>> command_text(["/home/jetpy/bench/cores.py", "--graphs", "/tmp", "--ks", "8"])
    'python -m bench.cores --graphs PATH --ks 8'
    """
    path, *rest = Path(arguments[0]), *arguments[1:]
    program = path.parent.name if path.stem == "__main__" else path.stem
    texts = ["PATH" if Path(t).is_absolute() or Path(t).exists() else t for t in rest]
    return " ".join([f"python -m bench.{program}", *texts])


def caption(paths: Iterable[Path], root: Path) -> str:
    """Return a sentence with the folders of files below `root`: their machines, days, commits."""
    paths = list(paths)
    folders = (f"`{path.parent.relative_to(root).as_posix()}`" for path in paths)
    by_machine: dict[str, list[Measurement]] = {}
    for path in paths:
        for measurement in measurements_of(path):
            by_machine.setdefault(measurement.machine, []).append(measurement)
    circumstances = (
        f"{machine} ({_distinct(m.date for m in own)}; {_distinct(m.commit for m in own)})"
        for machine, own in by_machine.items()
    )
    return f"Data: {_distinct(folders)}. Measured on {'; '.join(circumstances)}."


def _distinct(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))
