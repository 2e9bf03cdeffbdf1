"""Meshes: graphs of their cells and nodes, and files of theirs with a part for each cell."""
