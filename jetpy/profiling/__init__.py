"""Times every kernel of an engine, and counts what it moves."""
