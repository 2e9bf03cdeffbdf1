"""Optional packages, imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jetpy.errors import JetpyError


def optional_package(name: str, purpose: str, requirement: str = "") -> Any:
    """Import an optional package and return its module.

    Parameters
    ----------
    name : str
        Module to import.
    purpose : str
        Plural noun for the features that need the package; the error message begins with it.
    requirement : str, optional
        Argument of ``pip install``; by default the name.

    Raises
    ------
    JetpyError
        If the package cannot be imported.

    Examples
    --------
    >>> optional_package("math", "circles").pi > 3
    True
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise JetpyError(f"{purpose} need {name}: pip install {requirement or name}") from error
