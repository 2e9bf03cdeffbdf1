"""Meshes: dual and nodal graphs, and mesh files with a part for each cell."""
