"""Every engine computes the same from a workunit as C or plain Python."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.engines.base import Workunit
from jetpy.kernel_language import cuda_printer, llvm_printer, pykokkos_printer
from jetpy.kernel_language.reading import read_workunits

SIZES = (0, 1, 5, 2047, 2048, 2049, 100_000)


def numbers(n: int, low: int = -1000, high: int = 1000) -> np.ndarray:
    return np.random.default_rng(n).integers(low, high, n, dtype=np.int32)


def launch(engine: Any, verb: str, n: int, workunit: Workunit, /, **arguments: Any) -> Any:
    """Run a workunit on host arrays and groups of them, and copy the results back."""
    carried: list[tuple[np.ndarray, Any]] = []

    def carry(value: Any) -> Any:
        if isinstance(value, SimpleNamespace):
            return SimpleNamespace(**{name: carry(own) for name, own in vars(value).items()})
        if not isinstance(value, np.ndarray):
            return value
        carried.append((value, engine.from_host(value)))
        return carried[-1][1]

    passed = {name: carry(value) for name, value in arguments.items()}
    result = getattr(engine, verb)(n, workunit, **passed)
    for host, device in carried:
        host[:] = engine.to_host(device)
    return result


# The three verbs


@pytest.mark.parametrize("n", SIZES)
def test_parallel_for_equals_numpy(engine: Any, kernels: ModuleType, n: int) -> None:
    a, out = numbers(n), np.empty(n, np.int64)
    launch(engine, "parallel_for", n, kernels.double_plus, a=a, out=out, plus=7)
    assert (out == a.astype(np.int64) * 2 + 7).all()


@pytest.mark.parametrize("n", SIZES)
def test_every_index_is_visited_once(engine: Any, kernels: ModuleType, n: int) -> None:
    visits = np.full(n + 3, 0, np.int32)
    launch(engine, "parallel_for", n, kernels.visit, visits=visits)
    assert visits.tolist() == [1] * n + [0] * 3


@pytest.mark.parametrize("n", SIZES)
def test_reduce_equals_numpy(engine: Any, kernels: ModuleType, n: int) -> None:
    a = numbers(n, -(2**31), 2**31 - 1)
    assert launch(engine, "reduce", n, kernels.sum_odd, a=a) == int(
        a[a & 1 == 1].sum(dtype=np.int64)
    )


@pytest.mark.parametrize("n", SIZES)
def test_scan_equals_numpy(engine: Any, kernels: ModuleType, n: int) -> None:
    a = numbers(n, -(2**31), 2**31 - 1)
    sums = np.concatenate(([0], np.cumsum(a, dtype=np.int64)))
    out = np.empty(n, np.int64)
    assert launch(engine, "scan", n, kernels.prefix, a=a, out=out) == sums[-1]
    assert (out == sums[:-1]).all()


@pytest.mark.parametrize("n", SIZES)
def test_scan_compacts(engine: Any, kernels: ModuleType, n: int) -> None:
    a = numbers(n)
    odd = a[a & 1 == 1]
    out = np.full(n, -7, np.int32)
    assert launch(engine, "scan", n, kernels.keep_odd, a=a, out=out) == len(odd)
    assert out.tolist() == [*odd.tolist(), *[-7] * (n - len(odd))]


# Atomics


@pytest.mark.parametrize("n", SIZES)
def test_prefetching_changes_nothing(engine: Any, kernels: ModuleType, n: int) -> None:
    places, a = np.random.default_rng(n).permutation(n).astype(np.int32), np.arange(n) * 7
    out = np.empty(n, np.int64)
    launch(engine, "parallel_for", n, kernels.gather, places=places, a=a, n=n, out=out)
    assert (out == a[places]).all()


def test_only_cpus_prefetch(kernels: ModuleType) -> None:
    definition = read_workunits(kernels)["gather"]
    assert llvm_printer.print_function(definition).count("@llvm.prefetch") == 2
    for text in (
        cuda_printer.print_function(definition),
        pykokkos_printer.print_module(definition),
    ):
        assert "prefetch" not in text
        assert text.count("places_[") == 1  # nothing is read for a hint


def test_atomics_under_contention(engine: Any, kernels: ModuleType) -> None:
    n = 200_000
    a = numbers(n, -(10**6), 10**6)
    cells = np.array([5, 2**31 - 1, -(2**31), 0], np.int32)
    wide, tickets = np.array([2**40]), np.empty(n, np.int32)
    launch(engine, "parallel_for", n, kernels.contend, a=a, cells=cells, wide=wide, tickets=tickets)
    assert cells.tolist() == [n + 5, a.min(), a.max(), 2**16 - 1]
    assert wide[0] == 2**40 + a.sum()
    assert (np.sort(tickets) == np.arange(5, n + 5)).all()


def test_unsigned_atomics_under_contention(engine: Any, kernels: ModuleType) -> None:
    a = np.random.default_rng(1).integers(0, 2**32, 50_000, dtype=np.uint32)
    cells = np.array([0, 2**32 - 1, 0], np.uint32)
    launch(engine, "parallel_for", len(a), kernels.contend_unsigned, a=a, cells=cells)
    assert cells.tolist() == [int(a.sum(dtype=np.uint64)) % 2**32, a.min(), a.max()]


def test_compare_exchange_gives_every_slot_once(engine: Any, kernels: ModuleType) -> None:
    n, size = 5000, 700
    slots, claimed = np.full(size, -1, np.int32), np.empty(n, np.int32)
    launch(
        engine,
        "parallel_for",
        n,
        kernels.claim_slots,
        slots=slots,
        claimed=claimed,
        first=9,
        size=size,
    )
    winners = np.flatnonzero(claimed < size)
    assert sorted(claimed[winners]) == list(range(size))
    assert (slots[claimed[winners]] == winners + 9).all()


def test_compare_exchange_returns_the_old_value(engine: Any, kernels: ModuleType) -> None:
    n = 80_000
    slots, befores = np.full(n // 8, -1, np.int32), np.empty(n, np.int32)
    launch(engine, "parallel_for", n, kernels.claim_twice, slots=slots, befores=befores)
    eights = befores.reshape(-1, 8)
    assert ((eights == -1).sum(axis=1) == 1).all()
    assert (slots == np.flatnonzero(befores == -1)).all()
    assert ((eights == -1) | (eights == slots[:, None])).all()


# Arithmetic, against Python's integers wrapped by hand


def wrap(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def edged(bits: int, signed: bool) -> st.SearchStrategy[int]:
    """Draw integers of a type, often extreme ones."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    corners = [c for c in (low, low + 1, -2, -1, 0, 1, 2, 3, high - 1, high) if low <= c <= high]
    return st.sampled_from(corners) | st.integers(low, high)


