"""The search path of Kokkos's libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetpy.engines.kokkos.paths import libraries_of


@pytest.mark.parametrize("folder", ["given", "lib", "lib64"])
def test_folder_without_kokkos_is_skipped(folder: str, tmp_path: Path) -> None:
    for name in ("given", "lib", "lib64"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "libkahip.so").touch()
    (tmp_path / folder / "libkokkoscore.so.4.7").touch()
    assert libraries_of(tmp_path / "given", tmp_path) == tmp_path / folder


def test_path_of_pykokkos_is_the_fallback(tmp_path: Path) -> None:
    assert libraries_of(tmp_path / "given", tmp_path / "nowhere") == tmp_path / "given"
