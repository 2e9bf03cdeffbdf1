"""The `kokkos-*` back ends. Most tests need PyKokkos; compiled kernels stay in the cache."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.device.backends import get_backend, kernel_modules
from jetpy.device.selfcheck import Tallies, differences
from jetpy.engines import gpu
from jetpy.engines.base import Backend, Workunit
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.kokkos import KokkosBackend, cachekey
from jetpy.engines.kokkos.build import (
    BINARY,
    CHECKSUM,
    FEWEST,
    LIBRARY,
    build_environment,
    in_groups,
    is_built,
)
from jetpy.engines.kokkos.runtime import check_present
from jetpy.engines.memory import HostMemory
from jetpy.engines.workers import watch_compilations
from jetpy.errors import BackendError
from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.pykokkos_printer import print_module
from jetpy.workloads.common import selfcheck
from tests.children import run_python
from tests.graphs import two_cliques
from tests.modules import PLACE, Load

NAMES = ("kokkos-openmp", "kokkos-serial")

LANGUAGE = (
    PLACE
    + """
@pk.function
def clamp(x: int, most: int) -> int:
    if x > most:
        return most
    return x


@pk.workunit
def mark(i: int, a: pk.View1D[pk.int32], out: pk.View1D[pk.int64], most: int):
    wide: pk.int64 = a[i]
    wide //= 3
    wide = wide << 33
    if (a[i] < 3 or a[i] > 7) and i > 5:
        wide = -wide
    h: pk.uint32 = a[i] - 4
    h = h * 2146121005
    out[i] = wide + (h >> 9) + clamp(a[i], most) + (-7) // 2 + (-7) % 3


@pk.workunit
def count(i: int, acc: pk.Acc[pk.int64], a: pk.View1D[pk.int32]):
    if a[i] == 2:
        return
    acc += a[i]
"""
)

NUMBERS = """
@pk.workunit
def mix(i: int, out: pk.View1D[pk.int64], few: int, share: float, many: pk.int64):
    scaled: pk.int64 = share * 1125899906842624.0
    out[i] = scaled * 3 + i + many + few


@pk.workunit
def add(i: int, a: pk.View1D[pk.int32], out: pk.View1D[pk.int32]):
    out[i] += a[i]
