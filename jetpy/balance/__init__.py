"""Last steps on the input graph: keep the limit where packing can, and leave no part empty."""
