"""Kernels between levels."""
