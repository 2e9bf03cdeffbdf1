"""Several weights of vertices and parts, and the limits of each."""

from dataclasses import dataclass

import pykokkos as pk


@dataclass(frozen=True, eq=False)
class Loads:
    """Weights and limits; each vertex and each part has a row of `kinds` values."""

    weights: pk.View1D[pk.int32]  # of vertices
    limits: pk.View1D[pk.int64]  # of parts
    lower_limits: pk.View1D[pk.int64]  # of parts
    loads: pk.View1D[pk.int64]  # weights of parts
    factors: pk.View1D[pk.int64]  # scale of each weight in sums over weights
    kinds: int  # number of weights of a vertex


@pk.function
def fits(v: int, q: int, several: Loads) -> bool:
    """Whether part q has room for all weights of a vertex."""
    for j in range(several.kinds):
        load: pk.int64 = (
            several.loads[q * several.kinds + j] + several.weights[v * several.kinds + j]
        )
        if load > several.limits[q * several.kinds + j]:
            return False
    return True


@pk.function
def may_change(p: int, j: int, change: pk.int64, several: Loads) -> bool:
    """Whether part p may gain `change` of weight j, or lose it if negative.

    A part outside its limits may only come closer to them.
    """
    load: pk.int64 = several.loads[p * several.kinds + j] + change
    if change > 0:
        return load <= several.limits[p * several.kinds + j]
    return change == 0 or load >= several.lower_limits[p * several.kinds + j]


@pk.function
def excess_of(p: int, v: int, sign: int, several: Loads) -> pk.int64:
    """Return the scaled excess of part p with v (sign 1), without v (-1), or as it is (0)."""
    excess: pk.int64 = 0
    for j in range(several.kinds):
        load: pk.int64 = several.loads[p * several.kinds + j]
        load += sign * several.weights[v * several.kinds + j]
        above: pk.int64 = load - several.limits[p * several.kinds + j]
        below: pk.int64 = several.lower_limits[p * several.kinds + j] - load
        if above > 0:
            excess += above * several.factors[j]
        if below > 0:
            excess += below * several.factors[j]
    return excess


@pk.function
def total_excess(k: int, several: Loads) -> pk.int64:
    """Return the scaled excess of all parts."""
    excess: pk.int64 = 0
    for p in range(k):
        excess += excess_of(p, 0, 0, several)
    return excess


@pk.function
def growth_above(q: int, v: int, several: Loads) -> pk.int64:
    """Return what vertex v adds to the scaled excess of part q above its limits; 0 if it fits."""
    growth: pk.int64 = 0
    for j in range(several.kinds):
        weight: pk.int64 = several.weights[v * several.kinds + j]
        load: pk.int64 = several.loads[q * several.kinds + j]
        room: pk.int64 = several.limits[q * several.kinds + j] - load
        if room < 0:
            room = 0
        if weight > room:
            growth += (weight - room) * several.factors[j]
    return growth


@pk.function
def add_weights(v: int, sign: int, sums: pk.View1D[pk.int64], first: int, several: Loads):
    """Add the weights of vertex v, or subtract them (sign -1), to the row of sums from `first`."""
    for j in range(several.kinds):
        weight: pk.int64 = several.weights[v * several.kinds + j]
        pk.atomic_fetch_add(sums, [first + j], sign * weight)
