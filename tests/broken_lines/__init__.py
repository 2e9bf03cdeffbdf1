"""Mutation testing: breaks one line of a kernel or driver at a time and runs the tests."""
