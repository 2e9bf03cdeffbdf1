"""The back end `cuda` without a GPU: NVRTC, cached cubins, launches on a fake driver."""

from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jetpy import workloads
from jetpy.device.backends import get_backend
from jetpy.engines.cache import read_entry
from jetpy.engines.cuda import nvrtc
from jetpy.engines.cuda.entries import Target, split_entry
from jetpy.engines.cuda.kernels import compiled, compilers_for, entry_name
from jetpy.engines.cuda.launcher import CudaLauncher, Totals, kernel_codes, offsets
from jetpy.engines.cuda.nvrtc import NVRTC
from jetpy.engines.cuda.source import source
from jetpy.engines.cuda.templates import FOR_THREADS, SUM_BLOCKS, TILE
from jetpy.engines.memory import HostMemory
from jetpy.engines.workers import in_turn, watch_compilations
from jetpy.errors import BackendError, OptionError
from jetpy.kernel_language import Width
from jetpy.kernel_language.reading import read_workunits
from tests.modules import PLACE, Load, modules

SM_90 = "sm_90"
DRAW = """
@pk.workunit
def draw(i: int, out: pk.View1D[pk.int32]):
    out[i] = {}
"""
VERBS = (
    PLACE
    + """
@pk.workunit
def put(
    i: int, few: int, out: pk.View1D[pk.int64], share: float, a: pk.View1D[pk.int32], many: pk.int64
):
    out[i] = a[i] + few + many


@pk.workunit
def count(i: int, acc: pk.Acc[pk.int64], a: pk.View1D[pk.int32]):
    acc += a[i]
"""
)


class StandIn(NVRTC):
    """A fake NVRTC that returns the source and records each compilation."""

    def __init__(self, version: tuple[int, int] = (13, 0)) -> None:
        self.version, self.architectures = version, (75, 80, 86, 90, 100)
        self.compiled: list[str] = []

    def compile(self, source: str, name: str, architecture: str) -> bytes:
        self.compiled.append(name)
        if "666" in source:
            raise BackendError("x is undefined")
        return f"{architecture}\n{source}".encode()


# Kernels


@pytest.fixture(scope="module")
def compiler() -> NVRTC:
    """Return NVRTC, if its wheel or a toolkit is installed."""
    try:
        return nvrtc.load()
    except BackendError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__.split(".")[-1])
@pytest.mark.parametrize("width", Width)
def test_every_kernel_compiles(compiler: NVRTC, module: ModuleType, width: Width) -> None:
    """Kernels in the user's cache were compiled from the same text by the same NVRTC."""
    target = Target(compiler, SM_90, width)
    entry = compiled([module], target)[module]
    signatures, cubin = split_entry(entry)
    assert [one.name for one in signatures] == list(read_workunits(module))
    assert cubin[:4] == b"\x7fELF"
    assert all(f"run_{name}\0".encode() in cubin for name in read_workunits(module))
    assert read_entry(entry_name(module, target)) == entry


def test_oldest_and_newest_architectures_compile(compiler: NVRTC) -> None:
    text = source(sys.modules["jetpy.workloads.common.selfcheck"])
    for number in (compiler.architectures[0], compiler.architectures[-1]):
        assert compiler.compile(text, "selfcheck.cu", f"sm_{number}")[:4] == b"\x7fELF"


def test_compile_error_has_the_message_of_the_compiler(compiler: NVRTC) -> None:
    for _ in range(2):
        with pytest.raises(BackendError, match=r'broken.cu\(1\): error: identifier "x" is undef'):
            compiler.compile("int y = x;", "broken.cu", SM_90)


def test_every_module_with_workunits_is_listed() -> None:
    everything = {name for module in workloads.MODULES for name in read_workunits(module)}
    assert everything == {name for module in modules() for name in read_workunits(module)}
    assert {"propose", "tally"} <= everything
    assert "mix" not in everything


# Architectures


