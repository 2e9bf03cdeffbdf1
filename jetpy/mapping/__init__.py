"""Process mapping: assigning the tasks of an application to the PEs of a machine."""

from jetpy.mapping.launchers import read_hosts, write_rankfile, write_slurm_hostfile

__all__ = ["read_hosts", "write_rankfile", "write_slurm_hostfile"]
