from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jetpy.cli.main import main
from jetpy.graph.generators import grid
from jetpy.io import write_graph

Run = Callable[..., Result]

ENGINE = ("--backend", "cpu", "--threads", "1")


@pytest.fixture(autouse=True)
def _interruptible(interruptible: None) -> None:
    """Let the programs that tests start be interrupted, too."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with a mesh of 1200 vertices and a partition of it into 4 parts."""
    monkeypatch.chdir(tmp_path)
    write_graph("mesh.graph", grid(40, 30))
    Path("mesh.part").write_text("".join(f"{v // 300}\n" for v in range(1200)))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Run a command line in this process and check its exit code."""

    def run(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(
            main, [str(a) for a in arguments], prog_name="jetpy", catch_exceptions=False
        )
        assert result.exit_code == code, result.output
        return result

    return run
