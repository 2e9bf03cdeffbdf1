"""Refinement: Jetlp or independent sets, and rebalancing, with a connectivity table."""
