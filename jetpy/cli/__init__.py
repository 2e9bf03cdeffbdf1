"""The command line, with one module per command; slow imports are deferred."""
