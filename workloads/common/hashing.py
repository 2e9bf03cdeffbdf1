"""The hash functions: every random choice and tie-break of the program is made by `mix`."""

import pykokkos as pk

ODD = 1597334677
"""Spreads neighbouring numbers: a product with it moves low bits up."""
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
    """Return the place of a key in a hash table of some size: quicker than `mix`, and worse."""
    h: pk.uint32 = key
    return place_of(h * ODD, size)


@pk.function
def place_of(h: pk.uint32, count: int) -> int:
    """Return the place of a hash among `count`: hash times count over 2^32."""
    place: pk.uint64 = h
    wide: pk.uint64 = count
    place = (place * wide) >> HASH_BITS
    return place


@pk.function
def part_hash(v: int, p: int, seed: int) -> pk.uint32:
    """Return the hash by which a vertex chooses among parts that are equally good."""
    return mix((v ^ seed) + (p << HASH_BITS // 2))
