"""Self-check: what every kernel relies on, with results that are known."""

from dataclasses import dataclass

import pykokkos as pk


@dataclass(frozen=True, eq=False)
class Tallies:
    """What is made of numbers."""

    doubled: pk.View1D[pk.int32]
    sums: pk.View1D[pk.int64]  # of each bucket
    least: pk.View1D[pk.int32]
    most: pk.View1D[pk.int32]


@pk.workunit
def tally(i: int, numbers: pk.View1D[pk.int32], tallies: Tallies, buckets: int):
    """Double each number; add it, and take the least and the greatest, in one of few buckets."""
    bucket: int = i % buckets
    number: int = numbers[i]
    wide: pk.int64 = number
    tallies.doubled[i] = 2 * number
    pk.atomic_fetch_add(tallies.sums, [bucket], wide)
    pk.atomic_fetch_min(tallies.least, [bucket], number)
    pk.atomic_fetch_max(tallies.most, [bucket], number)


@pk.workunit
def add_up(i: int, acc: pk.Acc[pk.int64], numbers: pk.View1D[pk.int32]):
    """Add up numbers."""
    acc += numbers[i]


@pk.workunit
def offset(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    numbers: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int64],
):
    """Add up the numbers before each."""
    if last_pass:
        starts[i] = acc
    acc += numbers[i]
