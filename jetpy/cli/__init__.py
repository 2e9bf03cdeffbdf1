"""The command line: one module per command; whatever takes long to import is imported late."""
