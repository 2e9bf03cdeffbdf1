"""Workunits for the tests of the kernel language, one per feature that an engine may get wrong."""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.prefetching import prefetch

# The three verbs


@pk.workunit
def double_plus(i: int, a: pk.View1D[pk.int32], out: pk.View1D[pk.int64], plus: int):
    wide: pk.int64 = a[i]
    out[i] = wide * 2 + plus


@pk.workunit
def visit(i: int, visits: pk.View1D[pk.int32]):
    visits[i] += 1


@pk.workunit
def sum_odd(i: int, acc: pk.Acc[pk.int64], a: pk.View1D[pk.int32]):
    if a[i] & 1 == 0:
        return
    acc += a[i]


@pk.workunit
def prefix(
    i: int, acc: pk.Acc[pk.int64], last_pass: bool, a: pk.View1D[pk.int32], out: pk.View1D[pk.int64]
):
    if last_pass:
        out[i] = acc
    acc += a[i]


@pk.workunit
def keep_odd(
    i: int, acc: pk.Acc[pk.int64], last_pass: bool, a: pk.View1D[pk.int32], out: pk.View1D[pk.int32]
):
    if a[i] & 1 == 1:
        if last_pass:
            out[acc] = a[i]
        acc += 1


@pk.workunit
def gather(
    i: int, places: pk.View1D[pk.int32], a: pk.View1D[pk.int64], n: int, out: pk.View1D[pk.int64]
):
    prefetch(places[i + 1])
    if i + 4 < n:
        prefetch(a[places[i + 4]])
    out[i] = a[places[i]]


# Atomics


@pk.workunit
def contend(
    i: int,
    a: pk.View1D[pk.int32],
    cells: pk.View1D[pk.int32],
    wide: pk.View1D[pk.int64],
    tickets: pk.View1D[pk.int32],
):
    tickets[i] = pk.atomic_fetch_add(cells, [0], 1)
    pk.atomic_fetch_add(wide, [0], a[i])
    pk.atomic_fetch_min(cells, [1], a[i])
    pk.atomic_fetch_max(cells, [2], a[i])
    pk.atomic_fetch_or(cells, [3], 1 << (a[i] & 15))


@pk.workunit
def contend_unsigned(i: int, a: pk.View1D[pk.uint32], cells: pk.View1D[pk.uint32]):
    pk.atomic_fetch_add(cells, [0], a[i])
    pk.atomic_fetch_min(cells, [1], a[i])
    pk.atomic_fetch_max(cells, [2], a[i])


@pk.function
def claim(slots: pk.View1D[pk.int32], value: int, size: int) -> int:
    s: int = 0
    while s < size:
        before: int = pk.atomic_compare_exchange(slots, [s], -1, value)
        if before == -1:
            return s
        s += 1
    return size


@pk.workunit
def claim_slots(
    i: int, slots: pk.View1D[pk.int32], claimed: pk.View1D[pk.int32], first: int, size: int
):
    claimed[i] = claim(slots, first + i, size)


@pk.function
def take(slots: pk.View1D[pk.int32], place: int, value: int) -> int:
    return pk.atomic_compare_exchange(slots, [place], -1, value)


@pk.workunit
def claim_twice(i: int, slots: pk.View1D[pk.int32], befores: pk.View1D[pk.int32]):
    befores[i] = take(slots, i >> 3, i)


# Arithmetic; `expanded` makes the same workunit of the other integers


@pk.workunit
def arithmetic_int32(
    i: int,
    a: pk.View1D[pk.int32],
    b: pk.View1D[pk.int32],
    shift: pk.View1D[pk.int32],
    out: pk.View1D[pk.int32],
):
    x: pk.int32 = a[i]
    y: pk.int32 = b[i]
    o: int = i * 16
    out[o] = x + y
    out[o + 1] = x - y
    out[o + 2] = x * y
    out[o + 3] = x & y
    out[o + 4] = x | y
    out[o + 5] = x ^ y
    out[o + 6] = -x
    out[o + 7] = ~x
    out[o + 8] = x << shift[i]
    out[o + 9] = x >> shift[i]
    out[o + 10] = 0
    out[o + 11] = 0
    if y != 0 and y != -1:
        out[o + 10] = x // y
        out[o + 11] = x % y
    out[o + 12] = x < y
    out[o + 13] = x <= y
    out[o + 14] = x == y
    out[o + 15] = x != y


