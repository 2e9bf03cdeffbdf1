"""What functions and constants are called in compiled code."""

from __future__ import annotations

from types import ModuleType

from jetpy.kernel_language import Width


def unit_name(module: ModuleType, width: Width) -> str:
    """Return what the code of a module is called."""
    return f"{module.__name__.rpartition('.')[2]}_{width.name.lower()}"


def range_symbol(unit: str, workunit: str) -> str:
    """Return what the range of a workunit is called."""
    return f"{unit}_{workunit}"


def signatures_symbol(unit: str) -> str:
    """Return what the signatures of a unit's workunits are called: JSON, ended by a zero."""
    return f"{unit}.signatures"
