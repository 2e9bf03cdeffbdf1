"""How good a partition is, in numbers, tables and notebooks."""
