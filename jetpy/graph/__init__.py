"""The CSR graph, its rules, and what it can be made of in memory."""
