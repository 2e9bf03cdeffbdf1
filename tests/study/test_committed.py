"""The studies in `bench` can be read and merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetpy.study.files import PERFORMANCE
from jetpy.study.merge import merge
from jetpy.study.results import read_results

PROGRAMS = ("jet ", "gpu-heipa ")
"""Tools that run on a GPU alone, so a study has no runs of theirs on its processors."""
FOLDER = Path(__file__).parents[2] / "bench" / "studies"
STUDIES = sorted(file.parent for file in FOLDER.rglob(PERFORMANCE.name))


@pytest.mark.parametrize("folder", STUDIES, ids=lambda path: path.name)
def test_studies_are_read_and_merged(folder: Path, tmp_path: Path) -> None:
    merge([folder], tmp_path / "study")
    found = read_results(tmp_path / "study")
    assert found.unequal == []
    left_out = [text for text in found.left_out if not text.startswith(PROGRAMS)]
    assert left_out == []
    assert list(map(str, found.kinds)) == ["0.03"]