"""


def made(name: str) -> KokkosBackend:
    """Return a back end, or skip the test if it does not work on this machine."""
    try:
        found = get_backend(name)
    except BackendError as error:
        pytest.skip(str(error))
    assert isinstance(found, KokkosBackend)
    return found


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest) -> KokkosBackend:
    return made(request.param)


@pytest.fixture
def serial() -> KokkosBackend:
    """Return the back end for tests that need any of them."""
    return made("kokkos-serial")


@pytest.fixture
def compiled(backend: KokkosBackend) -> KokkosBackend:
    """Return a back end with compiled kernels; compiling takes minutes, so only on request."""
    missing = sum(not is_built(folder) for folder in backend.kernels(kernel_modules()))
    if missing > 2 and "JETPY_TEST_COMPILE" not in os.environ:
        pytest.skip(
            f"{missing} kernels of {backend.name} are not compiled: run `jetpy compile` or set "
            "JETPY_TEST_COMPILE=1"
        )
    backend.compile(kernel_modules())
    return backend


# Without PyKokkos


@pytest.mark.parametrize("space", ["Cuda", "OpenMP", "Serial"])
def test_missing_pykokkos_is_explained(space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetpy.engines.kokkos.runtime.find_spec", lambda package: None)
    with pytest.raises(BackendError, match="PyKokkos is not installed"):
        KokkosBackend(space, CpuBackend)


def test_missing_cupy_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "jetpy.engines.kokkos.runtime.find_spec", lambda package: package != "cupy" or None
    )
    with pytest.raises(BackendError, match="pip install cupy"):
        KokkosBackend("Cuda", CpuBackend)


def test_incomplete_folder_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "build-abc" / "binary").mkdir(parents=True)
    (tmp_path / "build-abc" / "binary" / "kernel.so").write_bytes(b"")
    assert not is_built(tmp_path)


@pytest.mark.parametrize("jobs", [1, 2, 16])
@pytest.mark.parametrize("number", [1, FEWEST, 3 * FEWEST - 1, 50])
def test_groups_of_kernels_are_balanced_and_large_enough(number: int, jobs: int) -> None:
    kernels = [(f"kernel{i}",) for i in range(number)]
    groups = in_groups(kernels, jobs)
    assert sorted(kernel for group in groups for kernel in group) == sorted(kernels)
    sizes = [len(group) for group in groups]
    assert len(sizes) <= jobs
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == 1 or min(sizes) >= FEWEST


# With PyKokkos


@pytest.mark.parametrize("n", [1000, 10_000])
def test_language_equals_cpu(load: Load, backend: KokkosBackend, n: int) -> None:
    kernels = load(LANGUAGE)
    a = np.arange(n, dtype=np.int32) % 11
    results = []
    for engine in (get_backend("cpu"), backend):
        marked, placed = engine.empty(len(a), np.int64), engine.empty(len(a), np.int64)
        engine.parallel_for(len(a), kernels.mark, a=a, out=marked, most=5)
        total = engine.reduce(len(a), kernels.count, a=a)
        end = engine.scan(len(a), kernels.place, a=a, out=placed)
        results.append((marked.tolist(), total, end, placed.tolist()))
    assert results[0] == results[1]
    assert results[1][1:3] == (int(a[a != 2].sum()), int(a.sum()))


def test_empty_ranges_and_arrays_are_accepted(load: Load, backend: KokkosBackend) -> None:
    kernels = load(LANGUAGE)
    a, out = backend.empty(0), backend.empty(0, np.int64)
    backend.parallel_for(0, kernels.mark, a=a, out=out, most=5)
    assert backend.reduce(0, kernels.count, a=a) == 0
    assert backend.scan(0, kernels.place, a=a, out=out) == 0


def test_addresses_are_cached_while_their_arrays_live(load: Load, serial: KokkosBackend) -> None:
    kernels = load(LANGUAGE)
    gc.collect()
    known = serial._memory.addresses["int32"]
    before = len(known)
    total = 0
    for value in range(100):  # freed arrays are replaced by others at the same address
        a = serial.full(50 + value % 3, value)
        total += serial.reduce(len(a), kernels.count, a=a)
        assert known[id(a)] == a.ctypes.data
        assert len(known) == before + 1
        del a
    assert total == sum(v * (50 + v % 3) for v in range(100) if v != 2)
    assert len(known) == before


def test_array_of_wrong_type_is_refused(load: Load, serial: KokkosBackend) -> None:
    kernels = load(LANGUAGE)
    good = np.arange(10, dtype=np.int32)
    assert serial.reduce(10, kernels.count, a=good) == 43
    with pytest.raises(
        TypeError, match="out of place is an array of int32; it must be an array of int64"
    ):
        serial.scan(10, kernels.place, a=good, out=good)  # its address is cached for the other type
    with pytest.raises(
        TypeError, match="a of count is an array of int64; it must be an array of int32"
    ):
        serial.reduce(10, kernels.count, a=good.astype(np.int64))
    with pytest.raises(
        TypeError, match="a of count is an array of >i4; it must be an array of int32"
    ):
        serial.reduce(10, kernels.count, a=good.astype(">i4"))
    with pytest.raises(TypeError, match="a of count is a list; it must be an array of numpy"):
        serial.reduce(10, kernels.count, a=[1, 2, 3])
    for strided in (good[::2], good.reshape(2, 5)):
        with pytest.raises(
            ValueError, match="a of count must be a contiguous array of one dimension"
        ):
            serial.reduce(5, kernels.count, a=strided)


@pytest.mark.parametrize("n", [5, 5000])
def test_scalar_arguments_keep_their_types(load: Load, backend: KokkosBackend, n: int) -> None:
    kernels = load(NUMBERS)
    out = backend.full(n, 0, np.int64)
    numbers = {"few": -5, "many": -(1 << 40) + 1, "share": 0.1}
    backend.parallel_for(n, kernels.mix, out=out, **numbers)
    expected = [int(0.1 * (1 << 50)) * 3 + i - (1 << 40) + 1 - 5 for i in range(n)]
    assert out.tolist() == expected
    for wrong in ({"few": 1 << 31}, {"few": 0.5}, {"many": 1 << 63}, {"share": "0.1"}):
        with pytest.raises((RuntimeError, TypeError), match=r"cast|interpreted"):
            backend.parallel_for(n, kernels.mix, out=out, **{**numbers, **wrong})
    assert out.tolist() == expected


@pytest.mark.parametrize("n", [5, 5000])
def test_totals_have_64_bits(load: Load, backend: KokkosBackend, n: int) -> None:
    kernels = load(LANGUAGE)
    for value in (1 << 30, -(1 << 30)):
        a, out = backend.full(n, value), backend.empty(n, np.int64)
        assert backend.reduce(n, kernels.count, a=a) == n * value
        assert backend.scan(n, kernels.place, a=a, out=out) == n * value
        assert out.tolist() == [i * value for i in range(n)]


def test_captured_launches_read_current_values(load: Load, backend: KokkosBackend) -> None:
    kernels = load(NUMBERS)
    a, b = backend.full(3000, 0), backend.full(3000, 0)

    def launches() -> None:
        for source, target in ((a, b), (b, a)):
            backend.parallel_for(3000, kernels.add, a=source, out=target)

    play = backend.capture(launches)
    assert a.sum() == b.sum() == 0
    for value in (1, 5):
        a[:], b[:] = value, 0
        play()
        assert set(b) == {value}
        assert set(a) == {2 * value}


def test_edited_kernels_are_recompiled(load: Load, serial: KokkosBackend) -> None:
    out = serial.full(3, 0)
    for value in (1, 2, 1):
        text = f"@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int32]):\n    out[i] = {value}\n"
        kernels = load(text)
        serial.parallel_for(3, kernels.put, out=out)
        assert out.tolist() == [value] * 3


BROKEN = """
@pk.workunit
def broken(i: int, out: pk.View1D[pk.int32]):
    out[i] = 5
