"""Mapping files for MPI launchers, which give the location of each rank.

A task is a rank, and a PE is a core. The number of hosts determines which levels of the machine
make up a host. By default, processors are the first level and nodes the second, as in "4:8:6".
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jetpy.errors import MissingFileError, OptionError, cannot_read
from jetpy.io.atomic import atomic_write
from jetpy.mapping.hostlist import expanded
from jetpy.problem.machine import Machine

if TYPE_CHECKING:
    from jetpy.result.mapping import Mapping


def read_hosts(text: str) -> list[str]:
    """Return the host names in a file, the first word of each line, or in comma-separated text.

    Names may have ranges in brackets, as in Slurm. Duplicates are dropped, and so are comments
    after ``#`` in a file. A single name without brackets is that of a file; a comma after it makes
    it a host.

    Raises
    ------
    OptionError
        If there is no name, or a range is invalid.
    MissingFileError
        If the file does not exist.
    JetpyError
        If the file cannot be read.

    Examples
    --------
    >>> read_hosts("node1,node2,node1")
    ['node1', 'node2']
    >>> read_hosts("n[01-03,7],m2")
    ['n01', 'n02', 'n03', 'n7', 'm2']
    """
    if os.path.exists(text):
        listed = _first_words(Path(text))
    elif text and not set(text) & set(",[]"):
        raise MissingFileError(
            f"hosts is {text!r}, but there is no such file; give names separated by commas, and a "
            "comma after a single name"
        )
    else:
        listed = [text]
    names = [name for words in listed for name in expanded(words)]
    if not names:
        raise OptionError(
            f"hosts is {text!r}, which has no host name; give names separated by commas, or a "
            "file with one on each line"
        )
    return list(dict.fromkeys(names))


def _first_words(path: Path) -> list[str]:
    """Return the first word of each line that is not empty."""
    try:
        lines = path.read_text("utf-8-sig", "replace").splitlines()
    except OSError as error:
        raise cannot_read(path, error) from error
    words = [line.partition("#")[0].split() for line in lines]
    return [found[0] for found in words if found]


def write_rankfile(
    path: str | os.PathLike[str], mapping: Mapping, hosts: Sequence[str] | None = None
) -> None:
    """Write a rankfile for Open MPI: the host, processor and core of each rank.

    Cores and processors have the logical indices of Open MPI, as shown by ``lstopo -l``.

    Parameters
    ----------
    path : path
    mapping : Mapping
        With at most one task on each PE.
    hosts : sequence of str, optional
        Host names, in the order of their PEs. By default ``+n0``, ``+n1``, ..., which Open MPI
        takes as the first, second, ... of its hosts.

    Raises
    ------
    OptionError
        If a PE has several tasks, the machine has no hierarchy, or no level has one group per host.
    JetpyError
        If the file cannot be written.

    Examples
    --------
    >>> import jetpy
    >>> ranks = jetpy.generators.grid(2, 4)
    >>> result = jetpy.map_processes(ranks, "2:2:2", "1:10:100", threads=1)
    >>> write_rankfile("ranks.txt", result, ["a", "b"])
    >>> Path("ranks.txt").read_text().splitlines()[0]  # processor 0 of a, core 0
    'rank 0=a slot=0:0'
    """
    check_ranks(len(mapping.pe), mapping.machine)
    node = _node_level(mapping.machine, hosts)
    host, core = np.divmod(mapping.pe, _size(mapping.machine, node))
    names = hosts or [f"+n{number}" for number in range(_count(mapping.machine, node))]
    if node > 1:
        processors, cores = np.divmod(core, _size(mapping.machine, node - 1))
        slots = [f"{p}:{c}" for p, c in zip(processors, cores, strict=True)]
    else:
        slots = [f"{c}" for c in core]
    _write(
        path,
        (
            f"rank {rank}={names[h]} slot={slot}"
            for rank, (h, slot) in enumerate(zip(host, slots, strict=True))
        ),
    )


def write_slurm_hostfile(
    path: str | os.PathLike[str], mapping: Mapping, hosts: Sequence[str]
) -> None:
    """Write the host of each rank, one per line, for SLURM_HOSTFILE and ``srun -m arbitrary``.

    Slurm assigns the cores of each host to its ranks in rank order.

    Parameters
    ----------
    path : path
    mapping : Mapping
        With at most one task on each PE.
    hosts : sequence of str
        Host names, in the order of their PEs.

    Raises
    ------
    OptionError, JetpyError
        Under the conditions of `write_rankfile`.
    """
    check_ranks(len(mapping.pe), mapping.machine)
    node = _node_level(mapping.machine, hosts)
    _write(path, (hosts[h] for h in mapping.pe // _size(mapping.machine, node)))


def check_hosts(machine: Machine, hosts: Sequence[str] | None) -> None:
    """Check that hosts fit a machine, which must have a hierarchy.

    Raises
    ------
    OptionError
        If they do not, or a name is invalid.
    """
    _node_level(machine, hosts)


def check_ranks(n: int, machine: Machine) -> None:
    """Check that there are at most as many tasks as PEs, so that no PE has two.

    Raises
    ------
    OptionError
        If there are more tasks than PEs.
    """
    if n > machine.k:
        raise OptionError(
            f"there are {n} tasks, but {machine.k} PEs; a launcher starts one rank on each PE. "
            "Use a machine with more PEs, or a graph with one vertex for each rank"
        )


def _node_level(machine: Machine, hosts: Sequence[str] | None) -> int:
    """Return the number of levels, from the lowest, that make up a host."""
    levels = len(machine.hierarchy)
    if not levels:
        raise OptionError(
            "the machine has no hierarchy, so it has no hosts; give a hierarchy, for example 4:8:6"
        )
    if hosts is None:
        return min(2, levels)
    for name in hosts:
        if not name or any(letter.isspace() for letter in name) or hosts.count(name) > 1:
            raise OptionError(
                f"host {name!r} is not a valid name; each must be unique and without blanks"
            )
    fitting = [level for level in range(levels + 1) if _count(machine, level) == len(hosts)]
    if not fitting:
        counts = " or ".join(f"{_count(machine, level)}" for level in range(levels, -1, -1))
        raise OptionError(
            f"there are {len(hosts)} hosts, but the hierarchy {machine} has {counts}; give one "
            "name for each host"
        )
    return min(fitting, key=lambda level: abs(level - 2))


def _size(machine: Machine, level: int) -> int:
    """Return the number of PEs in a group of the lowest `level` levels."""
    return machine.group_sizes[level - 1] if level else 1


def _count(machine: Machine, level: int) -> int:
    """Return the number of groups of the lowest `level` levels."""
    return machine.k // _size(machine, level)


def _write(path: str | os.PathLike[str], lines: Iterator[str]) -> None:
    with atomic_write(path) as stream:
        stream.writelines(f"{line}\n".encode() for line in lines)
