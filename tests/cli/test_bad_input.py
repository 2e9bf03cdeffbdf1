"""Wrong command lines: the message, the exit code, and no new file."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jetpy.engines.cpu.engine import CpuBackend
from tests.cli.conftest import ENGINE, Run
from tests.cli.test_map import as_npy
from tests.mapping.oracle import dense


def as_npz(value: Any) -> bytes:
    file = BytesIO()
    np.savez(file, value)
    return file.getvalue()


DISTANCES = dense([2, 4], [1, 10])
GOOD = as_npy(DISTANCES)
FILES = {
    "rubbish.graph": os.urandom(4000),
    "rubbish.npz": os.urandom(4000),
    "rubbish.mtx": os.urandom(4000),
    "rubbish.graph.xz": os.urandom(4000),
    "text.graph": b"hello\n",
    "short.graph": b"3 2\n2\n",
    "loop.graph": b"1 1\n1 1\n",
    "mesh.vtk": b"# vtk DataFile Version 3.0\n",
    "mesh.foo": b"2 1\n2\n1\n",
    "short.part": b"0\n1\n",
    "words.part": b"zero\n" * 1200,
    "negative.part": b"-1\n" * 1200,
    "ring.txt": b"0 1 2 1\n1 0 1 2\n2 1 0 1\n1 2 1 0\n",
    "rubbish.txt": b"\xff" + os.urandom(300),
    "rubbish.npy": b"\xff" + os.urandom(300),
    "empty.txt": b"",
    "empty.npy": b"",
    "short.npy": GOOD[:-8],
    "header.npy": GOOD[:40],
    "torn.npy": GOOD.replace(b"False, 's", b"FalseO").replace(b"   \n", b"  '   \n"),
    "zip.npy": as_npz(DISTANCES),
    "torn_zip.npy": b"PK\x03\x04" + os.urandom(300),
    "objects.npy": as_npy(np.array([[0, None], [None, 0]])),
    "floats.npy": as_npy(DISTANCES / 2),
    "row.npy": as_npy(DISTANCES[0]),
    "ragged.txt": b"0 1\n1\n",
    "floats.txt": b"0 1.5\n1.5 0\n",
    "words.txt": b"near far\nfar near\n",
    "huge.txt": b"0 99999999999999999999\n99999999999999999999 0\n",
    "wide.txt": b"0 1 2\n1 0 2\n",
    "uneven.txt": b"0 1\n2 0\n",
    "negative.txt": b"0 -1\n-1 0\n",
    "self.txt": b"3 1\n1 0\n",
    "short.txt": b"0\n1\n",
    "many.txt": b"7\n" * 1200,
    "minus.txt": b"-2\n" * 1200,
    "zero.txt": b"0\n" * 1200,
    "few.xy": b"0 1\n2 3\n",
    "one.xy": b"1\n" * 1200,
    "words.xy": b"here there\n" * 1200,
    "two.txt": b"1 2\n" * 1200,
    "nan.npy": as_npy(np.full((1200, 2), np.nan)),
}


def files_in(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files but the description of a study's machine."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "machine.json")
    return {path: path.read_bytes() for path in files}


def cases() -> list[tuple[int, str, str]]:
    """Return exit code, arguments and words of each line of the table."""
    lines = Path(__file__).with_name("refused.txt").read_text("utf-8").splitlines()
    rows = (line.split(" | ") for line in lines if line and not line.startswith("#"))
    return [(int(code), command, words) for code, command, words in rows]


@pytest.mark.parametrize(("code", "command", "words"), cases())
def test_bad_command_line_is_refused(
    run: Run, folder: Path, code: int, command: str, words: str
) -> None:
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    before = files_in(folder)
    arguments = command.split()
    if arguments[:1] in (["partition"], ["map"]) and "--backend" not in arguments:
        arguments += ["--backend", "cpu"]
    result = run(*arguments, code=code)
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    if not result.stderr.startswith("Usage: "):  # without a command, click prints the help
        assert result.stderr.startswith("jetpy: error: ")
        assert result.stderr.count("\n") == 1
    assert files_in(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root has all permissions")
def test_missing_permission_is_an_error(run: Run, folder: Path) -> None:
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    words = run("generate", "grid", 3, 3, "-o", locked / "x.graph", code=1).stderr
    assert "cannot be written: Permission denied" in words
    Path("mesh.part").chmod(0)
    words = run("evaluate", "mesh.graph", "mesh.part", code=2).stderr
    assert "'mesh.part' is not readable" in words


def test_out_of_memory_is_an_error_without_traceback(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU without free memory raises its own MemoryError when an array is allocated."""

    class OutOfMemoryError(MemoryError):
        pass

    def fail(self: CpuBackend, n: int, dtype: object = None) -> None:
        raise OutOfMemoryError(f"Out of memory allocating {4 * n} bytes")

    monkeypatch.setattr(CpuBackend, "empty", fail)
    before = sorted(folder.iterdir())
    words = run("partition", "mesh.graph", "-k", 2, "-o", "out.part", *ENGINE, code=1).stderr
    assert words.startswith("jetpy: error: not enough memory: Out of memory allocating")
    assert "Traceback" not in words
    assert sorted(folder.iterdir()) == before
