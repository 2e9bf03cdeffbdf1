"""Reader of Gmsh files: MSH 2, 4.0 and 4.1, text and binary, partitioned or not.

meshio's reader keeps one physical group per cell, and does not read partitioned files, parametric
nodes, data of some cells only, or a cell without a group next to one with a group. Source of the
format: the Gmsh reference manual, section "MSH file format".
"""

from __future__ import annotations

import logging
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.meshes.formats import meshio
from jetpy.meshes.gmsh_groups import GEOMETRICAL, GROUPS, PART_GROUP, PHYSICAL, Groups, Tags
from jetpy.meshes.gmsh_numbers import Content, Numbers, integers, numbers_in, parsed

LOGGER = logging.getLogger("jetpy.input")
Ids = npt.NDArray[np.int64]
SAVE = "save it as MSH 4.1: gmsh FILE -save -save_all -format msh41 -o new.msh"
"""Remedy for files that Gmsh reads and jetpy does not."""
USED = {
    *("MeshFormat", "PhysicalNames", "Entities", "PartitionedEntities", "Nodes"),
    *("ParametricNodes", "Elements", "NodeData", "ElementData"),
}
UNIMPORTANT = {"Comments", "GhostElements", "MeshVersion"}
"""Sections whose content nobody misses in the output."""
_NAME = re.compile(r'^\s*(\d+)\s+(\d+)\s+"(.*)"', re.MULTILINE)
BEGIN = re.compile(rb"^\$(?!End)(\w+)[ \t]*\r?\n", re.MULTILINE)
"""The line that begins a section."""


@dataclass(frozen=True)
class Entity:
    """An entity: its groups, and the entity and dimension that it is a part of."""

    groups: Tags = ()
    tag: int = 0
    parent_dimension: int = 0


Entities = dict[tuple[int, int], Entity]
"""Entities by dimension and tag."""


@dataclass(frozen=True)
class ElementBlock:
    """Header of the elements of one entity and type; each has `width` numbers: its id and nodes."""

    dimension: int
    tag: int
    kind: str
    count: int
    width: int

    def entity(self, entities: Entities) -> Entity:
        """Return the entity."""
        alone = Entity((), self.tag, self.dimension)
        return entities.get((self.dimension, self.tag), alone)

    def is_between_parts(self, entities: Entities) -> bool:
        """Return whether Gmsh created the elements between the parts of a partition."""
        return self.entity(entities).parent_dimension != self.dimension


@dataclass(eq=False)
class _Block:
    """Elements of one type: ids, nodes in Gmsh's order, entities, and the groups of each."""

    kind: str
    ids: Ids
    nodes: Ids
    entities: Ids
    groups: Ids


@dataclass(eq=False)
class _File:
    """What was read so far."""

    path: Path
    names: dict[tuple[int, int], str] = field(default_factory=dict)
    entities: Entities = field(default_factory=dict)
    sets: dict[Tags, int] = field(default_factory=lambda: {(): 0})
    node_ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    points: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    blocks: list[_Block] = field(default_factory=list)
    data: list[tuple[str, str, Ids, npt.NDArray[np.float64]]] = field(default_factory=list)

    def set_of(self, groups: Tags) -> int:
        """Return the id of a set of groups."""
        return self.sets.setdefault(groups, len(self.sets))


def is_gmsh(path: Path) -> bool:
    """Return whether a file begins as those of Gmsh do."""
    with path.open("rb") as stream:
        return stream.read(64).lstrip().startswith((b"$MeshFormat", b"$Comments", b"$NOD"))


