"""The hash functions. `mix` makes every random choice and tie-break of jetpy."""

import pykokkos as pk

ODD = 1597334677
"""Multiplying by it moves low bits up, which separates neighbouring integers."""
ODDER = 2146121005
HASH_BITS = 32


@pk.function
def stir(x: pk.uint32, factor: pk.uint32) -> pk.uint32:
    """Multiply 32 bits, and mix the upper half of the product into the lower."""
    h: pk.uint32 = x * factor
    return h ^ (h >> HASH_BITS // 2 - 1)


@pk.function
def mix(x: pk.uint32) -> pk.uint32:
    """Scramble 32 bits: a bijection in which every input bit reaches every output bit."""
    h: pk.uint32 = x
    h = h ^ (h >> HASH_BITS // 2)
    h = stir(h, ODDER)
    h = h * ODD
    h = h ^ (h >> HASH_BITS // 2)
    return h


@pk.function
def spread(key: int, size: int) -> int:
    """Return the index of a key in a hash table of `size` slots: faster than `mix`, less random."""
    h: pk.uint32 = key
    return index_of_hash(h * ODD, size)


@pk.function
def index_of_hash(h: pk.uint32, count: int) -> int:
    """Map a hash to an index below `count`: hash times count over 2^32."""
    index: pk.uint64 = h
    wide: pk.uint64 = count
    index = (index * wide) >> HASH_BITS
    return index


@pk.function
def part_hash(v: int, p: int, seed: int) -> pk.uint32:
    """Return the hash by which a vertex chooses among equally good parts."""
    return mix((v ^ seed) + (p << HASH_BITS // 2))
