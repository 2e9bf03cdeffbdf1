"""Refinement: Jetlp or independent sets, and rebalancing, over a connectivity table."""
