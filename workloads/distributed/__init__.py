"""Kernels of one graph on several processes."""
