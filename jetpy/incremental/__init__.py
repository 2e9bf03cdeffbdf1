"""Partitions of graphs that change: a bucket list, batches of modifiers, placement (iG-kway)."""
