"""Tables that are not in memory, such as queries; jetpy never imports their packages."""

from __future__ import annotations

from typing import Any

_IN_MEMORY = {
    "polars.LazyFrame": "collect()",
    "narwhals.LazyFrame": "collect()",
    "duckdb.DuckDBPyRelation": "arrow()",
    "dask.DataFrame": "compute()",
    "ibis.Table": "to_pyarrow()",
}
"""Methods that read tables which are not in memory."""


def in_memory(table: Any) -> str:
    """Return the expression that reads a table which is not in memory; empty for others."""
    kind = type(table)
    method = _IN_MEMORY.get(f"{kind.__module__.strip('_').partition('.')[0]}.{kind.__name__}")
    return f"table.{method}" if method else ""
