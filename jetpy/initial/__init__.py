"""Initial partition of the coarsest graph."""
