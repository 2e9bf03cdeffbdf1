"""The embedded engine against NumPy and plain Python: verbs, atomics, C's arithmetic, errors."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.backends import get_backend, pykokkos_standin, workers
from jetpy.backends.base import Backend
from jetpy.backends.numba_engine import engine as engine_module
from jetpy.backends.numba_engine.engine import NumbaBackend
from jetpy.backends.workers import compile_in_parallel, watch_compilations
from jetpy.cache import read_entry, write_entry
from jetpy.errors import BackendError
from tests.backends.modules import load_workunits

SIZES = (0, 1, 5, 2047, 2048, 2049, 100_000)
TEXT = (Path(__file__).parent / "engine_workunits.py").read_text()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The workunits of `engine_workunits.py`; the name stays the same, and so does the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield _imported(patch)


def _imported(patch: pytest.MonkeyPatch) -> ModuleType:
    with pytest.MonkeyPatch.context() as inner:
        inner.setitem(sys.modules, "pykokkos", pykokkos_standin)
        module = importlib.import_module("engine_workunits")
    patch.setitem(sys.modules, "engine_workunits", module)
    return module


@pytest.fixture(params=[1, 2, 3], ids="{}-threads".format)
def engine(request: pytest.FixtureRequest) -> Backend:
    return get_backend("numba", request.param)


def numbers(n: int, low: int = -1000, high: int = 1000) -> np.ndarray:
    return np.random.default_rng(n).integers(low, high, n, dtype=np.int32)


# The three verbs


@pytest.mark.parametrize("n", SIZES)
def test_parallel_for(engine: Backend, kernels: ModuleType, n: int) -> None:
    a, out = numbers(n), engine.empty(n, np.int64)
    engine.parallel_for(n, kernels.double_plus, a=a, out=out, plus=7)
    assert (out == a.astype(np.int64) * 2 + 7).all()


@pytest.mark.parametrize("n", SIZES)
def test_every_index_is_visited_once(engine: Backend, kernels: ModuleType, n: int) -> None:
    visits = engine.full(n + 3, 0)
    engine.parallel_for(n, kernels.visit, visits=visits)
    assert visits.tolist() == [1] * n + [0] * 3


@pytest.mark.parametrize("n", SIZES)
def test_reduce(engine: Backend, kernels: ModuleType, n: int) -> None:
    a = numbers(n, -(2**31), 2**31 - 1)
    assert engine.reduce(n, kernels.sum_odd, a=a) == int(a[a & 1 == 1].sum(dtype=np.int64))


@pytest.mark.parametrize("n", SIZES)
def test_scan(engine: Backend, kernels: ModuleType, n: int) -> None:
    a = numbers(n, -(2**31), 2**31 - 1)
    sums = np.concatenate(([0], np.cumsum(a, dtype=np.int64)))
    out = engine.empty(n, np.int64)
    assert engine.scan(n, kernels.prefix, a=a, out=out) == sums[-1]
    assert (out == sums[:-1]).all()


@pytest.mark.parametrize("n", SIZES)
def test_compaction_by_scan(engine: Backend, kernels: ModuleType, n: int) -> None:
    a = numbers(n)
    odd = a[a & 1 == 1]
    out = engine.full(n, -7)
    assert engine.scan(n, kernels.keep_odd, a=a, out=out) == len(odd)
    assert out.tolist() == [*odd.tolist(), *[-7] * (n - len(odd))]


def test_more_threads_than_indices_each(kernels: ModuleType) -> None:
    """Some threads get an empty range, and the last range ends early."""
    engine = get_backend("numba", 64)
    for n in (2049, 2111, 4097):
        a, out = numbers(n), engine.empty(n, np.int64)
        assert engine.scan(n, kernels.prefix, a=a, out=out) == a.sum()
        assert (out == np.cumsum(a) - a).all()
        assert engine.reduce(n, kernels.sum_odd, a=a) == a[a & 1 == 1].sum()


def test_launches_are_counted(engine: Backend, kernels: ModuleType) -> None:
    before = engine.launches
    engine.parallel_for(3, kernels.visit, visits=engine.full(3, 0))
    engine.reduce(3, kernels.sum_odd, a=engine.full(3, 1))
    engine.parallel_for(0, kernels.visit, visits=engine.full(0, 0))
    assert engine.launches == before + 3


def test_arrays_of_the_back_end(engine: Backend) -> None:
    assert engine.empty(3).dtype == np.int32
    assert engine.full(3, -1, np.int64).tolist() == [-1, -1, -1]
    assert engine.sorted(np.array([3, 1, 2])).tolist() == [1, 2, 3]
    frozen = np.arange(3, dtype=np.int32)
    frozen.flags.writeable = False
    assert engine.to_host(engine.from_host(frozen)).tolist() == [0, 1, 2]
    strided = np.arange(10, dtype=np.int32)[::2]
    assert engine.from_host(strided).flags.c_contiguous


# Atomics


def test_atomics_under_contention(engine: Backend, kernels: ModuleType) -> None:
    n = 200_000
    a = numbers(n, -(10**6), 10**6)
    cells = np.array([5, 2**31 - 1, -(2**31), 0], np.int32)
    wide, tickets = np.array([2**40]), engine.empty(n)
    engine.parallel_for(n, kernels.contend, a=a, cells=cells, wide=wide, tickets=tickets)
    assert cells.tolist() == [n + 5, a.min(), a.max(), 2**16 - 1]
    assert wide[0] == 2**40 + a.sum()
    assert (np.sort(tickets) == np.arange(5, n + 5)).all()


def test_unsigned_atomics(engine: Backend, kernels: ModuleType) -> None:
    a = np.random.default_rng(1).integers(0, 2**32, 50_000, dtype=np.uint32)
    cells = np.array([0, 2**32 - 1, 0], np.uint32)
    engine.parallel_for(len(a), kernels.contend_unsigned, a=a, cells=cells)
    assert cells.tolist() == [int(a.sum(dtype=np.uint64)) % 2**32, a.min(), a.max()]


def test_compare_exchange_gives_every_slot_once(engine: Backend, kernels: ModuleType) -> None:
    n, size = 5000, 700
    slots, claimed = engine.full(size, -1), engine.empty(n)
    engine.parallel_for(n, kernels.claim_slots, slots=slots, claimed=claimed, first=9, size=size)
    winners = np.flatnonzero(claimed < size)
    assert sorted(claimed[winners]) == list(range(size))
    assert (slots[claimed[winners]] == winners + 9).all()


def test_compare_exchange_returns_what_was_there(engine: Backend, kernels: ModuleType) -> None:
    n = 80_000
    slots, befores = engine.full(n // 8, -1), engine.empty(n)
    engine.parallel_for(n, kernels.claim_twice, slots=slots, befores=befores)
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
    """Integers of a type, with its corners often."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    corners = [c for c in (low, low + 1, -2, -1, 0, 1, 2, 3, high - 1, high) if low <= c <= high]
    return st.sampled_from(corners) | st.integers(low, high)


