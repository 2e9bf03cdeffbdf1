"""Tables and sentences of the documentation, generated from the files in `bench/studies`."""
