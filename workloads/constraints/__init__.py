"""Kernels of constraints beside balance."""
