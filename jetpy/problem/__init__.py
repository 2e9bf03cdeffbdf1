"""Problem definition: options, presets, constraints, machines; and metrics of a solution."""
