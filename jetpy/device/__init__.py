"""Engines, kernels and graphs together: back ends by name, and graphs on them."""
