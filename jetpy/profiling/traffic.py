"""Minimum memory traffic of launches, assuming that nothing is cached before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jetpy.kernel_language import Signature, View

ROWS = "indptr"
"""The argument, or field of a group, with the starts of the rows of a graph."""
PER_INDEX = "rows_per_index"
"""The argument with the number of rows on which each index works, if it works on several."""


def traffic(n: int, signature: Signature, arguments: Mapping[str, Any]) -> int:
    """Return the compulsory traffic of a launch by a simple model.

    Each array that the kernel uses moves once. If an array has more entries than the launch has
    indices, only a fraction counts: indices / entries, or indices / rows if the kernel works on a
    graph. The true traffic is larger if kernels read neighbours' entries repeatedly, and smaller if
    most indices have no work or the caches hold the arrays.

    Parameters
    ----------
    n : int
        Number of indices.
    signature : Signature
        Signature of the workunit.
    arguments : mapping of str to object
        Arguments of the launch.

    Returns
    -------
    int
        Bytes.
    """
    arrays = {
        name: value
        for (name, kind), value in zip(
            signature.arguments.items(), signature.bind(**arguments), strict=True
        )
        if isinstance(kind, View)
    }
    rows = (len(array) - 1 for name, array in arrays.items() if _ends_in_rows(name))
    return moved(n * arguments.get(PER_INDEX, 1), arrays.values(), next(rows, None))


def moved(n: int, arrays: Iterable[Any], rows: int | None = None) -> int:
    """Return the bytes of arrays that n indices account for, on a graph with `rows` rows.

    >>> import numpy as np
    >>> moved(25, [np.zeros(100, np.int64), np.zeros(10, np.int32)])
    240
    >>> moved(25, [np.zeros(400, np.int32)], rows=100)
    400
    """
    total = 0.0
    for array in arrays:
        size = len(array)
        whole = size if rows is None else min(size, rows)
        total += array.nbytes * min(1.0, n / max(whole, 1))
    return round(total)


def _ends_in_rows(name: str) -> bool:
    return name == ROWS or name.endswith(f"_{ROWS}")
