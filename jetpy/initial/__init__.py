"""Initial partition of the coarsest graph, on the host."""
