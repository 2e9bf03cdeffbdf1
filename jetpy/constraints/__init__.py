"""Constraints and objectives: connected parts, fixed vertices, several weights, volume."""
