"""Coarsening: two-hop matching and contraction, level by level (Jet, section 3.1)."""
