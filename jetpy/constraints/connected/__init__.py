"""Connected parts."""
