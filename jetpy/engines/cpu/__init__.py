"""Engine for CPUs: workunits compiled by LLVM, run by the threads of one process.

`source` prints modules of workunits as LLVM's intermediate representation (IR). `llvm` compiles and
loads it. `compiling` does so once per process and keeps object files in jetpy's cache.
`thread_pool` starts threads; `scheduler`, in the kernel language, distributes launches over them.
"""

SUFFIX = ".o"
"""Suffix of files with compiled code."""
FOR, REDUCE, SCAN, TASKS = range(4)
"""Kinds of launches; each index of `TASKS` deserves a thread."""
GRAIN = 256
"""Indices of other launches that deserve a thread."""