@pytest.mark.parametrize(
    ("capability", "architecture"),
    [(75, "sm_75"), (89, "sm_86"), (90, "sm_90"), (103, "sm_100"), (70, None), (120, None)],
)
def test_architecture_of_a_capability(capability: int, architecture: str | None) -> None:
    assert nvrtc.architecture_for(capability, (75, 80, 86, 90, 100)) == architecture


def test_architecture_name_is_checked() -> None:
    assert StandIn().checked("sm_90") == "sm_90"
    with pytest.raises(
        BackendError, match=r"NVRTC 13.0 does not support sm_70; choose one of sm_75"
    ):
        StandIn().checked("sm_70")
    for name in ("90", "compute_90", "sm_90a", "hopper", ""):
        with pytest.raises(OptionError, match="give one like sm_90"):
            StandIn().checked(name)


def test_nvrtc_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), ""])
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "toolkit"))
    for folder in ("packages/nvidia/cu13/lib", "packages/nvidia/cuda_nvrtc/lib", "toolkit/lib64"):
        (tmp_path / folder).mkdir(parents=True)
        for major in (12, 13):
            (tmp_path / folder / f"libnvrtc.so.{major}").touch()
    names = [path.replace(f"{tmp_path}/", "") for path in nvrtc._places(12)]
    assert names == [
        "packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "toolkit/lib64/libnvrtc.so.12",
        "libnvrtc.so.12",
    ]
    assert next(nvrtc._places(13)).endswith("nvidia/cu13/lib/libnvrtc.so.13")


def test_missing_nvrtc_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_places", lambda major: iter(["/nowhere/libnvrtc.so"]))
    with pytest.raises(
        BackendError, match=r"NVRTC for CUDA 11 or 10 is not installed: pip install"
    ):
        nvrtc.load((11, 10))


# The cache


def test_cubins_are_cached(load: Load, empty_cache: Path) -> None:
    module, other = (load(DRAW.format(n)) for n in range(2))
    compiler = StandIn()
    first = compiled([module, other], Target(compiler, SM_90), jobs=2)
    assert len(compiler.compiled) == 2
    assert compiled([other, module], Target(compiler, SM_90)) == first
    assert len(compiler.compiled) == 2
    assert first[module] != first[other]


def test_cache_key_depends_on_text_architecture_version_and_options(
    load: Load, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, other = (load(DRAW.format(n)) for n in range(2))
    usual = Target(StandIn(), SM_90)
    names = {entry_name(module, usual), entry_name(other, usual)}
    names.add(entry_name(module, usual._replace(architecture="sm_80")))
    names.add(entry_name(module, usual._replace(compiler=StandIn((13, 1)))))
    assert entry_name(module, usual) in names
    monkeypatch.setattr("jetpy.engines.cuda.kernels.OPTIONS", ("--std=c++17",))
    names.add(entry_name(module, usual))
    assert len(names) == 5
    assert {name.parts[:2] for name in names} == {("cuda", SM_90), ("cuda", "sm_80")}


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"\x00" * 200])
def test_damaged_cubins_are_recompiled(load: Load, empty_cache: Path, damage: bytes) -> None:
    module, compiler = load(DRAW.format(7)), StandIn()
    first = compiled([module], Target(compiler, SM_90))
    file = empty_cache / entry_name(module, Target(compiler, SM_90))
    file.write_bytes(damage)
    for _ in range(2):
        assert compiled([module], Target(compiler, SM_90)) == first
        assert len(compiler.compiled) == 2
    file.chmod(0o666)
    with pytest.raises(BackendError, match="other users can write to it"):
        compiled([module], Target(compiler, SM_90))


