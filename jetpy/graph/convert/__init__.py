"""Graphs as people have them: each kind of object becomes plain arrays in a file of its own."""
