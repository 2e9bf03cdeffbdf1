"""Kernels of coarsening."""
