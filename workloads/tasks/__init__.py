"""Kernels of partitions that one index finds: whole small graphs, and coarsest levels."""
