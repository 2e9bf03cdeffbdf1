"""The study that is kept in `bench` can be read, and says what `docs/performance.md` has of it."""

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


def test_efficiencies_that_documentation_tells() -> None:
    found = read_results(STUDIES / "2026-11")
    told = {
        by: {
            name: [round(value, 2) for value in (*own.values(), efficiencies.metric[name] or 0)]
            for name, own in efficiencies.by_platform.items()
        }
        for by, efficiencies in (("time", found.by_time), ("cut", found.by_cut))
    }
    numba, kokkos = "jetpy/default", "jetpy/default kokkos"
    assert told["time"][numba] == [0.44, 0.55, 0.48, 0.48, 0.94, 0.54]
    assert told["time"][kokkos] == [0.38, 0.37, 0.38, 0.25, 0.93, 0.38]
    assert told["cut"][numba] == told["cut"][kokkos] == [0.99] * 6
    assert "each found 12 times" in found.verdict
    assert found.by_time.metric["metis"] == 0.0