def results(x: int, y: int, shift: int, bits: int, signed: bool) -> list[int]:
    divisible = y != 0 and not (signed and y == -1)
    quotient = truncated(x, y) if divisible else 0
    exact = [
        *(x + y, x - y, x * y, x & y, x | y, x ^ y, -x, ~x, x << shift, x >> shift),
        wrap(quotient, 32, True),  # PyKokkos converts the result of `//` to int
        x - truncated(x, y) * y if divisible else 0,
        *(x < y, x <= y, x == y, x != y),
    ]
    return [wrap(int(value), bits, signed) for value in exact]


@pytest.mark.parametrize(
    ("bits", "signed"), [(32, True), (64, True), (32, False), (64, False)], ids=str
)
@given(data=st.data())
@settings(max_examples=40)
def test_arithmetic_equals_c(
    engine: Any, kernels: ModuleType, bits: int, signed: bool, data: st.DataObject
) -> None:
    name = f"{'int' if signed else 'uint'}{bits}"
    element = edged(bits, signed)
    cases = data.draw(
        st.lists(st.tuples(element, element, st.integers(0, bits - 1)), min_size=1, max_size=20)
    )
    x, y, shift = zip(*cases, strict=True)
    out = np.empty(16 * len(cases), name)
    launch(
        engine,
        "parallel_for",
        len(cases),
        getattr(kernels, f"arithmetic_{name}"),
        a=np.array(x, name),
        b=np.array(y, name),
        shift=np.array(shift, np.int32),
        out=out,
    )
    for i, case in enumerate(cases):
        assert out[16 * i : 16 * i + 16].tolist() == results(*case, bits, signed), case


