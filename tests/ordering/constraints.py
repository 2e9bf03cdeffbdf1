"""Random constraints of orderings, and what an order must have to keep them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

LAST = ("none", "free", "kept")
TOGETHER = ("none", "pairs", "any")


def any_constraints(rng: np.random.Generator, n: int, last: str, together: str) -> dict[str, Any]:
    """Return options of a kind of `LAST` and of `TOGETHER` for n rows."""
    groups = np.full(n, -1)
    if together == "pairs":
        groups = rng.permutation(n) // 2
    if together == "any":
        groups = rng.integers(-1, n // 5 + 1, n)
    given: dict[str, Any] = {} if together == "none" else {"together": groups}
    if last == "none":
        return given
    own = np.where(groups < 0, n + np.arange(n), groups)
    chosen = rng.permutation(np.unique(own))[: int(rng.integers(0, n // 3 + 1))]
    rows = [rng.permutation(np.flatnonzero(own == group)) for group in chosen]
    given["last"] = np.concatenate([*rows, np.empty(0, np.int64)]).astype(np.int64)
    return {**given, "keep_last_order": last == "kept"}


def breaches(perm: np.ndarray, given: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an order under some constraints."""
    last = given.get("last", [])
    tail = perm[len(perm) - len(last) :]
    if not np.array_equal(np.sort(tail), np.sort(last)):
        yield "rows of last come earlier"
    if given.get("keep_last_order") and not np.array_equal(tail, last):
        yield "last has another order"
    groups = given.get("together", np.full(len(perm), -1))[perm]
    for group in np.unique(groups[groups >= 0]):
        if np.ptp(np.flatnonzero(groups == group)) >= (groups == group).sum():
            yield f"group {group} is not together"
