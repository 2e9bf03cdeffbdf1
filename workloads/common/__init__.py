"""Kernels and device functions that several stages use."""
