/* Stands in for a GPU that runs one kernel: fibers take turns wherever threads wait for others.

   A block goes on until it waits for other blocks, so that it is ahead of these by as much as they
   let it. */

#include <ucontext.h>

#include <vector>

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)

struct Dimension {
  unsigned x;
};
static Dimension threadIdx, blockIdx, gridDim, blockDim;

namespace standin {

struct Meeting {
  unsigned arrived = 0, number = 0;
};
struct Warp {
  Meeting meeting;
  long long values[32];
};
struct Block {
  Meeting meeting;
  std::vector<Warp> warps;
  std::vector<long long> words, own;
};

static std::vector<Block> blocks;
static std::vector<ucontext_t> fibers;
static std::vector<char> is_done;
static ucontext_t host;
static unsigned current, stride, atomics;

static void go_on(unsigned fiber) {
  current = fiber;
  threadIdx.x = fiber % blockDim.x;
  blockIdx.x = fiber / blockDim.x;
}

/* Let another fiber go on, of this block or of the next one that has any. */
static void yield(bool is_within) {
  unsigned before = current, next = before;
  if (is_within) {
    unsigned first = before - before % blockDim.x;
    do next = first + (next + stride) % blockDim.x;
    while (is_done[next]);
  } else {
    next = (before / blockDim.x + 1) % gridDim.x * blockDim.x;
    while (is_done[next]) next = (next + 1) % fibers.size();
  }
  if (next == before) return;
  go_on(next);
  swapcontext(&fibers[before], &fibers[next]);
  go_on(before);
}

static void meet(Meeting& meeting, unsigned count) {
  unsigned number = meeting.number;
  if (++meeting.arrived == count) {
    meeting.arrived = 0;
    meeting.number++;
  }
  while (meeting.number == number) yield(true);
}

/* What a lane of the warp gives. */
static long long exchange(long long value, unsigned lane) {
  Warp& warp = blocks[blockIdx.x].warps[threadIdx.x / 32];
  warp.values[threadIdx.x % 32] = value;
  meet(warp.meeting, 32);
  long long found = warp.values[lane];
  meet(warp.meeting, 32);
  return found;
}

template <class T> static T& own() {
  return *(T*)blocks[blockIdx.x].own.data();
}

static long long* words() { return blocks[blockIdx.x].words.data(); }

static void interrupt() {
  if (++atomics % 16 == 0) yield(false);
}

template <class T> static T look(const T* at) {
  yield(false);
  return *(const volatile T*)at;
}

}  // namespace standin

static void __syncthreads() { standin::meet(standin::blocks[blockIdx.x].meeting, blockDim.x); }
static void __threadfence() {}
static long long __shfl_up_sync(unsigned, long long value, unsigned distance) {
  unsigned lane = threadIdx.x % 32;
  return standin::exchange(value, lane < distance ? lane : lane - distance);
}
static long long __shfl_xor_sync(unsigned, long long value, unsigned bits) {
  return standin::exchange(value, threadIdx.x % 32 ^ bits);
}
static double __longlong_as_double(long long bits) {
  union {
    long long bits;
    double value;
  } both = {bits};
  return both.value;
}
template <class T, class U> static T atomicAdd(T* at, U value) {
  standin::interrupt();
  T before = *at;
  *at += value;
  return before;
}
template <class T> static T atomicMin(T* at, T value) {
  T before = *at;
  if (value < before) *at = value;
  return before;
}
template <class T> static T atomicMax(T* at, T value) {
  T before = *at;
  if (value > before) *at = value;
  return before;
}
template <class T> static T atomicOr(T* at, T value) {
  T before = *at;
  *at |= value;
  return before;
}
template <class T> static T atomicCAS(T* at, T expected, T value) {
  standin::interrupt();
  T before = *at;
  if (before == expected) *at = value;
  return before;
}
