"""Parts that are connected."""
