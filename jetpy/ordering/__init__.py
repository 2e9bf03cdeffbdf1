"""Orderings of sparse symmetric matrices, and what they cost a factorization."""
