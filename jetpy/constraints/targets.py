"""Targets: what each part should weigh, by its share of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.balance.packing import pack
from jetpy.errors import MissingFileError, OptionError
from jetpy.graph import IntArray

Shares = npt.NDArray[np.int64]

MOST_SHARES = 2**30
"""Shares are whole numbers that add up to no more than this, so that products with weights fit."""


def checked_targets(targets: npt.ArrayLike | None, k: int) -> Shares | None:
    """Return targets as whole shares, int64, shape (k,); None where all are the same.

    Raises
    ------
    OptionError
        If there are not k of them, or one is not a positive number.
    """
    if targets is None:
        return None
    values = np.asarray(targets)
    if values.shape != (k,):
        raise OptionError(
            f"targets must be {k} numbers, one for each part, not of shape {values.shape}"
        )
    if values.dtype.kind not in "iuf":
        raise OptionError(f"targets must be numbers, not {values.dtype}")
    wrong = ~((values > 0) & np.isfinite(values))
    if wrong.any():
        p = int(wrong.argmax())
        raise OptionError(f"the target of part {p} is {values[p]:g}; a positive number is needed")
    if (values == values[0]).all():
        return None
    return _whole(values)


def _whole(values: npt.NDArray[Any]) -> Shares:
    if values.dtype.kind != "f" and values.astype(np.float64).sum() <= MOST_SHARES:
        shares = values.astype(np.int64)
        return np.asarray(shares // np.gcd.reduce(shares))
    large = values.astype(np.float64) / values.astype(np.float64).max()
    scale = (MOST_SHARES - len(values)) / large.sum()
    return np.asarray(np.maximum(np.floor(large * scale), 1).astype(np.int64))


def ideals(total: int, shares: Shares) -> npt.NDArray[np.int64]:
    """Return what each part should weigh, rounded up, int64, shape (k,)."""
    exact = -(-total * shares.astype(object) // int(shares.sum()))
    return np.asarray(exact, np.int64)


def one_each(
    weights: IntArray, shares: Shares, limits: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """Return a part (int32, shape (n,)) for each of no more vertices than parts.

    The heaviest vertex gets the part of the largest share; unless limits (int64, shape (k,)) are
    kept only where parts share vertices and others are empty.
    """
    parts = np.empty(len(weights), np.int32)
    heaviest_first = np.argsort(-weights.astype(np.int64), kind="stable")
    parts[heaviest_first] = np.argsort(-shares, kind="stable")[: len(weights)]
    packed = pack(weights, limits)
    loads = np.bincount(packed, weights, len(limits))
    if (weights > limits[parts]).any() and (loads <= limits).all():
        return packed
    return parts


def read_targets(text: str) -> npt.NDArray[np.float64]:
    """Return targets from text such as ``2:1:1:1``, or from the file that it names.

    A file has a number a line, or is a ``.npy`` array.

    Raises
    ------
    OptionError
        If the text is neither.
    MissingFileError
        If it has no colon and is not a number, and no file has that name.
    """
    path = Path(text)
    try:
        if not path.is_file():
            return np.array([float(number) for number in text.split(":")])
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), np.float64)
        return np.array([float(line) for line in path.read_text().split()])
    except (ValueError, OSError) as error:
        is_name = bool(text) and not path.is_file() and ":" not in text
        kind = MissingFileError if is_name else OptionError
        raise kind(
            f"targets {text!r} are neither numbers such as 2:1:1:1 nor a file of them: {error}"
        ) from None
