"""Readers and writers of graphs, partitions and related files."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jetpy.io.graphs import FORMATS, read_graph, write_graph
    from jetpy.io.parts import read_parts, write_parts

__all__ = ["FORMATS", "read_graph", "read_parts", "write_graph", "write_parts"]

_HOMES = {
    "FORMATS": "graphs",
    "read_graph": "graphs",
    "read_parts": "parts",
    "write_graph": "graphs",
    "write_parts": "parts",
}
"""Module of each name, imported on first use because importing `graphs` is slow."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jetpy.io' has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"jetpy.io.{_HOMES[name]}"), name)
    return globals()[name]
