"""Kokkos's files, in fake installations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jetpy.engines.kokkos.paths import (
    CONFIG,
    CORE_LIBRARY,
    check_not_hidden,
    find_file,
    needed_file,
)
from jetpy.errors import BackendError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the folder of a fake package kokkos, and that of this Python's environment."""
    packages, environment = tmp_path / "packages", tmp_path / "environment"
    (packages / "kokkos").mkdir(parents=True)
    (packages / "kokkos" / "__init__.py").touch()
    monkeypatch.syspath_prepend(packages)
    monkeypatch.delitem(sys.modules, "kokkos", raising=False)
    monkeypatch.delenv("PK_KOKKOS_LIB_PATH", raising=False)
    monkeypatch.setattr(sys, "prefix", str(environment))
    return packages, environment


def made(file: Path) -> Path:
    file.parent.mkdir(parents=True)
    file.touch()
    return file


@pytest.mark.parametrize("name", CORE_LIBRARY)
def test_folder_without_kokkos_is_skipped(folders: tuple[Path, Path], name: str) -> None:
    packages, environment = folders
    made(packages / "lib" / "libkahip.so")
    library = made(environment / name)
    assert find_file(CORE_LIBRARY) == library


def test_files_next_to_the_package_come_first(folders: tuple[Path, Path]) -> None:
    first, _ = (made(folder / CONFIG[0]) for folder in folders)
    assert needed_file(CONFIG) == first


def test_variable_sets_the_folder(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(folders[0] / CONFIG[0])
    monkeypatch.setenv("PK_KOKKOS_LIB_PATH", str(tmp_path / "other" / "lib64"))
    assert find_file(CONFIG) is None
    config = made(tmp_path / "other" / CONFIG[1])
    assert find_file(CONFIG) == config


def test_missing_file_is_named(folders: tuple[Path, Path]) -> None:
    with pytest.raises(BackendError, match=r"no file lib/libkokkoscore\.so below .* or .*doctor"):
        needed_file(CORE_LIBRARY)


def test_folder_that_hides_a_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cloned" / "cloned").mkdir(parents=True)
    (tmp_path / "cloned" / "cloned" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    words = f"the folder {tmp_path / 'cloned'} hides the package cloned; run jetpy in another"
    with pytest.raises(BackendError, match=words):
        check_not_hidden("cloned")
    monkeypatch.syspath_prepend(tmp_path / "cloned")
    check_not_hidden("cloned")
