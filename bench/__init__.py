"""Measurements of jetpy beside other partitioners; see README.md in this folder."""