@pk.workunit
def mixed(
    i: int,
    s: pk.View1D[pk.int32],
    u: pk.View1D[pk.uint32],
    w: pk.View1D[pk.int64],
    v: pk.View1D[pk.uint64],
    out: pk.View1D[pk.int64],
):
    """Write one entry for each rule of the usual arithmetic conversions."""
    o: int = i * 10
    out[o] = s[i] < u[i]
    out[o + 1] = s[i] < w[i]
    out[o + 2] = u[i] < w[i]
    out[o + 3] = w[i] < v[i]
    out[o + 4] = s[i] + u[i]
    out[o + 5] = u[i] + w[i]
    out[o + 6] = s[i] * w[i]
    narrow: pk.int32 = w[i]
    out[o + 7] = narrow
    short: pk.uint32 = w[i]
    out[o + 8] = short
    out[o + 9] = s[i] * 3


# Statements


@pk.workunit
def short_circuit(i: int, a: pk.View1D[pk.int32], n: int, out: pk.View1D[pk.int32]):
    """Evaluate conditions whose second operand would read out of bounds."""
    out[i] = 0
    if i < n and a[i] > 0:
        out[i] += 1
    if i >= n or a[i] > 5:
        out[i] += 2
    if not (i < n and a[i] > 0):
        out[i] += 4
    if (i < n and a[i] > 0 and a[i] < 9) or i == n + 1:
        out[i] += 8


@pk.workunit
def loops(i: int, out: pk.View1D[pk.int32], n: int):
    """Count pairs x < y <= n with y % 3 != 1 and x * y <= i, with every kind of jump."""
    total: int = 0
    y: int = 0
    while True:
        y += 1
        if y > n:
            break
        if y % 3 == 1:
            continue
        x: int = 0
        while x < y:
            if x * y > i:
                break
            total += 1
            x += 1
    for j in range(3):
        if j == 1:
            continue
        total += 100 * j
    for j in range(5, n):
        total += j
        if j == 7:
            break
    out[i] = total
    if i == 3:
        return
    out[i] = total + 1


@pk.function
def collatz(x: pk.int64) -> int:
    steps: int = 0
    while x != 1:
        steps += 1
        if steps > 1000:
            return -1
        if x % 2 == 0:
            x = x >> 1
            continue
        x = 3 * x + 1
    return steps


@pk.function
def is_small(x: int) -> bool:
    return x < 10


@pk.workunit
def call_functions(i: int, out: pk.View1D[pk.int32]):
    out[i] = collatz(i + 1)
    if is_small(i) and not is_small(i + 1):
        out[i] = -2


@pk.workunit
def floats(i: int, a: pk.View1D[pk.int32], b: pk.View1D[pk.int32], out: pk.View1D[pk.int32]):
    x: pk.double = a[i]
    y: pk.double = b[i]
    ratio: pk.double = (x * x) / (y + 0.5)
    out[i] = 0
    if ratio >= 2.0:
        out[i] = 1


@pk.workunit
def divide_in_place(i: int, out: pk.View1D[pk.int64]):
    x: pk.int64 = out[0]
    x //= out[1]
    out[0] = x


@pk.workunit
def signs(i: int, a: pk.View1D[pk.int32], out: pk.View1D[pk.int32]):
    """Combine minus signs with each other and with other operators."""
    o: int = i * 6
    out[o] = a[i] - -3
    out[o + 1] = -(~a[i])
    out[o + 2] = a[i] - (-a[i])
    out[o + 3] = ~-a[i]
    out[o + 4] = 2 - (3 - a[i])
    out[o + 5] = (a[i] - 3) * -2


