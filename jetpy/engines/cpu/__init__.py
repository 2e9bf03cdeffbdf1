"""The engine for processors: workunits compiled by LLVM, on the threads of one process.

`source` prints modules of workunits as LLVM's intermediate representation (IR), `llvm` compiles and
loads it, `compiling` does so once a process and keeps object files in jetpy's cache. `scheduler` is
how threads share launches, written in the kernel language; `pool` starts the threads.
"""

SUFFIX = ".o"
"""Of the files that hold compiled code."""
FOR, REDUCE, SCAN, TASKS = range(4)
"""How a workunit is launched; each index of `TASKS` is worth a thread."""
GRAIN = 256
"""Indices of other launches that are worth one."""
