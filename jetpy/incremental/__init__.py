"""Incremental partitioning of changing graphs: bucket list, modifiers, placement (iG-kway)."""
