"""Which part is seen at each pixel, however many vertices there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from jetpy.graph.csr import IntArray
from jetpy.pages.view import Floats, View

Image = npt.NDArray[np.int32]
"""The part at each pixel, from the top; `NOTHING` where there is none."""
NOTHING = -1
SIDE = 800
"""Pixels of the longer side."""
_LEAST_SIDE = 60
_MARGIN = 8  # pixels
_FILLED = 2.0
"""Holes are filled that are nowhere farther from a vertex than so many times its reach."""
_AT_ONCE = 1 << 20  # pixels
_MOST_GAPS = 0.35
"""Of the pixels that show a part, what gaps may take."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Where vertices are in an image.

    Attributes
    ----------
    height, width : int
        Pixels.
    rows, columns : float64, shape (n,)
        Of the vertices, from the top and from the left.
    scale : float
        Pixels for a unit of coordinates.
    """

    height: int
    width: int
    rows: Floats
    columns: Floats
    scale: float


def frame_of(view: View) -> Frame:
    """Return an image's frame that holds all vertices of a view, one or more."""
    low, extent = view.places.min(axis=0), np.ptp(view.places, axis=0)
    scale = (SIDE - 2 * _MARGIN - 1) / (extent.max() or 1.0)
    sides = np.maximum(np.rint(extent * scale) + 2 * _MARGIN + 1, _LEAST_SIDE)
    columns, upwards = ((view.places - low - extent / 2) * scale + (sides - 1) / 2).T
    width, height = sides.astype(int).tolist()
    return Frame(height, width, height - 1 - upwards, columns, scale)


def rasterise(view: View, frame: Frame, parts: IntArray, k: int) -> Image:
    """Return the part that is seen at each pixel.

    A pixel without a vertex shows the nearest one that reaches it, or nearly so. One with several
    shows the part that most of them are in or, in space, that of the one in front.

    Parameters
    ----------
    view : View
    frame : Frame
        That of the view.
    parts : int32, shape (n,)
        In 0..k - 1.
    k : int

    Returns
    -------
    int32, shape (height, width)
    """
    rows, columns = (np.rint(at).astype(np.int64) for at in (frame.rows, frame.columns))
    reach, shape = np.clip(view.reach * frame.scale, 1.5, SIDE), (frame.height, frame.width)
    if view.depth is None:
        return _nearest(rows * frame.width + columns, reach, parts, k, shape)
    return _in_front(rows, columns, np.minimum(reach, SIDE / 8), view.depth, parts, shape)


def _nearest(
    pixels: npt.NDArray[np.int64],
    reach: Floats,
    parts: IntArray,
    k: int,
    shape: tuple[int, int],
) -> Image:
    seen = np.full(shape, NOTHING, np.int32)
    places, counts = np.unique(pixels * k + parts, return_counts=True)
    by_count = places[np.argsort(counts, kind="stable")]
    seen.flat[by_count // k] = by_count % k  # the last one counts
    reaches = np.zeros(shape)
    order = np.argsort(reach, kind="stable")
    reaches.flat[pixels[order]] = reach[order]
    distance, nearest = ndimage.distance_transform_edt(seen == NOTHING, return_indices=True)
    rows, columns = nearest
    stretch = distance / np.maximum(reaches[rows, columns], 1)
    holes, count = ndimage.label(stretch > 1)
    depth = np.concatenate([[0], ndimage.maximum(stretch, holes, np.arange(1, count + 1))])
    image: Image = np.where(depth[holes] <= _FILLED, seen[rows, columns], NOTHING)
    return image


def _in_front(
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    reach: Floats,
    depth: Floats,
    parts: IntArray,
    shape: tuple[int, int],
) -> Image:
    order = np.argsort(depth, kind="stable")
    rows, columns, reach, parts = rows[order], columns[order], reach[order], parts[order]
    front = np.full(shape, NOTHING, np.int64)  # by its place in the order
    sizes = np.ceil(np.log2(reach)).astype(int)
    for size in np.unique(sizes).tolist():
        own = np.flatnonzero(sizes == size)
        down, right = np.indices((2 ** (size + 1) + 1,) * 2).reshape(2, -1) - 2**size
        apart = np.hypot(down, right)
        step = -(-_AT_ONCE // len(apart))
        for start in range(0, len(own), step):
            some = own[start : start + step, None]
            y, x = rows[some] + down, columns[some] + right
            inside = (apart <= reach[some]) & (y >= 0) & (y < shape[0]) & (x >= 0) & (x < shape[1])
            here = y[inside], x[inside]
            nearest = np.broadcast_to(some, inside.shape)[inside]
            front[here] = np.maximum(front[here], nearest)  # of several the last one counts
    return np.where(front == NOTHING, NOTHING, parts[front])


def adjacent(image: Image, k: int) -> npt.NDArray[np.int64]:
    """Return pairs of parts that meet in an image, and along how many pixels, shape (pairs, 3)."""
    ends = [np.stack([image[:, 1:], image[:, :-1]]), np.stack([image[1:], image[:-1]])]
    low, high = np.sort(np.concatenate([end.reshape(2, -1) for end in ends], axis=1), axis=0)
    meet = (low != NOTHING) & (low != high)
    pairs, counts = np.unique(low[meet].astype(np.int64) * k + high[meet], return_counts=True)
    return np.stack([pairs // k, pairs % k, counts], axis=1)


def with_gaps(image: Image) -> Image:
    """Return an image with gaps between parts, unless these would leave too little of it."""
    gaps = _gaps(image)
    if gaps.sum() > _MOST_GAPS * (image != NOTHING).sum():
        return image
    return np.where(gaps, NOTHING, image)


def _gaps(image: Image) -> npt.NDArray[np.bool_]:
    """Return the pixels at which parts meet."""
    gaps = np.zeros(image.shape, bool)
    for one, other in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        meet = (image[one] != image[other]) & (image[one] != NOTHING) & (image[other] != NOTHING)
        gaps[one] |= meet
        gaps[other] |= meet
    return gaps


def roomiest(image: Image, k: int) -> tuple[Floats, Floats]:
    """Return where each part has most room for its name, and how much.

    Returns
    -------
    places : float64, shape (k, 2)
        Column and row.
    room : float64, shape (k,)
        Pixels to the nearest other part; 0 where a part is not seen.
    """
    inner = np.where(_gaps(image), NOTHING, image)
    distance = ndimage.distance_transform_edt(np.pad(inner != NOTHING, 1))[1:-1, 1:-1]
    numbers = np.arange(k)
    room = np.nan_to_num(ndimage.maximum(distance, inner, numbers))
    places = np.array(ndimage.maximum_position(distance, inner, numbers), float).reshape(k, 2)
    return places[:, ::-1], np.where(np.isin(numbers, inner), room, 0.0)
