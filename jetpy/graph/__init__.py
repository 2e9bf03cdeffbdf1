"""The CSR graph, its invariants, and conversions from objects in memory."""
