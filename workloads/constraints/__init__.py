"""Kernels of constraints other than balance."""
