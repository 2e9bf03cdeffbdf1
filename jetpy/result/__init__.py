"""What runs return."""
