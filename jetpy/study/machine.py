"""The machine of a study: the facts of `jetpy doctor`, and the rooflines of its back ends."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jetpy.device.doctor import DoctorReport, versions
from jetpy.errors import JetpyError
from jetpy.io.atomic import atomic_write
from jetpy.study.tools import PACKAGES
from jetpy.study.triad import Roofline

FILE = "machine.json"


@dataclass(frozen=True)
class Machine:
    """A machine, and the rooflines of its back ends.

    Attributes
    ----------
    host : str
        Hash of its name.
    facts : mapping of str to object
        Output of ``jetpy doctor --json``, without the folders of the cache.
    roofs : mapping of str to Roofline
        By back end and threads, as in ``cpu/2``.
    programs : mapping of str to str
        Checksum of the file of each tool that is a program.
    """

    host: str
    facts: Mapping[str, Any]
    roofs: Mapping[str, Roofline] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)

    @property
    def processor(self) -> str:
        """Name of the processor."""
        return str(self.facts["processor"])

    @property
    def version(self) -> str:
        """Version of jetpy; empty if unknown."""
        return str(self.facts["version"])

    @property
    def gpus(self) -> list[str]:
        """Name, memory and driver of each GPU."""
        return list(self.facts["gpus"])

    @property
    def works(self) -> list[str]:
        """Back ends that compute correct results."""
        return [name for name, outcome in self.facts["back_ends"].items() if outcome["works"]]

    @property
    def identity(self) -> tuple[str, ...]:
        """The facts that distinguish it from other machines."""
        return self.host, self.processor, *self.gpus

    @property
    def id(self) -> str:
        """Default name of the machine."""
        return _hashed("\n".join(self.identity))

    def with_roofline(self, engine: str, found: Roofline) -> Machine:
        """Return the machine with a measured roofline."""
        return replace(self, roofs={**self.roofs, engine: found})


Machines = Mapping[str, Machine]
"""Machines by name or id."""


def machine_of(found: DoctorReport) -> Machine:
    """Return the machine of a doctor report, with the versions of other partitioners."""
    facts = {name: fact for name, fact in found.as_dict().items() if name != "cache"}
    peers = versions(tuple(PACKAGES.values()))
    return Machine(_hashed(platform.node()), {**facts, "packages": {**facts["packages"], **peers}})


def engine_name(backend: str, threads: int) -> str:
    """Return the key of a roofline.

    >>> engine_name("cpu", 2)
    'cpu/2'
    """
    return f"{backend}/{threads}"


def read_machines(folder: Path) -> dict[str, Machine] | None:
    """Return the machines that made the runs of a study; None if the file does not exist.

    Raises
    ------
    JetpyError
        If the file is not a study's.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        machines = {name: _machine(**own) for name, own in content["machines"].items()}
        assert all(machine.identity and machine.works for machine in machines.values())
        return machines
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        message = f"{path}: jetpy study did not write this file; remove it, or use another folder"
        raise JetpyError(message) from error


def _machine(
    host: str,
    facts: Mapping[str, Any],
    roofs: Mapping[str, Any],
    programs: Mapping[str, str] = MappingProxyType({}),
) -> Machine:
    rooflines = {engine: Roofline(**own) for engine, own in roofs.items()}
    return Machine(host, facts, rooflines, dict(programs))


def write_machines(folder: Path, machines: Machines) -> None:
    """Write the file with the machines of a study."""
    content = {"machines": {name: asdict(machine) for name, machine in machines.items()}}
    with atomic_write(folder / FILE) as stream:
        stream.write(f"{json.dumps(content, indent=2)}\n".encode())


def check_same(name: str, known: Machine, other: Machine) -> None:
    """Check that two machines of one name are the same machine.

    Raises
    ------
    JetpyError
        If they are not.
    """
    if known.identity != other.identity:
        raise JetpyError(
            f"two machines have the name {name}; run the study of one again with another name "
            "(--machine)"
        )


def joined_programs(name: str, known: Machine, other: Machine) -> dict[str, str]:
    """Return the programs of both descriptions of the machine of this name.

    Raises
    ------
    JetpyError
        If a tool is not the same program in both.
    """
    for tool, checksum in other.programs.items():
        if known.programs.get(tool, checksum) != checksum:
            raise JetpyError(
                f"the machine {name} has runs of another program {tool}; use another folder, or "
                "another name of the machine (--machine)"
            )
    return {**known.programs, **other.programs}


def check_version(folder: Path, known: Machine, other: Machine) -> None:
    """Check that the runs of two machines come from the same version of jetpy.

    Raises
    ------
    JetpyError
        If they do not.
    """
    if known.version and other.version and known.version != other.version:
        raise JetpyError(
            f"{folder} has runs of jetpy {known.version}, but this is {other.version}; use "
            "another folder"
        )


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
