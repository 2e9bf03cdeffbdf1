"""The studies in `bench` can be read and merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetpy.study.merge import merge
from jetpy.study.results import read_results

STUDIES = Path(__file__).parents[2] / "bench" / "studies"


@pytest.mark.parametrize("folder", sorted(STUDIES.iterdir()), ids=lambda path: path.name)
def test_studies_are_read_and_merged(folder: Path, tmp_path: Path) -> None:
    merge([folder], tmp_path / "study")
    found = read_results(tmp_path / "study")
    assert found.unequal == []
    assert found.left_out == []
    assert list(map(str, found.kinds)) == ["0.03"]
