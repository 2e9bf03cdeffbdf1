"""Tutorials run as programs of their own, which assert what they claim.

All but `study`, which takes half a minute; building the site runs that one, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.markdown import packages

pytestmark = pytest.mark.usefixtures("compiled")
TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
WRITTEN = {
    "mesh": {"plate.vtu", "plate.png"},
    "network": {"network.png"},
    "ranks": {"ranks.txt", "hosts.txt", "ranks.png"},
    "circuit": {"circuit.npz", "circuit.png"},
}
"""Files by tutorial."""
LAUNCHER = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def run(name: str, folder: Path, *launcher: str) -> str:
    """Run a tutorial in a folder, if its packages are installed, and return what it prints."""
    file = TUTORIALS / f"{name}.py"
    for package in packages(file.read_text("utf-8")):
        pytest.importorskip(package)
    done = subprocess.run(
        [*launcher, sys.executable, str(file)],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", WRITTEN)
def test_tutorial(name: str, tmp_path: Path) -> None:
    run(name, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == WRITTEN[name]


@pytest.mark.skipif(LAUNCHER is None, reason="there is no mpiexec")
def test_several_processes(tmp_path: Path) -> None:
    assert LAUNCHER is not None
    told = run("gpus", tmp_path, LAUNCHER, "-n", "2")
    assert "process 1 of 2 now has" in told
    assert "one process finds the same parts" in told
