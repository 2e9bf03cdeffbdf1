"""Back ends by name, and graphs on back ends."""
