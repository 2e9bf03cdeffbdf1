"""Transfer of a partition between a graph and its contraction."""

from __future__ import annotations

from jetpy.engines.base import Array, Backend
from jetpy.workloads.multilevel import projection as kernels


def project_parts(backend: Backend, coarse_of: Array, coarse_parts: Array) -> Array:
    """Return the fine parts (int32, shape (n,)): each vertex gets its coarse vertex's part."""
    parts = backend.empty(len(coarse_of))
    backend.parallel_for(
        len(coarse_of),
        kernels.project,
        coarse_of=coarse_of,
        coarse_parts=coarse_parts,
        parts=parts,
    )
    return parts


def inject_parts(backend: Backend, coarse_n: int, coarse_of: Array, parts: Array) -> Array:
    """Return the coarse parts (int32, shape (coarse_n,)); contracted vertices share a part."""
    coarse_parts = backend.empty(coarse_n)
    backend.parallel_for(
        len(coarse_of),
        kernels.inject,
        coarse_of=coarse_of,
        parts=parts,
        coarse_parts=coarse_parts,
    )
    return coarse_parts


def label(backend: Backend, pinned: Array, blocks: Array | None) -> Array:
    """Return labels (int32, shape (n,)): the blocks, and separate labels for pinned vertices.

    `pinned` (int32, shape (n,)) are the parts of pinned vertices, -1 for free vertices. `blocks` is
    None for a single block.
    """
    labels = backend.full(len(pinned), 0)
    if blocks is not None:
        labels[:] = blocks
    backend.parallel_for(len(pinned), kernels.label_pinned, pinned=pinned, labels=labels)
    return labels
