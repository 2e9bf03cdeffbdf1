"""CUDA C of programs: one kernel that makes launches in a row, again and again.

It runs in as many blocks as fit on the GPU at once. A program is words of 8 bytes: `STEP` of them
for each launch, or step, then the blocks of these, as `jetpy.backends.launching.packer` has it. A
step says which workunit runs (its number among `cases`), where its block begins, where the number
of indices is read, a place in the block where that belongs, too, and where the total of a scan
goes. Addresses may be zero: the number is in the block, the total is not wanted. The kernel adds
`origin` to them, which is zero, too: so the compiler knows that they are of the GPU's memory.

All indices of a step are done before the next begins. The block that is last to finish reads how
many indices the steps that follow have, passes over those without, makes those by itself that have
no more than it has threads, and tells the other blocks what comes next.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType

from jetpy.backends.cuda import templates
from jetpy.backends.cuda.source import type_of
from jetpy.kernel_language import Definition, Kind, View, read_workunits, with_callees
from jetpy.kernel_language.cuda_printer import print_function

THREADS = 512
"""Threads of a block."""
MOST_BLOCKS = 1024
CASE, BLOCK, COUNT, PLACE, TOTAL = range(5)
STEP = 5
"""Words of a step, and how many."""
GRID_BYTES = 24 + 8 * MOST_BLOCKS
"""Size of what the blocks share, zeros before the first program."""
SYMBOL = "run_program"

_GRID = f"""
namespace jet {{

constexpr unsigned START = 0xffffffffu, END = 0x7fffffffu;
constexpr unsigned long long FLIP = 1ull << 63;

/* What the blocks share: the step that is due and how many indices it has, with a bit that changes
   each time; how many blocks have arrived; how often all steps were made; what scans count. */
struct Grid {{
  unsigned long long due;
  unsigned long long arrived;
  long long times;
  long long sums[{MOST_BLOCKS}];
}};

/* What the threads of a block share: the step that is due and how many indices it has, whether
   this block makes it alone, whether it was the last to arrive, and what its warps count. */
struct Block {{
  unsigned step;
  unsigned n;
  bool is_alone;
  bool is_last;
  long long warps[{THREADS} / 32];
}};

/* What is there now, whoever has written it. */
template <class T> __device__ __forceinline__ T look(const T* at) {{
  return *(const volatile T*)at;
}}

/* Whether this block is the last to arrive. If so, it sees what the others have written. */
__device__ __forceinline__ bool is_last(Grid* grid, Block& own) {{
  __syncthreads();
  if (threadIdx.x == 0) {{
    __threadfence();
    own.is_last = atomicAdd(&grid->arrived, 1ull) == gridDim.x - 1;
    if (own.is_last) {{
      grid->arrived = 0;
      __threadfence();
    }}
  }}
  __syncthreads();
  return own.is_last;
}}

/* Let the other blocks go on, which then see what this one has written and seen. */
__device__ __forceinline__ void release(unsigned long long due, Grid* grid) {{
  __threadfence();
  *(volatile unsigned long long*)&grid->due = due;
}}

/* Wait until something else is due than before. */
__device__ __forceinline__ unsigned long long wait(unsigned long long before, const Grid* grid) {{
  unsigned long long due = before;
  while (due == before) due = look(&grid->due);
  __threadfence();
  return due;
}}

/* Wait for all blocks in the midst of a step; `due` is known to the first thread. */
__device__ __forceinline__ void meet(unsigned long long& due, Grid* grid, Block& own) {{
  bool releases = is_last(grid, own);
  if (threadIdx.x == 0) {{
    if (releases) {{
      due ^= FLIP;
      release(due, grid);
    }} else {{
      due = wait(due, grid);
    }}
  }}
  __syncthreads();
}}

/* Write into its block how many indices a step has. */
__device__ __forceinline__ void put_count(long long n, const long long* step, long long* words) {{
  words[step[{BLOCK}]] = n;
  words[step[{BLOCK}] + step[{PLACE}]] = n;
}}

/* Read how many indices steps have, by all threads of a block. */
__device__ __forceinline__ void read_counts(long long* words, unsigned steps, char* origin) {{
  for (unsigned number = threadIdx.x; number < steps; number += blockDim.x) {{
    const long long* step = words + {STEP} * number;
    if (step[{COUNT}] != 0) {{
      put_count(look((const long long*)(origin + step[{COUNT}])), step, words);
    }}
  }}
  __syncthreads();
}}

/* The number of the first step after another one that has indices or a total, or END. */
__device__ __forceinline__ unsigned next_step(
    unsigned last, const long long* words, unsigned steps, const long long* until, long long most,
    Grid* grid) {{
  unsigned number = last + 1;
  if (last == START) grid->times = 0;
  for (;;) {{
    for (; number < steps; number++) {{
      const long long* step = words + {STEP} * number;
      if (words[step[{BLOCK}]] != 0 || step[{TOTAL}] != 0) return number;
    }}
    grid->times += 1;
    if (grid->times >= most || (until != nullptr && look(until) != 0)) return END;
    number = 0;
  }}
}}

/* Begin the next step; the other blocks hear of it unless this one makes it alone. */
__device__ __forceinline__ void begin_step(
    unsigned long long& due, const long long* words, unsigned steps, const long long* until,
    long long most, Grid* grid, Block& own) {{
  own.step = next_step(own.step, words, steps, until, most, grid);
  own.n = own.step == END ? 0 : (unsigned)words[words[{STEP} * own.step + {BLOCK}]];
  own.is_alone = own.step != END && own.n <= blockDim.x;
  if (own.is_alone) return;
  due = (~due & FLIP) | (unsigned long long)own.step << 32 | own.n;
  release(due, grid);
}}

/* Begin the step that another block has begun. */
__device__ __forceinline__ void follow(
    unsigned long long& due, long long* words, Grid* grid, Block& own) {{
  due = wait(due, grid);
  own.step = (unsigned)((due & ~FLIP) >> 32);
  own.n = (unsigned)due;
  own.is_alone = false;
  if (own.step != END) put_count(own.n, words + {STEP} * own.step, words);
}}

/* The sum of this thread's value and those of the threads before it, and that of all of a block. */
__device__ __forceinline__ long long sum_in_block(long long value, long long& all, Block& own) {{
  unsigned lane = threadIdx.x % 32;
  value = sum_up_to(value, lane);
  if (lane == 31) own.warps[threadIdx.x / 32] = value;
  __syncthreads();
  all = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; warp++) {{
    if (warp < threadIdx.x / 32) value += own.warps[warp];
    all += own.warps[warp];
  }}
  __syncthreads();
  return value;
}}

/* Make a scan; each block has a range of indices. */
template <class Body> __device__ __forceinline__ void scan(
    Body body, long long total, char* origin, unsigned long long& due, Grid* grid, Block& own) {{
  unsigned n = own.n, blocks = own.is_alone ? 1 : gridDim.x, block = own.is_alone ? 0 : blockIdx.x;
  unsigned rounds = (n + blocks * blockDim.x - 1) / (blocks * blockDim.x);
  unsigned first = block * rounds * blockDim.x + threadIdx.x;
  long long before = 0, all = 0;
  if (!own.is_alone) {{
    long long count = 0;
    for (unsigned round = 0; round < rounds; round++) {{
      unsigned i = first + round * blockDim.x;
      if (i < n) body((int)i, count, false);
    }}
    sum_in_block(count, all, own);
    if (threadIdx.x == 0) grid->sums[block] = all;
    meet(due, grid, own);
    count = 0;
    for (unsigned other = threadIdx.x; other < block; other += blockDim.x) {{
      count += grid->sums[other];
    }}
    sum_in_block(count, before, own);
  }}
  for (unsigned round = 0; round < rounds; round++) {{
    unsigned i = first + round * blockDim.x;
    long long count = 0;
    if (i < n) body((int)i, count, false);
    long long end = sum_in_block(count, all, own) + before - count;
    if (i < n) body((int)i, end, true);
    before += all;
  }}
  if (block == blocks - 1 && threadIdx.x == 0 && total != 0) *(long long*)(origin + total) = before;
}}

}}  // namespace jet
"""

_KERNEL = f"""
extern "C" __global__ void __launch_bounds__({THREADS}, 1) {SYMBOL}(
    const long long* program, unsigned length, unsigned steps, const long long* until,
    long long most, jet::Grid* grid, long long* times, char* origin) {{{{
  extern __shared__ long long words[];
  __shared__ jet::Block own;
  for (unsigned i = threadIdx.x; i < length; i += blockDim.x) words[i] = program[i];
  unsigned long long due = 0;
  if (threadIdx.x == 0) {{{{
    due = jet::look(&grid->due);
    own.step = jet::START;
  }}}}
  bool leads = jet::is_last(grid, own);
  for (;;) {{{{
    if (leads) jet::read_counts(words, steps, origin);
    if (threadIdx.x == 0) {{{{
      if (leads) {{{{
        jet::begin_step(due, words, steps, until, most, grid, own);
      }}}} else {{{{
        jet::follow(due, words, grid, own);
      }}}}
    }}}}
    __syncthreads();
    if (own.step == jet::END) break;
    const long long* step = words + {STEP} * own.step;
    const long long* block = words + step[{BLOCK}];
    unsigned n = own.n, blocks = own.is_alone ? 1 : gridDim.x;
    unsigned warp = threadIdx.x / 32 * blocks + (own.is_alone ? 0 : blockIdx.x);
    unsigned first = 32 * warp + threadIdx.x % 32, stride = blocks * blockDim.x;
    switch (step[{CASE}]) {{{{
{{cases}}
    }}}}
    if (own.is_alone) {{{{
      __syncthreads();
    }}}} else {{{{
      leads = jet::is_last(grid, own);
    }}}}
  }}}}
  if (leads && threadIdx.x == 0) *times = grid->times;
}}}}
"""

_CASE = """\
    case {number}: {{
{arguments}
      {launch}
      break;
    }}"""
_LAUNCHES = {
    Kind.FOR: "for (unsigned i = first; i < n; i += stride) {name}({given});",
    Kind.SCAN: (
        "jet::scan([&](int i, long long& acc, bool last_pass) {{ {name}({given}); }}, "
        f"step[{TOTAL}], origin, due, grid, own);"
    ),
}
_LEADING = {Kind.FOR: ["(int)i"], Kind.SCAN: ["i", "acc", "last_pass"]}


def cases(modules: tuple[ModuleType, ...]) -> dict[str, int]:
    """Return the workunits of some modules that programs can call, and their numbers."""
    return {name: number for number, name in enumerate(_callable(modules))}


@cache
def program_source(modules: tuple[ModuleType, ...]) -> str:
    """Return the CUDA C of programs of some modules' workunits, which have names of their own."""
    found = _callable(modules)
    functions = map(print_function, with_callees(found.values()))
    printed = "\n".join(_case(number, d) for number, d in enumerate(found.values()))
    kernel = _KERNEL.format(cases=printed)
    return "\n".join([templates.ATOMICS, templates.WARPS, _GRID, *functions, kernel])


def _callable(modules: tuple[ModuleType, ...]) -> Mapping[str, Definition]:
    return {
        name: definition
        for module in modules
        for name, definition in read_workunits(module).items()
        if definition.kind in _LAUNCHES
    }


def _case(number: int, definition: Definition) -> str:
    kinds = list(definition.arguments.values())
    lines = [
        f"      {type_of(kind)} a{place} = {_argument(f'block[{place}]', kind)};"
        for place, kind in enumerate(kinds, 1)
    ]
    given = [*_LEADING[definition.kind], *(f"a{place}" for place in range(1, len(kinds) + 1))]
    launch = _LAUNCHES[definition.kind].format(name=definition.name, given=", ".join(given))
    return _CASE.format(number=number, arguments="\n".join(lines), launch=launch)


def _argument(word: str, kind: str | View) -> str:
    value = word
    if isinstance(kind, View):
        value = f"(origin + {word})"
    elif kind.startswith("float"):
        value = f"__longlong_as_double({word})"
    return f"({type_of(kind)}){value}"