"""


def break_with(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the parameter of `BROKEN` with another name."""

    def print_broken(definition: Definition) -> str:
        source = print_module(definition)
        return source.replace("out_", name) if definition.name == "broken" else source

    monkeypatch.setattr(cachekey, "print_module", print_broken)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("import", "invalid syntax"),  # from Python
        ("double", "error: expected"),  # from the compiler
    ],
)
def test_compile_error_is_reported_and_not_cached(
    load: Load, serial: KokkosBackend, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    break_with(name, monkeypatch)
    kernels = load(BROKEN)
    for _ in range(2):  # a failed compilation does not count as compiled
        with pytest.raises(BackendError, match=words) as caught:
            serial.parallel_for(3, kernels.broken, out=serial.empty(3))
        assert "compiling workunit broken failed" in str(caught.value)


DRAW = """
@pk.workunit
def draw(i: int, out: pk.View1D[pk.int32]):
    out[i] = {}
"""


@pytest.fixture
def draws(load: Load, serial: KokkosBackend, empty_cache: Path) -> dict[Path, Workunit]:
    """Return two uncompiled kernels of one name by folder; they write 0 and 1."""
    modules = [load(DRAW.format(n)) for n in range(2)]
    return {serial._folder(module.draw): module.draw for module in modules}


def drawn(
    backend: KokkosBackend, kernels: dict[Path, Workunit], *, built: bool = True
) -> list[int]:
    """Launch kernels, which are built or not, and return the value that each writes."""
    assert all(is_built(folder) == built for folder in kernels)
    out = backend.full(len(kernels), -1)
    for i, kernel in enumerate(kernels.values()):
        backend.parallel_for(1, kernel, out=out[i : i + 1])
    return [int(x) for x in out]


BUILD = """
import sys
from pathlib import Path
from jetpy.engines.kokkos.build import build
build(*(("Serial", folder, "draw") for folder in sys.argv[1:]))
"""
NO_LINKS = """
import errno
from pathlib import Path
def refuse(self, target):
    raise OSError(errno.EPERM, "no hard links here")
Path.hardlink_to = refuse
"""


@pytest.mark.slow
@pytest.mark.parametrize("links", [True, False])
def test_kernels_compiled_together_share_a_library(
    serial: KokkosBackend, draws: dict[Path, Workunit], links: bool
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUILD if links else NO_LINKS + BUILD, *map(str, draws)],
        env=build_environment(),
        check=False,
    )
    assert done.returncode == 0
    libraries = {(folder / BINARY / LIBRARY).stat().st_ino for folder in draws}
    assert len(libraries) == (1 if links else 2)
    assert drawn(serial, draws) == [0, 1]
    assert all(len(list(folder.iterdir())) == 2 for folder in draws)  # source and binary


@pytest.mark.slow
def test_processes_may_compile_the_same_kernels(
    serial: KokkosBackend, draws: dict[Path, Workunit]
) -> None:
    orders = [list(map(str, draws)), list(map(str, reversed(draws)))]
    processes = [
        subprocess.Popen([sys.executable, "-c", BUILD, *order], env=build_environment())
        for order in orders
    ]
    assert [process.wait() for process in processes] == [0, 0]
    assert drawn(serial, draws) == [0, 1]
    assert all(len(list(folder.iterdir())) == 2 for folder in draws)


