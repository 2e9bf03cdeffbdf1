"""Tutorials run as programs, and their assertions hold.

This excludes `study`, which takes half a minute and runs when the site is built.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.children import MPIEXEC
from tests.markdown import packages

pytestmark = pytest.mark.slow
TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
WRITTEN = {
    "mesh": {"plate.vtu", "plate.png"},
    "network": {"network.png"},
    "pooling": {"pooling.png"},
    "multigrid": {"multigrid.png"},
    "ordering": {"ordering.png"},
    "solver": {"solver.png"},
    "roads": {"roads.png"},
    "tensors": set(),
    "ranks": {"ranks.txt", "hosts.txt", "ranks.png"},
    "circuit": {"circuit.npz", "circuit.png"},
}
"""Written files by tutorial."""


def program(name: str) -> str:
    """Return the file of a tutorial, if its packages are installed."""
    file = TUTORIALS / f"{name}.py"
    for package in packages(file.read_text("utf-8")):
        pytest.importorskip(package)
    return str(file)


@pytest.mark.parametrize("name", WRITTEN)
def test_tutorial_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    runpy.run_path(program(name), run_name="__main__")
    assert {path.name for path in tmp_path.iterdir()} == WRITTEN[name]


@pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
def test_tutorial_with_several_processes_runs(tmp_path: Path) -> None:
    assert MPIEXEC is not None
    done = subprocess.run(
        [MPIEXEC, "-n", "2", sys.executable, program("gpus")],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, shown = (TUTORIALS / "gpus.py").read_text("utf-8").partition(".. code-block:: none\n")
    lines = re.findall(r"^#    (.*)$", shown, re.MULTILINE)
    assert "one process finds the same parts" in lines
    printed = done.stdout.replace("cuda:", "cpu:")  # lines of two processes may be joined
    assert [line for line in lines if line not in printed] == []