def test_unwritable_cache_is_warned_about(
    load: Load, empty_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module, compiler = load(DRAW.format(8)), StandIn()

    def refuse(name: Path, content: bytes) -> None:
        raise OSError(f"no space left for {name.name}")

    monkeypatch.setattr("jetpy.engines.cache.write_entry", refuse)
    assert compiled([module], Target(compiler, SM_90))[module]
    assert "jetpy cannot keep compiled kernels for later runs: no space left" in caplog.text


def test_one_failure_does_not_stop_the_others(load: Load, empty_cache: Path) -> None:
    wanted = [load(DRAW.format(n)) for n in (1, 666, 2)]
    compiler, calls = StandIn(), []
    with watch_compilations() as seen, pytest.raises(BackendError, match="x is undefined"):
        compiled(wanted, Target(compiler, SM_90), progress=lambda *numbers: calls.append(numbers))
    assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert [c.workunits for c in seen] == [["draw"]] * 3
    assert sorted(str(c.failure) for c in seen) == ["None", "None", "x is undefined"]
    with pytest.raises(BackendError):
        compiled(wanted, Target(compiler, SM_90))
    assert len(compiler.compiled) == 4


def test_ahead_of_time_compilation_covers_all_architectures(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, calls = StandIn(), []
    monkeypatch.setattr(nvrtc, "load", lambda: compiler)
    kernels = sum(len(read_workunits(module)) for module in modules())
    compile_all = in_turn(compilers_for([SM_90, "sm_80", SM_90], modules()), kernels)
    compile_all(jobs=2, progress=lambda *numbers: calls.append(numbers))
    assert len(compiler.compiled) == 4 * len(modules())
    assert calls[0] == (0, 4 * kernels)
    assert calls[-1] == (4 * kernels, 4 * kernels)
    assert {path.parent.name for path in empty_cache.rglob("*.cubin")} == {SM_90, "sm_80"}
    with pytest.raises(BackendError, match="sm_70"):
        compilers_for([SM_90, "sm_70"], modules())


# Launches


class Driver:
    """A fake driver that reads the arguments as a kernel does and writes a result."""

    def __init__(self, codes: str) -> None:
        self.codes, self.seen = codes, []
        self.answer = 0

    def launchKernel(self, function: int, *given: int) -> None:
        gx, gy, gz, bx, by, bz, shared, stream, parameters, extra = given
        assert (function, gy, gz, by, bz, shared, stream, extra) == (77, 1, 1, 1, 1, 0, 5, 0)
        places = (ctypes.c_void_p * len(self.codes)).from_address(parameters)
        values = [
            struct.unpack(code, ctypes.string_at(place, struct.calcsize(code)))[0]
            for code, place in zip(self.codes, places, strict=True)
        ]
        self.seen.append((gx, bx, values))
        if self.codes[-2:] in ("QQ", "IQ"):
            ctypes.c_int64.from_address(values[-1]).value = self.answer


class Made:
    """A launcher of one workunit with its fake driver and memory."""

    def __init__(self, module: ModuleType, name: str) -> None:
        signature = read_workunits(module)[name].signature
        self.memory = HostMemory()
        self.memory.stream = SimpleNamespace(ptr=5, synchronize=lambda: None)
        self.driver = Driver(kernel_codes(signature))
        totals = Totals(self.memory)
        self.launcher = CudaLauncher(signature, 77, self.memory, totals, self.driver.launchKernel)

    def run(self, n: int, **arguments: Any) -> Any:
        return self.launcher.launch(n, arguments)


@pytest.fixture
def kernels(load: Load) -> ModuleType:
    return load(VERBS)


def test_arguments_are_packed_in_the_order_of_the_kernel(kernels: ModuleType) -> None:
    made = Made(kernels, "put")
    a, out = np.arange(300, dtype=np.int32), np.zeros(300, np.int64)
    given = {"a": a, "out": out, "few": np.int32(-5), "many": -(1 << 40), "share": 0.1}
    made.run(300, **given)
    made.run(FOR_THREADS, **given)
    values = [-5, out.ctypes.data, 0.1, a.ctypes.data, -(1 << 40)]
    assert made.driver.seen == [
        (-(-300 // FOR_THREADS), FOR_THREADS, [300, *values]),
        (1, FOR_THREADS, [FOR_THREADS, *values]),
    ]
    assert "unsigned n, int few_, long long* out_, double share_, int* a_," in source(kernels)


def test_argument_of_wrong_type_is_refused(kernels: ModuleType) -> None:
    made = Made(kernels, "put")
    a, out = np.arange(3, dtype=np.int32), np.zeros(3, np.int64)
    good = {"a": a, "out": out, "few": 1, "many": 1, "share": 0.5}
    for wrong in ({"few": 1 << 31}, {"few": 0.5}, {"many": 1 << 63}, {"share": "0.1"}):
        with pytest.raises(TypeError, match=r"an argument of put has the wrong type|as an integer"):
            made.run(3, **{**good, **wrong})
    with pytest.raises(
        TypeError, match="out of put is an array of int32; it must be an array of int64"
    ):
        made.run(3, **{**good, "out": a})
    with pytest.raises(ValueError, match="a contiguous array of one dimension"):
        made.run(1, **{**good, "a": a[::2]})
    with pytest.raises(TypeError, match="wrong type"):
        made.run(1 << 32, **good)
    assert made.driver.seen == []


def test_empty_ranges_are_not_launched(kernels: ModuleType) -> None:
    a, out = np.zeros(0, np.int32), np.zeros(0, np.int64)
    for name, arguments in (
        ("put", {"a": a, "out": out, "few": 1, "many": 1, "share": 0.5}),
        ("count", {"a": a}),
        ("place", {"a": a, "out": out}),
    ):
        made = Made(kernels, name)
        assert not made.run(0, **arguments)
        assert made.driver.seen == []


def test_sum_is_read_from_the_result_buffer(kernels: ModuleType) -> None:
    made, a = Made(kernels, "count"), np.arange(10, dtype=np.int32)
    made.driver.answer = -(1 << 50)
    assert made.run(10, a=a) == -(1 << 50)
    made.run((1 << 31) - 1, a=a)
    (few, _, values), (most, _, _) = made.driver.seen
    assert (few, most) == (1, SUM_BLOCKS)
    assert values[:2] == [10, a.ctypes.data]


def test_scans_get_an_id_and_a_tile_buffer(kernels: ModuleType) -> None:
    made = Made(kernels, "place")
    a, out = np.arange(10, dtype=np.int32), np.zeros(10, np.int64)
    made.driver.answer = 45
    sizes = (10, 10 * TILE, 10 * TILE + 1, 7)
    assert [made.run(n, a=a, out=out) for n in sizes] == [45] * 4
    assert [blocks for blocks, _, _ in made.driver.seen] == [1, 10, 11, 1]
    assert [values[-2] for _, _, values in made.driver.seen] == [1, 2, 3, 4]
    tiles = [values[3] for _, _, values in made.driver.seen]
    assert tiles[1] == tiles[2] == tiles[3]  # the buffer was large enough


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__.split(".")[-1])
def test_argument_offsets_are_aligned(module: ModuleType) -> None:
    for definition in read_workunits(module).values():
        codes = kernel_codes(definition.signature)
        places = offsets(codes)
        assert all(o % struct.calcsize(code) == 0 for o, code in zip(places, codes, strict=True))
        ends = [o + struct.calcsize(code) for o, code in zip(places, codes, strict=True)]
        assert all(end <= start for end, start in zip(ends, places[1:], strict=False))
        assert ends[-1] <= 4096  # the limit of a kernel


# On a GPU


def test_parts_equal_those_of_cpu() -> None:
    import jetpy

    try:
        get_backend("cuda")
    except BackendError as error:
        pytest.skip(str(error))
    for graph in (jetpy.generators.delaunay(30_000, seed=1), jetpy.generators.rmat(13, seed=1)):
        for k in (2, 64):
            expected = jetpy.partition(graph, k, backend="cpu").parts
            assert np.array_equal(jetpy.partition(graph, k, backend="cuda").parts, expected)