def results(x: int, y: int, shift: int, bits: int, signed: bool) -> list[int]:
    divisible = y != 0 and not (signed and y == -1)
    quotient = truncated(x, y) if divisible else 0
    exact = [
        *(x + y, x - y, x * y, x & y, x | y, x ^ y, -x, ~x, x << shift, x >> shift),
        wrap(quotient, 32, True),  # PyKokkos makes an int of `//`
        x - truncated(x, y) * y if divisible else 0,
        *(x < y, x <= y, x == y, x != y),
    ]
    return [wrap(int(value), bits, signed) for value in exact]


@pytest.mark.parametrize(
    ("bits", "signed"), [(32, True), (64, True), (32, False), (64, False)], ids=str
)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_arithmetic_is_that_of_c(
    kernels: ModuleType, bits: int, signed: bool, data: st.DataObject
) -> None:
    name = f"{'int' if signed else 'uint'}{bits}"
    element = edged(bits, signed)
    cases = data.draw(
        st.lists(st.tuples(element, element, st.integers(0, bits - 1)), min_size=1, max_size=20)
    )
    x, y, shift = zip(*cases, strict=True)
    out = np.empty(16 * len(cases), name)
    get_backend("numba", 1).parallel_for(
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
@settings(max_examples=200, deadline=None)
def test_mixed_types_convert_as_in_c(
    kernels: ModuleType, values: tuple[int, int, int, int]
) -> None:
    s, u, w, v = values
    out = np.empty(10, np.int64)
    get_backend("numba", 1).parallel_for(
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
@settings(max_examples=30, deadline=None)
def test_floating_point(kernels: ModuleType, pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, np.int32).T.copy()
    out = np.empty(len(a), np.int32)
    get_backend("numba", 1).parallel_for(len(a), kernels.floats, a=a, b=b, out=out)
    assert out.tolist() == [int(x * x / (y + 0.5) >= 2.0) for x, y in pairs]


@given(edged(64, True), edged(64, True))
@settings(max_examples=100, deadline=None)
def test_division_in_place_is_wide(kernels: ModuleType, x: int, y: int) -> None:
    """C++'s `/=` on an int64, which PyKokkos leaves alone, unlike its `//`."""
    if y in (0, -1):
        return
    out = np.array([x, y])
    get_backend("numba", 1).parallel_for(1, kernels.divide_in_place, out=out)
    assert out.tolist() == [truncated(x, y), y]


# Statements


def test_and_or_stop_early(engine: Backend, kernels: ModuleType) -> None:
    a = np.array([0, 3, 6, 9, 12], np.int32)
    out = engine.empty(5000)
    engine.parallel_for(5000, kernels.short_circuit, a=a, n=5, out=out)

    def expected(i: int) -> int:
        inside = i < 5
        value = int(a[i]) if inside else 0
        bits = [inside and value > 0, not inside or value > 5, not (inside and value > 0)]
        bits.append((inside and 0 < value < 9) or i == 6)
        return sum(bit << place for place, bit in enumerate(bits))

    assert out.tolist() == [expected(i) for i in range(5000)]


def test_loops_and_jumps(engine: Backend, kernels: ModuleType) -> None:
    out = engine.empty(60)
    for n in (0, 1, 6, 10):
        engine.parallel_for(60, kernels.loops, out=out, n=n)
        for i in range(60):
            pairs = sum(x * y <= i for y in range(1, n + 1) if y % 3 != 1 for x in range(y))
            tail = 200 + sum(range(5, min(n, 8)))
            assert out[i] == pairs + tail + (i != 3)


def test_device_functions(engine: Backend, kernels: ModuleType) -> None:
    def collatz(x: int) -> int:
        steps = 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        return steps

    out = engine.empty(3000)
    engine.parallel_for(3000, kernels.call_functions, out=out)
    assert out.tolist() == [-2 if i == 9 else collatz(i + 1) for i in range(3000)]


# Errors


BROKEN = {
    "b: int = 1\n    del b": (3, "statement outside the language"),
    "with a: pass": (2, "statement outside the language"),
    "a[i] = [1, 2]": (2, "expression outside the language"),
    "a[i] = 1 if i else 2": (2, "expression outside the language"),
    "a[i] = (0 < i < 3)": (2, "expression outside the language"),
    "x = 1\n    a[i] = x": (2, "undeclared local"),
    "a[i] = nobody": (2, "unknown or untyped name"),
    "a[i] = a": (2, "unknown or untyped name"),
    "a[i] = k[i]": (2, "no view"),
    "a[i] = nobody[i]": (2, "no view"),
    "a[i] = print(i)": (2, "no @pk.function"),
    "a[i] = other(i)": (2, "no @pk.function"),
    "w2(i, a)": (2, "no @pk.function"),
    "pk.atomic_fetch_add(k, [0], 1)": (2, "atomics take a view"),
    "pk.atomic_fetch_add(a, 0, 1)": (2, "atomics take a view"),
    "return 1": (2, "returns no value"),
    "i.x = 1": (2, "assignment to this target"),
}
AROUND = """

def other(x):
    return x


@pk.workunit
def w2(i: int, a: pk.View1D[pk.int32]):
    a[i] = 0
"""


@pytest.mark.parametrize("lines", BROKEN, ids=lambda lines: lines.replace("\n   ", ";"))
def test_what_the_language_lacks_is_refused(
    lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offset, words = BROKEN[lines]
    text = f"@pk.workunit\ndef w(i: int, a: pk.View1D[pk.int32], k: int):\n    {lines}\n{AROUND}"
    module = load_workunits(text, tmp_path, monkeypatch)
    engine = NumbaBackend(1)
    with pytest.raises(BackendError, match=words) as caught:
        engine.parallel_for(1, module.w, a=engine.full(3, 0), k=1)
    assert f"workunit w, line {offset + 2}:" in str(caught.value)  # the import is line 1


@pytest.mark.parametrize("annotation", ["", ": str", ": pk.View2D[pk.int32]"])
def test_unknown_types_of_parameters_are_refused(
    annotation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"@pk.workunit\ndef w(i: int, x{annotation}):\n    pass\n"
    module = load_workunits(text, tmp_path, monkeypatch)
    with pytest.raises(BackendError, match="unknown type"):
        NumbaBackend(1).parallel_for(1, module.w, x=1)


def test_unknown_types_of_locals_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "@pk.workunit\ndef w(i: int):\n    x: str = 1\n"
    module = load_workunits(text, tmp_path, monkeypatch)
    with pytest.raises(BackendError, match=r"line 4.*unknown type 'str'"):
        NumbaBackend(1).parallel_for(1, module.w)


# Cache


PUT = "@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int32]):\n    out[i] = {}\n"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_edited_workunits_are_compiled_anew(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = np.zeros(3, np.int32)
    engine = NumbaBackend(1)
    for value in (1, 2, 1):
        module = load_workunits(PUT.format(value), tmp_path, monkeypatch)
        engine.parallel_for(3, module.put, out=out)
        assert out.tolist() == [value] * 3


def test_cache_is_used_by_name_and_text(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_workunits(PUT.format(5), tmp_path, monkeypatch)
    monkeypatch.setattr(engine_module, "_module", lambda name: module)
    assert not engine_module._is_cached(module.__name__, "put")
    engine_module.compile_one(module.__name__, "put")
    assert engine_module._is_cached(module.__name__, "put")
    out = np.zeros(2, np.int32)
    NumbaBackend(1).parallel_for(2, module.put, out=out)
    assert out.tolist() == [5, 5]


DAMAGE = {
    "emptied": b"",
    "garbage": b"\x80\x05garbage",
    "text": b"nothing of the kind\n",
}


@pytest.mark.parametrize("damage", [*DAMAGE, "of another type"])
def test_what_cannot_be_loaded_is_compiled_again(
    damage: str, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_workunits(PUT.format(3), tmp_path, monkeypatch)
    out = np.zeros(2, np.int32)
    NumbaBackend(1).parallel_for(2, module.put, out=out)
    [path] = empty_cache.rglob("*.kernel")
    kept = path.read_bytes()
    if damage in DAMAGE:
        path.write_bytes(DAMAGE[damage])
    else:
        write_entry(path.relative_to(empty_cache), pickle.dumps(["no", "kernel"]))
    engine_module._launchers.cache_clear()  # as in a new process
    out[:] = 0
    NumbaBackend(1).parallel_for(2, module.put, out=out)
    assert out.tolist() == [3, 3]
    assert len(path.read_bytes()) > len(kept) / 2
    assert read_entry(path.relative_to(empty_cache)) is not None


def test_a_read_only_cache_is_used_as_it_is(
    empty_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also where nothing new can be kept: that is compiled in memory, and said."""
    module = load_workunits(PUT.format(4), tmp_path, monkeypatch)
    out = np.zeros(2, np.int32)
    NumbaBackend(1).parallel_for(2, module.put, out=out)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    monkeypatch.setattr("jetpy.cache.is_writable", lambda folder: False)
    engine_module._launchers.cache_clear()  # as in a new process
    NumbaBackend(1).parallel_for(2, module.put, out=out)
    function, _ = engine_module._launchers(module)["put"]
    assert (out.tolist(), dict(function.stats.cache_misses)) == ([4, 4], {})
    other = load_workunits(PUT.format(5), tmp_path, monkeypatch)
    NumbaBackend(1).parallel_for(2, other.put, out=out)
    assert out.tolist() == [5, 5]
    assert "compiled kernels cannot be kept for later runs: " in caplog.text
    assert len(list(empty_cache.rglob("*.kernel"))) == 1


COMPILER = """
import sys
import jetpy.workloads
from jetpy.backends import pykokkos_standin
from jetpy.backends.numba_engine.engine import _launchers
sys.modules["pykokkos"] = pykokkos_standin
import kernels_of_test

def compile_all(*entries):
    for (workunit,) in entries:
        function, signature = _launchers(kernels_of_test)[workunit]
        function.compile(signature)
"""


def test_failed_compilation_is_reported_in_the_compilers_words(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `NumbaBackend.compile` does it: in processes, before anything is launched."""
    (tmp_path / "compiler_of_test.py").write_text(COMPILER)
    (tmp_path / "kernels_of_test.py").write_text(
        "import pykokkos as pk\n\n"
        "@pk.workunit\ndef fine(i: int, out: pk.View1D[pk.int32]):\n    out[i] = i\n\n"
        "@pk.workunit\ndef broken(i: int, out: pk.View1D[pk.int32]):\n"
        "    x: pk.double = 1.0\n    out[i] = 1 << x\n"
        "@pk.workunit\ndef unknown(i: int, out: pk.View1D[pk.int32]):\n    out[i] = 1\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def compiled(*groups: list[str], jobs: int = 1) -> list[tuple[str, ...]]:
        where = "compiler_of_test:compile_all"
        given = [[(name,) for name in group] for group in groups]
        done = compile_in_parallel(where, given, jobs, environment)
        return [entry for group in done for entry in group]

    with pytest.raises(BackendError, match=r"compiling workunit broken failed") as caught:
        compiled(["fine"], ["broken"])
    assert "lshift" in str(caught.value)
    monkeypatch.setattr(workers, "MOST_FAILURES", 1)
    names = ["broken", "a", "fine"]
    with watch_compilations() as seen, pytest.raises(BackendError) as caught:
        compiled(*([name] for name in names), jobs=2)
    assert sorted(name for c in seen for name in c.workunits) == sorted(names)
    assert [c.workunits for c in seen if c.failure is None] == [["fine"]]
    assert str(caught.value).count(" failed:\n") == 1
    assert "1 more failed: " in str(caught.value)

    assert compiled(["fine", "unknown"]) == [("fine",), ("unknown",)]
    with watch_compilations() as seen, pytest.raises(BackendError) as caught:
        compiled(["fine", "broken", "unknown"])
    assert sorted(c.workunits for c in seen) == [["broken"], ["fine"], ["unknown"]]
    assert [c.workunits for c in seen if c.failure is not None] == [["broken"]]
    assert "lshift" in str(caught.value)
