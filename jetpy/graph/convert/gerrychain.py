"""Graphs of GerryChain, which wrap a graph of networkx or rustworkx."""

from __future__ import annotations

from typing import Any

from jetpy.graph.convert.networks import is_from


def unwrapped(data: Any) -> Any:
    """Return the graph of networkx or rustworkx in a graph of GerryChain; others unchanged.

    The graph of a `gerrychain.Partition` is frozen, so it is wrapped twice. Before GerryChain 1.0,
    a `Graph` is a graph of networkx itself.
    """
    if is_from("gerrychain.graph", "FrozenGraph", data):
        data = data.graph
    if is_from("gerrychain", "Graph", data) and hasattr(data, "is_nx_graph"):
        return data.get_nx_graph() if data.is_nx_graph() else data.get_rx_graph()
    return data
