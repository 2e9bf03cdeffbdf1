"""Names of functions and constants in compiled code."""

from __future__ import annotations

from types import ModuleType

from jetpy.kernel_language import Width


def unit_name(module: ModuleType, width: Width) -> str:
    """Return the name of a module's code."""
    return f"{module.__name__.rpartition('.')[2]}_{width.name.lower()}"


def range_symbol(unit: str, workunit: str) -> str:
    """Return the symbol of a workunit's range."""
    return f"{unit}_{workunit}"


def signatures_symbol(unit: str) -> str:
    """Return the symbol of a unit's signatures, which are JSON, terminated by a zero byte."""
    return f"{unit}.signatures"
