"""Process mapping: placing the tasks of an application on the PEs of a machine."""