@pytest.mark.slow
def test_broken_kernel_does_not_stop_the_others(
    load: Load, serial: KokkosBackend, draws: dict[Path, Workunit], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_with("double", monkeypatch)
    broken = load(BROKEN).broken
    (first, draw), *others = draws.items()
    kernels = {first: draw, serial._folder(broken): broken, **dict(others)}
    counts = []
    with watch_compilations() as seen, pytest.raises(BackendError) as caught:
        serial._build(kernels, 2, lambda done, total: counts.append((done, total)))
    assert counts == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert [c.workunits for c in seen if c.failure is not None] == [["broken"]]
    assert str(caught.value).startswith("compiling workunit broken failed:\n")
    assert "error: expected" in str(caught.value)
    assert drawn(serial, draws) == [0, 1]


def test_second_number_of_threads_is_refused() -> None:
    made("kokkos-openmp")
    answer = run_python(
        "from jetpy.device.backends import get_backend\n"
        "print(get_backend('kokkos-openmp', 1).threads)\n"
        "print(get_backend('kokkos-serial').threads, get_backend('kokkos-openmp').threads)\n"
        "get_backend('kokkos-openmp', 2)\n",
        check=False,
    )
    assert answer.stdout.split() == ["1", "1", "1"]
    assert "Kokkos runs with 1 threads in this process" in answer.stderr


GRAPHS = {
    "grid": lambda: jetpy.generators.grid(40, 30),
    "delaunay": lambda: jetpy.generators.delaunay(3000, seed=1),
    "rmat": lambda: jetpy.generators.rmat(11, seed=1),
    "cliques": lambda: two_cliques(20),
}


@pytest.mark.parametrize("k", [2, 8, 64])
@pytest.mark.parametrize("graph", GRAPHS)
def test_parts_equal_those_of_cpu(compiled: KokkosBackend, graph: str, k: int) -> None:
    given = GRAPHS[graph]()
    expected = jetpy.partition(given, k, backend="cpu").parts
    assert np.array_equal(jetpy.partition(given, k, backend=compiled.name).parts, expected)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1500])
def test_run_tasks_runs_every_index(compiled: KokkosBackend, n: int) -> None:
    numbers, sums = np.arange(n, dtype=np.int32), compiled.full(7, 0, np.int64)
    doubled, least, most = (compiled.full(max(n, 7), 0) for _ in range(3))
    tallies, before = Tallies(doubled, sums, least, most), compiled.launches
    compiled.run_tasks(
        n, selfcheck.tally, numbers=compiled.from_host(numbers), tallies=tallies, buckets=7
    )
    assert compiled.to_host(doubled)[:n].tolist() == (2 * numbers).tolist()
    assert compiled.launches == before + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_do_not_depend_on_threads(compiled: KokkosBackend, threads: int) -> None:
    if compiled.name != "kokkos-openmp":
        pytest.skip("only OpenMP has threads")
    expected = jetpy.partition(GRAPHS["delaunay"](), 8, preset="ultra", backend="cpu").parts
    answer = run_python(
        "import jetpy\n"
        "graph = jetpy.generators.delaunay(3000, seed=1)\n"
        f"engine = {{'backend': 'kokkos-openmp', 'threads': {threads}}}\n"
        "print(*jetpy.partition(graph, 8, preset='ultra', **engine).parts)\n",
        check=False,
    )
    assert answer.stdout.split() == [str(p) for p in expected], answer.stderr


def test_pykokkos_is_imported_only_on_request() -> None:
    if find_spec("pykokkos") is None:
        pytest.skip("PyKokkos is not installed")
    answer = run_python(
        "import sys, jetpy.workloads\n"
        "from jetpy.device.backends import get_backend\n"
        "get_backend('cpu')\n"
        "print({'kokkos', 'pykokkos', 'cupy'} & set(sys.modules))\n",
        check=False,
    )
    assert answer.stdout.strip() == "set()", answer.stderr


# After a fork


FORK = """
import os
import numpy as np
from jetpy.device.backends import get_backend
from jetpy.engines import gpu
from jetpy.device.selfcheck import Tallies, differences
from jetpy.errors import BackendError
from jetpy.workloads.common import selfcheck as kernels

before = get_backend({before!r}, 2)
sums, ones = before.full(7, 0, np.int64), before.full(50_000, 1)
doubled, least, most = (before.full(50_000, 0) for _ in range(3))
tallies = Tallies(doubled, sums, least, most)

def launch():
    before.parallel_for(50_000, kernels.tally, numbers=ones, tallies=tallies, buckets=7)

play = before.capture(launch)
play()
if os.fork() == 0:
    try:
        play()
        print(sums.sum(), *differences(before, 50_000), flush=True)
        for _ in range(2):
            backend = get_backend({after!r}, 2)
            print(backend.threads, *differences(backend, 50_000), flush=True)
        os._exit(0)
    except BackendError as error:
        print(error, flush=True)
        os._exit(0)
    finally:
        os._exit(1)
print(os.wait()[1], before.threads)
"""