@given(st.tuples(edged(32, True), edged(32, False), edged(64, True), edged(64, False)))
@settings(max_examples=200)
def test_mixed_types_convert_as_in_c(
    engine: Any, kernels: ModuleType, values: tuple[int, int, int, int]
) -> None:
    s, u, w, v = values
    out = np.empty(10, np.int64)
    launch(
        engine,
        "parallel_for",
        1,
        kernels.mixed,
        s=np.array([s], np.int32),
        u=np.array([u], np.uint32),
        w=np.array([w], np.int64),
        v=np.array([v], np.uint64),
        out=out,
    )
    assert out.tolist() == [
        wrap(s, 32, False) < u,
        s < w,
        u < w,
        wrap(w, 64, False) < v,
        wrap(s + u, 32, False),
        wrap(u + w, 64, True),
        wrap(s * w, 64, True),
        wrap(w, 32, True),
        wrap(w, 32, False),
        wrap(s * 3, 32, True),
    ]


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 10**6)), min_size=1))
@settings(max_examples=30)
def test_floating_point_equals_python(
    engine: Any, kernels: ModuleType, pairs: list[tuple[int, int]]
) -> None:
    a, b = np.array(pairs, np.int32).T.copy()
    out = np.empty(len(a), np.int32)
    launch(engine, "parallel_for", len(a), kernels.floats, a=a, b=b, out=out)
    assert out.tolist() == [int(x * x / (y + 0.5) >= 2.0) for x, y in pairs]


@given(edged(64, True), edged(64, True))
@settings(max_examples=100)
def test_division_in_place_has_64_bits(engine: Any, kernels: ModuleType, x: int, y: int) -> None:
    """PyKokkos prints `/=` on an int64 unchanged, unlike `//`."""
    if y in (0, -1):
        return
    out = np.array([x, y])
    launch(engine, "parallel_for", 1, kernels.divide_in_place, out=out)
    assert out.tolist() == [truncated(x, y), y]


# Statements


def test_and_or_short_circuit(engine: Any, kernels: ModuleType) -> None:
    a = np.array([0, 3, 6, 9, 12], np.int32)
    out = np.empty(5000, np.int32)
    launch(engine, "parallel_for", 5000, kernels.short_circuit, a=a, n=5, out=out)

    def expected(i: int) -> int:
        inside = i < 5
        value = int(a[i]) if inside else 0
        bits = [inside and value > 0, not inside or value > 5, not (inside and value > 0)]
        bits.append((inside and 0 < value < 9) or i == 6)
        return sum(bit << place for place, bit in enumerate(bits))

    assert out.tolist() == [expected(i) for i in range(5000)]


def test_loops_and_jumps_equal_python(engine: Any, kernels: ModuleType) -> None:
    out = np.empty(60, np.int32)
    for n in (0, 1, 6, 10):
        launch(engine, "parallel_for", 60, kernels.loops, out=out, n=n)
        for i in range(60):
            pairs = sum(x * y <= i for y in range(1, n + 1) if y % 3 != 1 for x in range(y))
            tail = 200 + sum(range(5, min(n, 8)))
            assert out[i] == pairs + tail + (i != 3)


def test_device_functions_equal_python(engine: Any, kernels: ModuleType) -> None:
    def collatz(x: int) -> int:
        steps = 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        return steps

    out = np.empty(3000, np.int32)
    launch(engine, "parallel_for", 3000, kernels.call_functions, out=out)
    assert out.tolist() == [-2 if i == 9 else collatz(i + 1) for i in range(3000)]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
@settings(max_examples=20)
def test_sequences_of_signs_equal_python(
    engine: Any, kernels: ModuleType, values: list[int]
) -> None:
    out = np.empty(6 * len(values), np.int32)
    launch(
        engine, "parallel_for", len(values), kernels.signs, a=np.array(values, np.int32), out=out
    )
    expected = [[x + 3, -~x, 2 * x, ~-x, x - 1, -2 * (x - 3)] for x in values]
    assert out.reshape(-1, 6).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 9)), min_size=1, max_size=20))
