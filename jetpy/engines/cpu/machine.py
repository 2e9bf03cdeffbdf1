"""Thread synchronisation and calls by address, by LLVM's instructions and POSIX threads.

`TEXT` defines the functions without a body; `scheduler` calls them by name. Stores release; loads
and exchanges are sequentially consistent. Addresses are integers.
"""

from __future__ import annotations

from jetpy.kernel_language.pykokkos_standin import function

TEXT = """\
declare i32 @sched_yield()
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
define internal i64 @plain_load(i64 %address) alwaysinline {
%p = inttoptr i64 %address to ptr
%v = load i64, ptr %p, align 8
ret i64 %v
}
define internal void @plain_store(i64 %address, i64 %value) alwaysinline {
%p = inttoptr i64 %address to ptr
store i64 %value, ptr %p, align 8
ret void
}
define internal i64 @load(i64 %address) alwaysinline {
%p = inttoptr i64 %address to ptr
%v = load atomic i64, ptr %p seq_cst, align 8
ret i64 %v
}
define internal void @store(i64 %address, i64 %value) alwaysinline {
%p = inttoptr i64 %address to ptr
store atomic i64 %value, ptr %p release, align 8
ret void
}
define internal i64 @exchange(i64 %address, i64 %value) alwaysinline {
%p = inttoptr i64 %address to ptr
%v = atomicrmw xchg ptr %p, i64 %value seq_cst
ret i64 %v
}
define internal i64 @fetch_add(i64 %address, i64 %value) alwaysinline {
%p = inttoptr i64 %address to ptr
%v = atomicrmw add ptr %p, i64 %value seq_cst
ret i64 %v
}
define internal i64 @compare_exchange(i64 %address, i64 %expected, i64 %value) alwaysinline {
%p = inttoptr i64 %address to ptr
%pair = cmpxchg ptr %p, i64 %expected, i64 %value seq_cst seq_cst
%v = extractvalue { i64, i1 } %pair, 0
ret i64 %v
}
define internal i64 @call_range(i64 %function, i64 %start, i64 %stop, i64 %acc, i64 %last,
    i64 %block) alwaysinline {
%p = inttoptr i64 %function to ptr
%v = call i64 %p(i64 %start, i64 %stop, i64 %acc, i64 %last, i64 %block)
ret i64 %v
}
define internal void @pause() alwaysinline {
PAUSE
ret void
}
define internal void @give_way() alwaysinline {
%v = call i32 @sched_yield()
ret void
}
define internal void @prepare(i64 %mutex, i64 %condition) {
%m = inttoptr i64 %mutex to ptr
%c = inttoptr i64 %condition to ptr
%v = call i32 @pthread_mutex_init(ptr %m, ptr null)
%w = call i32 @pthread_cond_init(ptr %c, ptr null)
ret void
}
define internal void @lock(i64 %mutex) {
%m = inttoptr i64 %mutex to ptr
%v = call i32 @pthread_mutex_lock(ptr %m)
ret void
}
define internal void @unlock(i64 %mutex) {
%m = inttoptr i64 %mutex to ptr
%v = call i32 @pthread_mutex_unlock(ptr %m)
ret void
}
define internal void @wait(i64 %condition, i64 %mutex) {
%c = inttoptr i64 %condition to ptr
%m = inttoptr i64 %mutex to ptr
%v = call i32 @pthread_cond_wait(ptr %c, ptr %m)
ret void
}
define internal void @signal(i64 %condition) {
%c = inttoptr i64 %condition to ptr
%v = call i32 @pthread_cond_signal(ptr %c)
ret void
}
"""
PAUSES = {
    "x86": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
"""Instructions that yield a core's resources to its other hardware thread during a busy wait."""


def text_for(processor: str) -> str:
    """Return the functions for a processor, named as by `platform.machine`."""
    pauses = (lines for name, lines in PAUSES.items() if processor.startswith(name))
    declaration, pause = next(pauses, ("", ""))
    return "\n".join([declaration, TEXT.replace("PAUSE", pause)])


@function
def plain_load(address: int) -> int:
    """Return the word at an address that no other thread writes."""


@function
def plain_store(address: int, value: int) -> None:
    """Store a word at an address that no other thread reads."""


@function
def load(address: int) -> int:
    """Return the word at an address."""


@function
def store(address: int, value: int) -> None:
    """Store a word at an address."""


@function
def exchange(address: int, value: int) -> int:
    """Store a word; return the previous one."""


@function
def fetch_add(address: int, value: int) -> int:
    """Add to a word; return the previous one."""


@function
def compare_exchange(address: int, expected: int, value: int) -> int:
    """Store a word if the current one is `expected`; return the previous one."""


@function
def call_range(function: int, start: int, stop: int, acc: int, last: int, block: int) -> int:
    """Call the range of a workunit (`source`), given its address."""


@function
def pause() -> None:
    """Yield the core's resources to its other hardware thread during a busy wait."""


@function
def give_way() -> None:
    """Yield this processor to another thread."""


@function
def prepare(mutex: int, condition: int) -> None:
    """Initialise a mutex and a condition variable."""


@function
def lock(mutex: int) -> None:
    """Lock a mutex."""


@function
def unlock(mutex: int) -> None:
    """Unlock a mutex."""


@function
def wait(condition: int, mutex: int) -> None:
    """Wait for a condition variable; the mutex is unlocked meanwhile."""


@function
def signal(condition: int) -> None:
    """Wake one thread that waits for a condition variable."""
