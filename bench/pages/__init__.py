"""Tables of the documentation, generated from the files in `bench/studies`."""
