"""Benchmarks of jetpy and other partitioners; README.md in this folder describes them."""
