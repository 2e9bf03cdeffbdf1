"""Programs of the back end `cuda` without a GPU: compiled as C++, and run by fibers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jetpy
from jetpy import Graph
from jetpy.backends.base import Backend, Count
from jetpy.backends.cuda.kernels import program_modules
from jetpy.backends.cuda.program import Processor, Program
from jetpy.backends.cuda.program_source import SYMBOL, THREADS, cases, program_source
from jetpy.backends.launching import Tape
from jetpy.backends.level import upload
from jetpy.backends.numba_engine.engine import NumbaBackend
from jetpy.metrics import part_weights
from jetpy.options import Options, RefineOptions
from jetpy.problem import Problem
from jetpy.refinement.jet import Refined, Refinement
from tests.device import DeviceBackend

HEADER = Path(__file__).with_name("gpu_standin.h")
FEW_THREADS, FEW_BLOCKS = 64, 4
ON_A_GPU = {
    "return *(const volatile T*)at;": "return standin::look(at);",
    "extern __shared__ long long words[];": "long long* words = standin::words();",
    "__shared__ jet::Block own;": "jet::Block& own = standin::own<jet::Block>();",
}
LAUNCH = f"""
static void** passed;
static void work() {{
  {SYMBOL}(
      *(long long**)passed[0], *(unsigned*)passed[1], *(unsigned*)passed[2],
      *(long long**)passed[3], *(long long*)passed[4], *(jet::Grid**)passed[5],
      *(long long**)passed[6], *(char**)passed[7]);
  standin::is_done[standin::current] = 1;
  for (unsigned next = 0; next < standin::fibers.size(); next++) {{
    if (!standin::is_done[next]) {{
      standin::go_on(next);
      setcontext(&standin::fibers[next]);
    }}
  }}
  setcontext(&standin::host);
}}
extern "C" void launch(
    unsigned blocks, unsigned threads, unsigned bytes, unsigned stride, void** parameters) {{
  using namespace standin;
  passed = parameters;
  gridDim.x = blocks;
  blockDim.x = threads;
  standin::stride = stride;
  standin::blocks.assign(blocks, Block());
  for (Block& block : standin::blocks) {{
    block.warps.resize(threads / 32);
    block.words.resize(bytes / 8);
    block.own.resize(sizeof(jet::Block) / 8 + 1);
  }}
  fibers.assign(blocks * threads, ucontext_t());
  is_done.assign(fibers.size(), 0);
  std::vector<std::vector<char>> stacks(fibers.size(), std::vector<char>(1 << 16));
  for (unsigned number = 0; number < fibers.size(); number++) {{
    getcontext(&fibers[number]);
    fibers[number].uc_stack.ss_sp = stacks[number].data();
    fibers[number].uc_stack.ss_size = stacks[number].size();
    makecontext(&fibers[number], work, 0);
  }}
  go_on(0);
  swapcontext(&host, &fibers[0]);
}}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The kernel that runs programs, with what stands in for a GPU."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    folder = tmp_path_factory.mktemp("program")
    text = program_source(program_modules())
    for words, stand_in in ON_A_GPU.items():
        assert words in text
        text = text.replace(words, stand_in)
    (folder / "program.cpp").write_text(f'#include "{HEADER}"\n{text}\n{LAUNCH}')
    options = ["-std=c++17", "-O1", "-fwrapv", "-ffp-contract=off", "-w", "-fPIC", "-shared"]
    command = ["g++", *options, "-o", "program.so", "program.cpp"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(folder / "program.so")


class ProgramBackend(DeviceBackend):
    """Numba with memory of its own, whose programs the kernel runs."""

    def __init__(self, library: ctypes.CDLL, blocks: int, stride: int) -> None:
        super().__init__(1)
        self.lists_size, self.host_engine = 1 << 30, None
        self.longest_row = 8
        self.grids: list[int] = []
        self.times = 0
        self._library, self._stride = library, stride
        self._memory.stream = SimpleNamespace(ptr=5, synchronize=lambda: None)
        driver = SimpleNamespace(launchCooperativeKernel=self._run)
        self._processor = Processor(77, cases(program_modules()), self._memory, driver, blocks)

    def _run(self, *given: int) -> None:
        function, blocks, gy, gz, threads, by, bz, shared, stream, parameters = given
        assert (function, gy, gz, threads, by, bz, stream) == (77, 1, 1, THREADS, 1, 1, 5)
        self.grids.append(blocks)
        self._library.launch(blocks, FEW_THREADS, shared, self._stride, ctypes.c_void_p(parameters))
        self.times += self._processor.times[0]

    def _repeatable(
        self, tape: Tape, until: Count | None, most: int, size: int
    ) -> Callable[[], int]:
        if until is None:
            return super()._repeatable(tape, until, most, size)
        return Program(self._processor, tape, until, most, size).run


def refine(backend: Backend, graph: Graph, problem: Problem, parts: np.ndarray) -> Refined:
    refinement = Refinement(backend, upload(backend, graph), problem)
    refined = refinement.refine(backend.from_host(parts), finest=True)
    return replace(refined, parts=backend.to_host(refined.parts).copy())


def check(library: ctypes.CDLL, graph: Graph, problem: Problem, blocks: int, stride: int) -> None:
    """Refinement by programs is refinement by lists on a processor."""
    rng = np.random.default_rng(stride)
    half = rng.integers(0, problem.k, graph.n) // 2  # some parts are empty, the others too heavy
    parts = np.where(rng.random(graph.n) < 0.5, half, np.arange(graph.n) * problem.k // graph.n)
    parts = parts.astype(np.int32)
    host, device = NumbaBackend(1), ProgramBackend(library, blocks, stride)
    expected = refine(host, graph, problem, parts)
    found = refine(device, graph, problem, parts)
    assert found.parts.tolist() == expected.parts.tolist()
    assert found.measures.cut == expected.measures.cut
    assert found.iterations == expected.iterations > 5
    assert max(part_weights(graph, found.parts, problem.k)) <= problem.limit
    assert found.iterations <= device.times <= found.iterations + 2 * len(device.grids)
    assert set(device.grids) == {min(blocks, -(-graph.n // 256))}


@pytest.mark.parametrize("weak_rounds", [0, 2])
@pytest.mark.parametrize(("k", "overfill"), [(2, None), (7, 5), (80, 5)])
@pytest.mark.parametrize(("blocks", "stride"), [(1, 1), (3, 5), (4, 77)])
def test_refinement(
    library: ctypes.CDLL, blocks: int, stride: int, k: int, overfill: int | None, weak_rounds: int
) -> None:
    graph = jetpy.generators.delaunay(800, seed=stride)
    options = Options(refine=RefineOptions(weak_rounds=weak_rounds, overfill=overfill))
    problem = Problem(k, 0.03, -(-graph.n // k), int(1.1 * graph.n / k) + 1, 3, options)
    check(library, graph, problem, blocks, stride)