@pk.workunit
def precedence(i: int, a: pk.View1D[pk.int32], b: pk.View1D[pk.int32], out: pk.View1D[pk.int32]):
    x: int = a[i]
    y: int = b[i]
    o: int = i * 6
    out[o] = (x | y) & 12
    out[o + 1] = x | (y & 12)
    out[o + 2] = (x + y) << 2 & 255
    out[o + 3] = (x ^ y) + 1
    out[o + 4] = (x < y) == (y < 5)
    out[o + 5] = (x + y) * (x - y)


# Words and groups


FEW, MANY = 3, 2**33
SHARE = 0.25


class Place(IntEnum):
    FIRST = 0
    LAST = 7


class Rows:
    starts: pk.View1D[pk.int32]
    values: pk.View1D[pk.int64]
    count: int


class Table(Rows):
    sums: pk.View1D[pk.int64]


class Limits:
    count: int
    least: int


class Both:
    table: Table
    limits: Limits
    factor: int


@pk.function
def sum_of_row(r: int, rows: Rows) -> pk.int64:
    total: pk.int64 = 0
    e: int = rows.starts[r]
    while e < rows.starts[r + 1]:
        total += rows.values[e]
        e += 1
    return total


@pk.function
def note(place: int, table: Table, other: Rows):
    table.sums[place] = sum_of_row(place, table) - sum_of_row(place, other)


@pk.workunit
def words(i: int, out: pk.View1D[pk.int64]):
    o: int = i * (FEW + 2)
    out[o] = FEW
    out[o + 1] = MANY
    out[o + 2] = Place.LAST - Place.FIRST
    out[o + 3] = i << FEW - 1
    half: pk.double = i * SHARE
    out[o + FEW + 1] = half >= 1.0


@pk.workunit
def groups(r: int, table: Table, other: Rows, factor: int):
    note(r, table, other)
    if r < table.count and r != Place.FIRST:
        table.sums[r] *= factor


@pk.workunit
def nested_groups(r: int, both: Both):
    if r < both.count and sum_of_row(r, both) >= both.least:
        both.sums[r] = sum_of_row(r, both) * both.factor


@pk.function
def entries(r: int, rows: Rows) -> range:
    return range(rows.starts[r], rows.starts[r + 1])


@pk.function
def every(r: int, step: int, rows: Rows) -> range:
    twice: int = 2 * step
    return range(rows.starts[r], rows.starts[r + 1], twice)


@pk.workunit
def ranges(r: int, table: Table, step: int, e_stop: int):
    total: pk.int64 = 0
    for e in entries(r, table):
        if e % 3 == 1:
            continue
        total += table.values[e]
    for e in every(r, step, table):
        total += 1000 * table.values[e]
    end: int = 9
    jump: int = step
    for j in range(1, end, jump):
        end = 0
        jump += 1
        total += 1000000 * j
    table.sums[r] = total + e_stop


@pk.workunit
def add_rows(r: int, acc: pk.Acc[pk.int64], rows: Rows):
    acc += sum_of_row(r, rows)


@pk.workunit
def flags(i: int, a: pk.View1D[pk.int32], inverted: bool, out: pk.View1D[pk.int32]):
    is_odd: bool = (a[i] & 1) == 1
    if inverted:
        is_odd = not is_odd
    found: bool = False
    for j in range(i):
        if a[j] == a[i]:
            found = True
    out[i] = 7
    if is_odd and not found:
        out[i] = is_odd
    out[i] += found


# Names that are reserved in C++ or in PyKokkos's dispatch


@pk.function
def member_of(new: int, policy: pk.View1D[pk.int32], union: int) -> int:
    int_: int = new + union
    return policy[int_]


@pk.workunit
def own_names(operator: int, members: pk.View1D[pk.int32], space: pk.View1D[pk.int32], name: int):
    auto: int = operator + name
    space[operator] = member_of(auto, members, -name)
