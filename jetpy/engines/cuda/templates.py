"""CUDA C around workunits: a kernel template for each verb."""

from __future__ import annotations

FOR_THREADS = 128
"""Maximum threads per block of a *for* kernel."""
SUM_THREADS, SUM_BLOCKS = 256, 4096
"""Threads per block and maximum blocks of a reduction; each thread may process several indices."""
SCAN_THREADS, SCAN_ROUNDS = 256, 4
"""Threads per block of a scan, and indices per thread."""
TILE = SCAN_THREADS * SCAN_ROUNDS
"""Indices per block of a scan."""
TILE_BYTES = 24

ATOMICS = """
__device__ __forceinline__ int atomic_fetch_add(int* at, int value) {
  return atomicAdd(at, value);
}
__device__ __forceinline__ unsigned atomic_fetch_add(unsigned* at, unsigned value) {
  return atomicAdd(at, value);
}
__device__ __forceinline__ long long atomic_fetch_add(long long* at, long long value) {
  return (long long)atomicAdd((unsigned long long*)at, (unsigned long long)value);
}
__device__ __forceinline__ unsigned long long atomic_fetch_add(
    unsigned long long* at, unsigned long long value) {
  return atomicAdd(at, value);
}
template <class T> __device__ __forceinline__ T atomic_fetch_min(T* at, T value) {
  return atomicMin(at, value);
}
template <class T> __device__ __forceinline__ T atomic_fetch_max(T* at, T value) {
  return atomicMax(at, value);
}
template <class T> __device__ __forceinline__ T atomic_fetch_or(T* at, T value) {
  if constexpr (sizeof(T) == 8) {
    return (T)atomicOr((unsigned long long*)at, (unsigned long long)value);
  } else {
    return atomicOr(at, value);
  }
}
template <class T> __device__ __forceinline__ T atomic_compare_exchange(
    T* at, T expected, T value) {
  if constexpr (sizeof(T) == 8) {
    return (T)atomicCAS(
        (unsigned long long*)at, (unsigned long long)expected, (unsigned long long)value);
  } else {
    return atomicCAS(at, expected, value);
  }
}
"""

VERBS = f"""
namespace jet {{

constexpr unsigned ALL = 0xffffffffu;

/* Of a reduction: what blocks have added up, and how many; zeros before and after each. */
struct Sum {{
  unsigned long long total;
  unsigned blocks;
}};

/* Of a scan: what a tile's indices add up to, that and all before, and whether these are known:
   4 * scan + 1 for the first, + 2 for both. */
struct Tile {{
  long long own;
  long long end;
  unsigned state;
}};

__device__ __forceinline__ long long sum_of_warp(long long value) {{
  for (int distance = 16; distance > 0; distance /= 2) {{
    value += __shfl_xor_sync(ALL, value, distance);
  }}
  return value;
}}

/* The sum of this lane's value and those of the lanes before it. */
__device__ __forceinline__ long long sum_up_to(long long value, unsigned lane) {{
  for (unsigned distance = 1; distance < 32; distance *= 2) {{
    long long other = __shfl_up_sync(ALL, value, distance);
    if (lane >= distance) value += other;
  }}
  return value;
}}

__device__ __forceinline__ void add_up(long long value, Sum* sum, long long* answer) {{
  __shared__ long long warps[{SUM_THREADS} / 32];
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < {SUM_THREADS} / 32; warp++) value += warps[warp];
  if (gridDim.x == 1) {{
    *answer = value;
    return;
  }}
  atomicAdd(&sum->total, (unsigned long long)value);
  __threadfence();
  if (atomicAdd(&sum->blocks, 1u) == gridDim.x - 1) {{
    *answer = (long long)atomicExch(&sum->total, 0ull);
    sum->blocks = 0;
  }}
}}

/* The sum of all tiles before this one, by one warp, which looks at 32 of them at a time. */
__device__ __forceinline__ long long sum_before(Tile* tiles, int tile, unsigned scan) {{
  long long before = 0;
  for (int at = tile - 1 - (int)(threadIdx.x % 32);; at -= 32) {{
    unsigned state = 4 * scan + 2;
    long long value = 0;
    if (at >= 0) {{
      volatile Tile* other = tiles + at;
      do {{
        state = other->state;
      }} while (state != 4 * scan + 1 && state != 4 * scan + 2);
      __threadfence();
      value = state == 4 * scan + 2 ? other->end : other->own;
    }}
    unsigned ends = __ballot_sync(ALL, state == 4 * scan + 2);
    int last = ends != 0 ? __ffs((int)ends) - 1 : 31;
    before += sum_of_warp((int)(threadIdx.x % 32) <= last ? value : 0);
    if (ends != 0) return before;
  }}
}}

/* Publish what a tile adds up to; return what all before it do. By one warp. */
__device__ __forceinline__ long long look_back(
    long long own, Tile* tiles, int tile, unsigned scan, long long* answer) {{
  bool is_first = threadIdx.x % 32 == 0;
  if (gridDim.x > 1 && tile > 0 && is_first) {{
    tiles[tile].own = own;
    __threadfence();
    *(volatile unsigned*)&tiles[tile].state = 4 * scan + 1;
  }}
  long long before = tile > 0 ? sum_before(tiles, tile, scan) : 0;
  if (is_first) {{
    if (tile == gridDim.x - 1) {{
      *answer = before + own;
    }} else {{
      tiles[tile].end = before + own;
      __threadfence();
      *(volatile unsigned*)&tiles[tile].state = 4 * scan + 2;
    }}
  }}
  return before;
}}

}}  // namespace jet
"""

