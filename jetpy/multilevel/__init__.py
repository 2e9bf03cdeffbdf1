"""The order of the stages: hierarchies, levels, further hierarchies, generations."""
