"""Self-check: the operations that every kernel relies on, on inputs with known results."""

from dataclasses import dataclass

import pykokkos as pk


@dataclass(frozen=True, eq=False)
class Tallies:
    """The results that `tally` computes."""

    doubled: pk.View1D[pk.int32]
    sums: pk.View1D[pk.int64]  # of each bucket, as are `least` and `most`
    least: pk.View1D[pk.int32]
    most: pk.View1D[pk.int32]


@pk.workunit
def tally(i: int, numbers: pk.View1D[pk.int32], tallies: Tallies, buckets: int):
    """Double each integer, and update the sum, minimum and maximum of its bucket."""
    bucket: int = i % buckets
    value: int = numbers[i]
    wide: pk.int64 = value
    tallies.doubled[i] = 2 * value
    pk.atomic_fetch_add(tallies.sums, [bucket], wide)
    pk.atomic_fetch_min(tallies.least, [bucket], value)
    pk.atomic_fetch_max(tallies.most, [bucket], value)


@pk.workunit
def add_up(i: int, acc: pk.Acc[pk.int64], numbers: pk.View1D[pk.int32]):
    """Sum the integers."""
    acc += numbers[i]


@pk.workunit
def offset(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    numbers: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int64],
):
    """Write the exclusive prefix sums."""
    if last_pass:
        starts[i] = acc
    acc += numbers[i]
