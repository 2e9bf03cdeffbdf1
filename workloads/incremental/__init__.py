"""Kernels of graphs that change."""