FOR = f"""
extern "C" __global__ void __launch_bounds__({FOR_THREADS}) run_{{name}}(
    unsigned n{{declared}}) {{{{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{name}}(({{index}})i{{given}});
}}}}
"""

REDUCE = f"""
extern "C" __global__ void __launch_bounds__({SUM_THREADS}) run_{{name}}(
    unsigned n{{declared}}, jet::Sum* sum, long long* answer) {{{{
  long long total = 0;
  for (unsigned i = blockIdx.x * {SUM_THREADS}u + threadIdx.x; i < n;
       i += gridDim.x * {SUM_THREADS}u) {{{{
    {{name}}(({{index}})i, total{{given}});
  }}}}
  jet::add_up(total, sum, answer);
}}}}
"""

SCAN = f"""
extern "C" __global__ void __launch_bounds__({SCAN_THREADS}) run_{{name}}(
    unsigned n{{declared}}, jet::Tile* tiles, unsigned* ticket, unsigned scan,
    long long* answer) {{{{
  __shared__ long long warps[32];
  __shared__ unsigned turn;
  unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {{{{
    turn = 0;
    if (gridDim.x > 1) {{{{
      turn = atomicAdd(ticket, 1u);
      if (turn == gridDim.x - 1) *ticket = 0;
    }}}}
  }}}}
  __syncthreads();
  unsigned tile = turn, first = tile * {TILE}u + threadIdx.x;
  long long own[{SCAN_ROUNDS}], sums[{SCAN_ROUNDS}];
  for (unsigned round = 0; round < {SCAN_ROUNDS}; round++) {{{{
    unsigned i = first + round * {SCAN_THREADS}u;
    own[round] = 0;
    if (i < n) {{name}}(({{index}})i, own[round], false{{given}});
    sums[round] = jet::sum_up_to(own[round], lane);
    if (lane == 31) warps[round * {SCAN_THREADS // 32} + threadIdx.x / 32] = sums[round];
  }}}}
  __syncthreads();
  if (threadIdx.x < 32) {{{{
    long long value = warps[lane], end = jet::sum_up_to(value, lane);
    long long all = __shfl_sync(jet::ALL, end, 31);
    warps[lane] = jet::look_back(all, tiles, (int)tile, scan, answer) + end - value;
  }}}}
  __syncthreads();
  for (unsigned round = 0; round < {SCAN_ROUNDS}; round++) {{{{
    unsigned i = first + round * {SCAN_THREADS}u;
    long long before = warps[round * {SCAN_THREADS // 32} + threadIdx.x / 32];
    before += sums[round] - own[round];
    if (i < n) {{name}}(({{index}})i, before, true{{given}});
  }}}}
}}}}
"""


def symbol(workunit: str) -> str:
    """Return the name of a workunit's kernel."""
    return f"run_{workunit}"
