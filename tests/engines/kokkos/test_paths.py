"""Where Kokkos's libraries are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetpy.engines.kokkos.paths import libraries_of


@pytest.mark.parametrize("folder", ["said", "lib", "lib64"])
def test_a_folder_without_kokkos_is_passed_over(folder: str, tmp_path: Path) -> None:
    for name in ("said", "lib", "lib64"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "libkahip.so").touch()
    (tmp_path / folder / "libkokkoscore.so.4.7").touch()
    assert libraries_of(tmp_path / "said", tmp_path) == tmp_path / folder


def test_where_there_is_none_pykokkos_has_the_word(tmp_path: Path) -> None:
    assert libraries_of(tmp_path / "said", tmp_path / "nowhere") == tmp_path / "said"
