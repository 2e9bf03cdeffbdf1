"""Shared libraries of other programs, called through ctypes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from ctypes import CDLL, RTLD_GLOBAL, c_void_p
from pathlib import Path
from typing import Any

import numpy.typing as npt

from bench.child import Unavailable


def load_libraries(folders: Iterable[str | Path], *names: str) -> CDLL:
    """Load libraries in this order, so that each may depend on earlier ones. Return the last.

    The system's folders are searched for libraries that are in none of the folders.

    Raises
    ------
    Unavailable
        If a library, or one that it depends on, is missing.
    """
    for name in names:
        found = [file for folder in folders for file in Path(folder).rglob(name)]
        nearest = min(found, key=lambda file: len(file.parts), default=name)
        try:
            library = CDLL(os.fspath(nearest), RTLD_GLOBAL)
        except OSError as error:
            raise Unavailable(str(error)) from error
    return library


def pointer(array: npt.NDArray[Any]) -> c_void_p:
    """Return a pointer to an array, which keeps the array alive."""
    return array.ctypes.data_as(c_void_p)
