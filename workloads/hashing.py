"""The hash functions: every random choice and tie-break of the program is made by `mix`."""

import pykokkos as pk


@pk.function
def mix(x: pk.uint32) -> pk.uint32:
    """Scramble 32 bits: a bijection in which every input bit reaches every output bit."""
    h: pk.uint32 = x
    h = h ^ (h >> 16)
    h = h * 2146121005
    h = h ^ (h >> 15)
    h = h * 1597334677
    h = h ^ (h >> 16)
    return h


@pk.function
def place_of(h: pk.uint32, count: int) -> int:
    """Return the place of a hash among `count`: hash times count over 2^32."""
    place: pk.uint64 = h
    wide: pk.uint64 = count
    place = (place * wide) >> 32
    return place
