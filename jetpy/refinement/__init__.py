"""Refinement: Jetlp, weak and strong rebalancing over a connectivity table (Jet, section 4)."""
