"""Orderings of sparse matrices."""