def read_gmsh(path: Path) -> Any:
    """Read a Gmsh file and return its `meshio.Mesh`.

    Its `info` has the physical groups of all cells (`Groups`, entry `gmsh:groups`). The cell data
    `gmsh:physical` is the first group of each cell, 0 without a group, and `gmsh:geometrical` its
    entity. An element that MSH 2 repeats for each of its groups becomes one cell. Of a partitioned
    file, cells get back the entities that Gmsh divided; the groups that `jetpy mesh` made for
    parts, and the elements between parts, are dropped. Sections that are not read are listed in
    the logger ``jetpy.input``.

    Raises
    ------
    FileFormatError
        If the file is damaged, or of a version or with cells that jetpy does not support.
    JetpyError
        If meshio is not installed.
    """
    file, content = _File(path), path.read_bytes()
    try:
        version, is_binary, size = format_of(content)
        for name, body in _sections(path, content, is_binary=is_binary):
            if name in ("NodeData", "ElementData"):
                file.data.append(_data(name, body, is_binary=is_binary))
            elif name == "PhysicalNames":
                _read_names(file, body)
            elif name == "ParametricNodes" or (name == "Nodes" and version < 4):
                _read_nodes_2(file, name, body, is_binary=is_binary)
            elif name == "Elements" and version < 4:
                _read_elements_2(file, body, is_binary=is_binary)
            elif name in ("Entities", "PartitionedEntities"):
                numbers = numbers_in(body, size, is_binary=is_binary)
                read_entities(file.entities, numbers, version, divided=name != "Entities")
            elif name == "Nodes":
                _read_nodes(file, numbers_in(body, size, is_binary=is_binary), version)
            elif name == "Elements":
                _read_elements(file, numbers_in(body, size, is_binary=is_binary), version)
        return _mesh(file)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except (ValueError, IndexError, OverflowError) as error:
        raise FileFormatError(f"{path}: this Gmsh file is damaged: {error}") from error


def format_of(content: Content) -> tuple[float, bool, type[Any]]:
    """Return the version, whether numbers are binary, and the type of counts."""
    match = re.search(rb"^\$MeshFormat\s+(\S+)\s+(\d+)\s+(\d+)[ \t]*\r?\n", content, re.MULTILINE)
    if match is None:
        raise FileFormatError(
            f"this is not MSH 2, 4.0 or 4.1, which begin with $MeshFormat; {SAVE}"
        )
    version, is_binary, bytes_of_size = float(match[1]), match[2] == b"1", int(match[3])
    if int(version) not in (2, 4) or version > 4.1:
        raise FileFormatError(f"the MSH version is {version}; jetpy reads 2, 4.0 and 4.1; {SAVE}")
    if version == 4.0 and is_binary:
        raise FileFormatError(f"jetpy reads MSH 4.0 as text only; {SAVE}")
    if is_binary and content[match.end() : match.end() + 4] != np.int32(1).tobytes():
        raise FileFormatError(f"the file is from a machine with another byte order; {SAVE}")
    return version, is_binary, np.uint64 if bytes_of_size == 8 else np.uint32


