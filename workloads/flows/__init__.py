"""Kernels of flows between pairs of parts."""
