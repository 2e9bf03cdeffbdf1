"""Converters to plain arrays, one file for each kind of graph object."""