def _sections(path: Path, content: bytes, *, is_binary: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the sections that are used; log the others."""
    at = 0
    while (begin := BEGIN.search(content, at)) is not None:
        end = content.find(b"$End" + begin[1], begin.end())
        name = begin[1].decode()
        if end < 0:
            LOGGER.info("%s: $%s is not closed by $End%s", path, name, name)
            end = -1 if is_binary else content.find(b"\n$", begin.end())
            end = len(content) if end < 0 else end
        at = max(end, begin.end())
        if name in USED:
            yield name, content[begin.end() : end]
        elif name not in UNIMPORTANT:
            LOGGER.info("%s: the section $%s is not kept", path, name)


def _read_names(file: _File, body: bytes) -> None:
    for dimension, tag, name in _NAME.findall(body.decode(errors="replace")):
        file.names[int(dimension), int(tag)] = name


def read_entities(entities: Entities, numbers: Numbers, version: float, *, divided: bool) -> None:
    """Add the entities in a section, which Gmsh has divided or not."""
    if divided:
        _, ghosts = numbers.counts(2)
        numbers.ints(2 * ghosts)
    for dimension, count in enumerate(numbers.counts(4)):
        for _ in range(count):
            (tag,) = numbers.ints(1)
            parent_dimension, parent = numbers.ints(2) if divided else (dimension, tag)
            if divided:
                numbers.ints(*numbers.counts(1))  # partitions
            numbers.take(np.float64, 3 if dimension == 0 and version > 4.0 else 6)
            groups = tuple(map(abs, numbers.ints(*numbers.counts(1))))
            if dimension:
                numbers.ints(*numbers.counts(1))  # bounding entities
            before = entities.get((dimension, tag), Entity((), parent, parent_dimension))
            own = tuple(dict.fromkeys((*before.groups, *groups)))
            entities[dimension, tag] = Entity(own, before.tag, before.parent_dimension)


def _read_nodes(file: _File, numbers: Numbers, version: float) -> None:
    blocks = numbers.counts(4 if version > 4.0 else 2)[0]
    ids, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        first, second, is_parametric = numbers.ints(3)
        dimension = first if version > 4.0 else second
        width = 3 + dimension * (is_parametric != 0)
        (count,) = numbers.counts(1)
        if version > 4.0:
            ids.append(numbers.take(numbers.size, count).astype(np.int64))
            rows = numbers.take(np.float64, count * width).reshape(count, width)
        else:
            rows = numbers.take(np.float64, count * (1 + width)).reshape(count, 1 + width)
            ids.append(integers(rows[:, 0]))
            rows = rows[:, 1:]
        points.append(rows[:, :3])
    file.node_ids, file.points = np.concatenate(ids), np.concatenate(points)


def _read_elements(file: _File, numbers: Numbers, version: float) -> None:
    dropped = 0
    dtype = numbers.size if version > 4.0 else np.int32
    for block in element_blocks(numbers, version):
        count, entity = block.count, block.entity(file.entities)
        rows = numbers.take(dtype, count * block.width).reshape(count, block.width)
        if block.is_between_parts(file.entities):
            dropped += count
            continue
        rows = rows.astype(np.int64)
        groups = np.full(count, file.set_of(entity.groups))
        entities = np.full(count, entity.tag)
        file.blocks.append(_Block(block.kind, rows[:, 0], rows[:, 1:], entities, groups))
    tell_dropped(file.path, dropped)


def element_blocks(numbers: Numbers, version: float) -> Iterator[ElementBlock]:
    """Yield the headers in the section of elements; the caller takes or skips their numbers."""
    for _ in range(numbers.counts(4 if version > 4.0 else 2)[0]):
        first, second, number = numbers.ints(3)
        dimension, tag = (first, second) if version > 4.0 else (second, first)
        kind, nodes = _type(number)
        (count,) = numbers.counts(1)
        yield ElementBlock(dimension, tag, kind, count, 1 + nodes)


def tell_dropped(path: Path, elements: int) -> None:
    """Log the number of elements between parts, if there are some."""
    if elements:
        LOGGER.info(
            "%s: %d elements on the boundary between parts of an earlier partition are dropped",
            path,
            elements,
        )


def _read_nodes_2(file: _File, name: str, body: bytes, *, is_binary: bool) -> None:
    head, _, rest = body.partition(b"\n")
    count = int(head)
    if is_binary and name == "ParametricNodes":
        file.node_ids, file.points = _parametric_nodes_2(rest, count)
        return
    if is_binary:
        numbers = numbers_in(rest, np.int32, is_binary=True)
        rows = numbers.take([("id", "<i4"), ("x", "<f8", (3,))], count)
        file.node_ids, file.points = rows["id"].astype(np.int64), rows["x"].copy()
        return
    lines = [line.split()[:4] for line in rest.splitlines() if line.strip()]
    if len(lines) != count:
        raise FileFormatError(f"${name} announces {count} nodes, but has {len(lines)}")
    table = np.array(lines, np.float64).reshape(count, 4)
    file.node_ids, file.points = integers(table[:, 0]), table[:, 1:]


def _parametric_nodes_2(content: bytes, count: int) -> tuple[Ids, npt.NDArray[np.float64]]:
    """Return ids and points; each is followed by its entity and 0 to 2 parameters."""
    node = struct.Struct("<i3d2i")
    nodes: list[list[float]] = []
    at = 0
    for _ in range(count):
        if at + node.size > len(content):
            raise FileFormatError(f"$ParametricNodes announces {count} nodes, but has {len(nodes)}")
        *own, dimension, _ = node.unpack_from(content, at)
        nodes.append(own)
        at += node.size + 8 * (dimension if dimension in (1, 2) else 0)
    table = np.array(nodes).reshape(-1, 4)
    return integers(table[:, 0]), table[:, 1:]


def _read_elements_2(file: _File, body: bytes, *, is_binary: bool) -> None:
    """Read the elements of MSH 2: id, type, number of tags, tags, nodes; tags are group, entity."""
    head, _, rest = body.partition(b"\n")
    count = int(head)
    runs = (
        _binary_runs(numbers_in(rest, np.int32, is_binary=True), count)
        if is_binary
        else _text_runs(integers(parsed(rest)), count)
    )
    for number, tags, rows in runs:
        kind, nodes = _type(number)
        group = rows[:, 1] if tags else np.zeros(len(rows), np.int64)
        entity = rows[:, 2] if tags > 1 else np.zeros(len(rows), np.int64)
        ids, which = np.unique(np.abs(group), return_inverse=True)
        own = np.array([file.set_of((int(tag),) if tag else ()) for tag in ids], np.int64)
        block = _Block(kind, rows[:, 0], rows[:, len(rows[0]) - nodes :], entity, own[which])
        file.blocks.append(block)
    file.blocks = [_merged(run) for run in _runs_of_kind(file.blocks)]
    _join_repeated(file)


def _binary_runs(numbers: Numbers, count: int) -> Iterator[tuple[int, int, Ids]]:
    while count > 0:
        number, elements, tags = numbers.ints(3)
        width = 1 + tags + _type(number)[1]
        rows = numbers.take(np.int32, elements * width).reshape(elements, width)
        yield number, tags, rows.astype(np.int64)
        count -= max(elements, 1)


def _text_runs(values: Ids, count: int) -> Iterator[tuple[int, int, Ids]]:
    """Yield runs of elements of the same type and number of tags."""
    listed, at, starts = values.tolist(), 0, []
    for _ in range(count):
        starts.append(at)
        if at + 2 >= len(listed):
            raise FileFormatError(
                f"$Elements announces {count} elements, but has {len(starts) - 1}"
            )
        at += 3 + listed[at + 2] + _type(listed[at + 1])[1]
    if at != len(listed):
        raise FileFormatError("$Elements has another length than its elements")
    if not count:
        return
    places = np.array(starts)
    kinds = np.column_stack([values[places + 1], values[places + 2]])
    ends = np.flatnonzero((kinds[1:] != kinds[:-1]).any(axis=1)) + 1
    for run in np.split(places, ends):
        number, tags = (int(values[run[0] + i]) for i in (1, 2))
        after = run[:, None] + 3 + np.arange(tags + _type(number)[1])
        yield number, tags, np.column_stack([values[run], values[after]])


def _runs_of_kind(blocks: Sequence[_Block]) -> list[list[_Block]]:
    runs: list[list[_Block]] = []
    for block in blocks:
        if not runs or runs[-1][0].kind != block.kind:
            runs.append([])
        runs[-1].append(block)
    return runs


def _merged(run: list[_Block]) -> _Block:
    columns = ("ids", "nodes", "entities", "groups")
    return _Block(
        run[0].kind, *(np.concatenate([getattr(own, name) for own in run]) for name in columns)
    )


def _join_repeated(file: _File) -> None:
    """Make one cell of elements of one entity with the same nodes and different groups."""
    sets = list(file.sets)
    seen: dict[str, list[_Block]] = {}
    for block in file.blocks:
        seen.setdefault(block.kind, []).append(block)
    for blocks in seen.values():
        whole = _merged(blocks)
        if len(np.unique(whole.groups)) < 2:
            continue
        keys = np.column_stack([whole.nodes, whole.entities])
        _, first, cell, repeats = np.unique(
            keys, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) == len(keys):
            continue
        cell = cell.ravel()
        groups, kept = whole.groups.copy(), np.ones(len(keys), bool)
        of_cell: dict[int, list[int]] = {}
        for i in np.flatnonzero(repeats[cell] > 1).tolist():
            of_cell.setdefault(int(cell[i]), []).append(i)
        for rows in of_cell.values():
            own = [sets[groups[i]] for i in rows]
            if len(set(own)) == len(own):
                joined = tuple(dict.fromkeys(tag for tags in own for tag in tags))
                groups[rows[0]] = file.set_of(joined)
                kept[rows[1:]] = False
        ends = np.cumsum([len(block.ids) for block in blocks])[:-1]
        for block, own_groups, keep in zip(
            blocks, np.split(groups, ends), np.split(kept, ends), strict=True
        ):
            block.ids, block.nodes, block.entities = (
                values[keep] for values in (block.ids, block.nodes, block.entities)
            )
            block.groups = own_groups[keep]


def _data(name: str, body: bytes, *, is_binary: bool) -> tuple[str, str, Ids, Any]:
    """Return the section, the name, the ids of nodes or elements, and their values."""
    at = 0

    def line() -> str:
        nonlocal at
        start, at = at, body.index(b"\n", at) + 1
        return body[start:at].decode(errors="replace").strip()

    texts = [line().strip('"') for _ in range(int(line()))]
    for _ in range(int(line())):
        line()
    sizes = [int(line()) for _ in range(int(line()))]
    width, count = sizes[1:3]
    numbers = numbers_in(body, np.int32, at, is_binary=is_binary)
    if is_binary:
        rows = numbers.take([("id", "<i4"), ("values", "<f8", (width,))], count)
        ids, values = rows["id"].astype(np.int64), rows["values"]
    else:
        table = numbers.take(np.float64, count * (1 + width)).reshape(count, 1 + width)
        ids, values = integers(table[:, 0]), table[:, 1:]
    return name, texts[0], ids, values[:, 0] if width == 1 else values


def _type(number: int) -> tuple[str, int]:
    """Return meshio's name of a cell type of Gmsh, and the number of nodes."""
    kind = import_module("meshio.gmsh.common")._gmsh_to_meshio_type.get(number)
    if kind is None:
        raise FileFormatError(f"jetpy does not read cells of Gmsh's type {number}; save another")
    return kind, import_module("meshio._common").num_nodes_per_cell[kind]


def _mesh(file: _File) -> Any:
    blocks = [block for block in file.blocks if len(block.ids)]
    if not blocks:
        raise FileFormatError("the file has no elements; generate the mesh before you save it")
    order = np.argsort(file.node_ids, kind="stable")
    reorder = import_module("meshio.gmsh.common")._gmsh_to_meshio_order
    cells = [
        (block.kind, reorder(block.kind, _places(file.node_ids, order, block.nodes)))
        for block in blocks
    ]
    mesh = meshio().Mesh(file.points, cells)
    groups = _groups(file, [block.groups for block in blocks])
    mesh.info = {GROUPS: groups}
    mesh.field_data = {
        name: np.array([tag, dimension]) for (dimension, tag), name in groups.names.items()
    }
    if any(groups.sets):
        first = np.array([own[0] if own else 0 for own in groups.sets])
        mesh.cell_data[PHYSICAL] = [first[own] for own in groups.of_cells]
    mesh.cell_data[GEOMETRICAL] = [block.entities for block in blocks]
    cell_ids = np.concatenate([block.ids for block in blocks])
    ends = np.cumsum([len(block.ids) for block in blocks])[:-1]
    for section, name, ids, values in file.data:
        if section == "NodeData":
            mesh.point_data[name] = _spread(file.node_ids, ids, values)
        else:
            mesh.cell_data[name] = np.split(_spread(cell_ids, ids, values), ends)
    return mesh


def _groups(file: _File, of_cells: list[Ids]) -> Groups:
    """Return the groups, without those of parts of an earlier partition."""
    parts = {key for key, name in file.names.items() if PART_GROUP.fullmatch(name)}
    tags = {tag for _, tag in parts}
    named = {key: name for key, name in file.names.items() if key not in parts}
    sets = tuple(tuple(tag for tag in own if tag not in tags) for own in file.sets)
    return Groups(named, sets, tuple(of_cells))


def _places(ids: Ids, order: Ids, wanted: Ids) -> Ids:
    """Return the index of each wanted id in `ids`, which `order` sorts."""
    if len(ids) == 0 and wanted.size:
        raise FileFormatError("the file has elements, but no nodes")
    places: Ids = order[np.searchsorted(ids, wanted, sorter=order).clip(max=len(ids) - 1)]
    missing = ids[places] != wanted
    if missing.any():
        raise FileFormatError(f"an element has node {wanted[missing][0]}, which is not in $Nodes")
    return places


def _spread(ids: Ids, given: Ids, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of all ids; NaN for those that are not given."""
    order = np.argsort(ids, kind="stable")
    places = np.searchsorted(ids, given, sorter=order).clip(max=max(len(ids) - 1, 0))
    known = ids[order[places]] == given
    result = np.full((len(ids), *values.shape[1:]), np.nan)
    result[order[places[known]]] = values[known]
    return result
