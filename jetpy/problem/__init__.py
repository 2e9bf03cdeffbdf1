"""What a run is asked for: options, presets, constraints and machines; measures of a solution."""
