"""One graph, several processes: each has a block of vertices, and all get one device's parts."""
