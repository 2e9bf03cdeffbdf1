"""Coarsening, level by level: two-hop matching or union-find, then contraction."""