@settings(max_examples=20)
def test_precedence_equals_python(
    engine: Any, kernels: ModuleType, pairs: list[tuple[int, int]]
) -> None:
    a, b = np.array(pairs, np.int32).T.copy()
    out = np.empty(6 * len(pairs), np.int32)
    launch(engine, "parallel_for", len(pairs), kernels.precedence, a=a, b=b, out=out)
    assert out.reshape(-1, 6).tolist() == [
        [
            (x | y) & 12,
            x | (y & 12),
            (x + y) << 2 & 255,
            (x ^ y) + 1,
            (x < y) == (y < 5),
            (x + y) * (x - y),
        ]
        for x, y in pairs
    ]


@pytest.mark.parametrize("inverted", [False, True])
def test_booleans_equal_python(engine: Any, kernels: ModuleType, inverted: bool) -> None:
    a, out = numbers(50, -9, 9), np.empty(50, np.int32)
    launch(engine, "parallel_for", 50, kernels.flags, a=a, inverted=inverted, out=out)
    found = [value in a[:i] for i, value in enumerate(a)]
    assert out.tolist() == [
        int(again) + (1 if (value % 2 == 1) != inverted and not again else 7)
        for value, again in zip(a, found, strict=True)
    ]


# Words and groups


def test_named_constants_equal_their_values(engine: Any, kernels: ModuleType) -> None:
    out = np.empty(15, np.int64)
    launch(engine, "parallel_for", 3, kernels.words, out=out)
    expected = [[3, 2**33, 7, i << 2, i * 0.25 >= 1.0] for i in range(3)]
    assert out.reshape(3, 5).tolist() == expected


def rows(starts: list[int], values: list[int]) -> SimpleNamespace:
    return SimpleNamespace(
        starts=np.array(starts, np.int32),
        values=np.array(values, np.int64),
        count=2,
        sums=np.zeros(len(starts) - 1, np.int64),
        unused="nothing that a kernel could take",
    )


def test_groups_are_passed_by_field(engine: Any, kernels: ModuleType) -> None:
    table, other = rows([0, 2, 3, 3], [1, 2**40, 5]), rows([0, 0, 1, 2], [7, 11])
    launch(engine, "parallel_for", 3, kernels.groups, table=table, other=other, factor=3)
    assert table.sums.tolist() == [2**40 + 1, (5 - 7) * 3, -11]
    assert launch(engine, "reduce", 3, kernels.add_rows, rows=table) == 2**40 + 6


def test_groups_in_groups(engine: Any, kernels: ModuleType) -> None:
    """Their fields count as the group's own; the first of a name counts."""
    both = SimpleNamespace(
        table=rows([0, 2, 3, 3], [1, 2**40, 5]),
        limits=SimpleNamespace(count=0, least=6),
        factor=3,
    )
    launch(engine, "parallel_for", 3, kernels.nested_groups, both=both)
    assert both.table.sums.tolist() == [3 * (2**40 + 1), 0, 0]


def test_ranges_equal_python(engine: Any, kernels: ModuleType) -> None:
    """The end and the step of a range are computed once."""
    starts, values = [0, 0, 1, 12], list(range(12))
    for step in (1, 2, 5):
        table = rows(starts, values)
        launch(engine, "parallel_for", 3, kernels.ranges, table=table, step=step, e_stop=3)
        assert table.sums.tolist() == [
            3
            + sum(e for e in range(a, b) if e % 3 != 1)
            + 1000 * sum(range(a, b, 2 * step))
            + 1000000 * sum(range(1, 9, step))
            for a, b in pairwise(starts)
        ]


def test_unused_fields_are_not_passed(kernels: ModuleType) -> None:
    definition = read_workunits(kernels)["groups"]
    assert list(definition.arguments) == [
        *("table_starts", "table_values", "table_count", "table_sums"),
        *("other_starts", "other_values", "factor"),
    ]


def test_names_may_be_reserved_in_engines(engine: Any, kernels: ModuleType) -> None:
    members, space = numbers(50), np.empty(50, np.int32)
    launch(engine, "parallel_for", 50, kernels.own_names, members=members, space=space, name=3)
    assert (members == space).all()
