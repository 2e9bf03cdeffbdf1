"""Kernels of refinement and rebalancing."""