@pytest.mark.parametrize("after", ["kokkos-openmp", "kokkos-serial", "cpu"])
@pytest.mark.parametrize("before", ["kokkos-openmp", "kokkos-serial"])
def test_forked_process_uses_one_thread(before: str, after: str) -> None:
    """This concerns Kokkos only; `cpu` starts new threads."""
    for name in {before, after} - {"cpu"}:
        # This compiles the kernels that the child runs.
        assert list(differences(made(name), 50_000)) == []
    answer = run_python(FORK.format(before=before, after=after), check=False)
    threads = "2" if before == "kokkos-openmp" else "1"
    own = "2" if after == "cpu" else "1"
    assert answer.stdout.split() == ["100000", own, own, "0", threads], answer.stderr


OPENMP = """
import os
os.environ["NUMBA_THREADING_LAYER"] = "omp"
import numba
import numpy as np

@numba.njit(parallel=True)
def use_openmp(numbers):
    for i in numba.prange(len(numbers)):
        numbers[i] += 1

use_openmp(np.zeros(9))
"""


@pytest.mark.parametrize("after", NAMES)
def test_kokkos_starts_after_a_fork_without_openmp(after: str) -> None:
    made(after)
    answer = run_python(FORK.format(before="cpu", after=after), check=False)
    threads = "2" if after == "kokkos-openmp" else "1"
    lines = [line for line in answer.stdout.splitlines() if not line.startswith("WARNING:")]
    assert lines == ["100000", *2 * [threads], "0 2"], answer.stderr


@pytest.mark.parametrize("after", NAMES)
def test_kokkos_refuses_to_start_after_a_fork_with_openmp(after: str) -> None:
    pytest.importorskip("numba", reason="without numba nothing else here has used OpenMP")
    made(after)
    answer = run_python(OPENMP + FORK.format(before="cpu", after=after), check=False)
    assert (
        "Kokkos cannot start in a process that was forked from a process using OpenMP: "
        in answer.stdout
    )
    assert "spawn or forkserver" in answer.stdout
    assert answer.stdout.endswith("\n0 2\n"), answer.stderr


def test_gpu_is_refused_in_forked_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a back end without its GPU, because the machine may have none."""
    monkeypatch.setattr(gpu, "_is_lost", True)
    monkeypatch.setattr("jetpy.engines.kokkos.runtime.find_spec", lambda package: True)
    backend = KokkosBackend.__new__(KokkosBackend)
    Backend.__init__(backend, HostMemory())
    backend._space = "Cuda"
    backend.go_on_after_fork()
    for use in (
        lambda: backend.compile([]),
        backend.synchronize,
        lambda: backend.full(3, 0),
        lambda: backend.from_host(np.arange(3)),
        lambda: backend.to_host(np.arange(3)),
        lambda: backend.parallel_for(3, selfcheck.tally),
        lambda: check_present("Cuda"),
    ):
        with pytest.raises(
            BackendError, match="CUDA cannot be used in a process that was forked from"
        ):
            use()


# A damaged cache


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["emptied", "no checksum", "also its source"])
def test_damaged_library_is_recompiled(
    load: Load,
    serial: KokkosBackend,
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: str,
) -> None:
    kernels = load(DRAW.format(1))
    monkeypatch.setattr(serial, "_launchers", {})
    folder = serial._folder(kernels.draw)
    serial._build({folder: kernels.draw}, 1, None)
    library = folder / BINARY / LIBRARY
    if damage == "no checksum":
        (folder / BINARY / CHECKSUM).unlink()
    else:
        library.write_bytes(b"")
    if damage == "also its source":
        (folder / "draw.py").write_text("import nothing\n")
    assert not is_built(folder)
    assert drawn(serial, {serial._folder(kernels.draw): kernels.draw}, built=False) == [1]
    assert is_built(folder)


def test_kernels_that_others_can_write_are_not_loaded(
    serial: KokkosBackend, draws: dict[Path, Workunit], monkeypatch: pytest.MonkeyPatch
) -> None:
    [*_, (folder, kernel)] = draws.items()
    folder.chmod(0o777)
    with pytest.raises(BackendError, match="other users can write to it"):
        serial.parallel_for(1, kernel, out=serial.full(1, 0))
