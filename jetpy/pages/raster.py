"""Rasterisation of partitions: the visible part at each pixel, for any number of vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from jetpy.graph.csr import IntArray
from jetpy.pages.view import Floats, View

Image = npt.NDArray[np.int32]
"""Part at each pixel, top row first; `NOTHING` for the background."""
NOTHING = -1
SIDE = 800
"""Length of the longer side in pixels."""
_LEAST_SIDE = 60
_MARGIN = 8  # pixels
_FILLED = 2.0
"""Holes are filled if every pixel is within this multiple of the nearest vertex's reach."""
_AT_ONCE = 1 << 20  # pixels
_MOST_GAPS = 0.35
"""Maximum fraction of the pixels of parts that gaps may take."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Positions of vertices in an image.

    Attributes
    ----------
    height, width : int
        Pixels.
    rows, columns : float64, shape (n,)
        Pixel coordinates of the vertices, from the top and from the left.
    scale : float
        Pixels per unit of the coordinates.
    """

    height: int
    width: int
    rows: Floats
    columns: Floats
    scale: float


def frame_of(view: View) -> Frame:
    """Return the frame of an image with all vertices of a view; there must be at least one."""
    low, extent = view.places.min(axis=0), np.ptp(view.places, axis=0)
    scale = (SIDE - 2 * _MARGIN - 1) / (extent.max() or 1.0)
    sides = np.maximum(np.rint(extent * scale) + 2 * _MARGIN + 1, _LEAST_SIDE)
    columns, upwards = ((view.places - low - extent / 2) * scale + (sides - 1) / 2).T
    width, height = sides.astype(int).tolist()
    return Frame(height, width, height - 1 - upwards, columns, scale)


def rasterise(view: View, frame: Frame, parts: IntArray, k: int) -> Image:
    """Return the visible part at each pixel.

    A pixel without a vertex shows the nearest vertex if this reaches it, or nearly so. A pixel with
    several vertices shows the most frequent part or, in 3D, the part of the frontmost vertex.

    Parameters
    ----------
    view : View
    frame : Frame
        Frame of the view.
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
    seen.flat[by_count // k] = by_count % k  # the last assignment wins
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
    front = np.full(shape, NOTHING, np.int64)  # index in the order
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
            front[here] = np.maximum(front[here], nearest)  # the last assignment wins
    return np.where(front == NOTHING, NOTHING, parts[front])


def adjacent(image: Image, k: int) -> npt.NDArray[np.int64]:
    """Return pairs of parts adjacent in an image, and their border in pixels, shape (pairs, 3)."""
    ends = [np.stack([image[:, 1:], image[:, :-1]]), np.stack([image[1:], image[:-1]])]
    low, high = np.sort(np.concatenate([end.reshape(2, -1) for end in ends], axis=1), axis=0)
    meet = (low != NOTHING) & (low != high)
    pairs, counts = np.unique(low[meet].astype(np.int64) * k + high[meet], return_counts=True)
    return np.stack([pairs // k, pairs % k, counts], axis=1)


def with_gaps(image: Image) -> Image:
    """Return an image with gaps between parts, unless too little would be left of it."""
    gaps = _gaps(image)
    if gaps.sum() > _MOST_GAPS * (image != NOTHING).sum():
        return image
    return np.where(gaps, NOTHING, image)


def _gaps(image: Image) -> npt.NDArray[np.bool_]:
    """Return a mask of the pixels at borders between parts."""
    gaps = np.zeros(image.shape, bool)
    for one, other in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        meet = (image[one] != image[other]) & (image[one] != NOTHING) & (image[other] != NOTHING)
        gaps[one] |= meet
        gaps[other] |= meet
    return gaps


def roomiest(image: Image, k: int) -> tuple[Floats, Floats]:
    """Return the point with most room for a label in each part, and the room.

    Returns
    -------
    places : float64, shape (k, 2)
        Column and row.
    room : float64, shape (k,)
        Pixels to the nearest other part; 0 if the part is not visible.
    """
    inner = np.where(_gaps(image), NOTHING, image)
    distance = ndimage.distance_transform_edt(np.pad(inner != NOTHING, 1))[1:-1, 1:-1]
    numbers = np.arange(k)
    room = np.nan_to_num(ndimage.maximum(distance, inner, numbers))
    places = np.array(ndimage.maximum_position(distance, inner, numbers), float).reshape(k, 2)
    return places[:, ::-1], np.where(np.isin(numbers, inner), room, 0.0)
