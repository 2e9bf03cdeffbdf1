"""Multilevel partitioning: order of the stages, hierarchies, V-cycles, generations."""
