"""Kernels of initial partitioning."""
