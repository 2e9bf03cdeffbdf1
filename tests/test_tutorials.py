"""The tutorials run, as far as their packages are installed."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.markdown import packages

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"


@pytest.mark.parametrize("name", sorted(path.name for path in TUTORIALS.glob("*.py")))
def test_tutorial(
    name: str, compiled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in packages((TUTORIALS / name).read_text("utf-8")):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(TUTORIALS / name), run_name="__main__")
