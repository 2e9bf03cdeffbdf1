"""One Jetlp iteration (Jet, Algorithm 4.2)."""

from __future__ import annotations

from jetpy.refinement.state import RefinementState
from jetpy.workloads import jetlp as kernels


def propagate_labels(state: RefinementState, ratio: int, seed: int, iteration: int) -> int:
    """Move the vertices that pass both filters; return how many did.

    `ratio` is the filter ratio c in percent. Vertices that moved in Jetlp iteration
    ``iteration - 1`` stay.
    """
    backend, graph = state.backend, state.graph
    backend.parallel_for(
        graph.n,
        kernels.propose,
        indptr=graph.indptr,
        parts=state.parts,
        best=state.best,
        gains=state.gains,
        own=state.own,
        locks=state.locks,
        priorities=state.priorities,
        k=state.k,
        seed=seed,
        ratio=ratio,
        iteration=iteration,
        **state.table,
    )
    proposed = backend.scan(
        graph.n,
        kernels.list_proposals,
        priorities=state.priorities,
        proposals=state.proposals,
    )
    backend.parallel_for(
        proposed,
        kernels.afterburn,
        proposals=state.proposals,
        parts=state.parts,
        best=state.best,
        priorities=state.priorities,
        accepted=state.accepted,
        **state.adjacency,
    )
    moved = backend.scan(
        proposed,
        kernels.list_moves,
        proposals=state.proposals,
        accepted=state.accepted,
        locks=state.locks,
        moves=state.moves,
        iteration=iteration,
    )
    state.move(moved, state.best)
    return moved
