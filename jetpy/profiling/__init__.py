"""Profiling: the time of every kernel, and the memory traffic of launches."""
