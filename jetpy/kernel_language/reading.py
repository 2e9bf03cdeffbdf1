"""Reads modules of workunits, once for all engines, and refuses code that an engine lacks."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Mapping
from copy import copy
from functools import cache, partial
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any

from jetpy.errors import BackendError
from jetpy.kernel_language.body import RANGE_PARTS, Body
from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.refusals import refuse
from jetpy.kernel_language.signature import Kind, place_name
from jetpy.kernel_language.types import Group, Refusal, View, Width, group_type, named_type

_reading: Any = RLock()
"""Engines may compile concurrently, and each definition must exist once."""
os.register_at_fork(after_in_child=_reading._at_fork_reinit)


def read_module(module: ModuleType, width: Width = Width.NARROW) -> dict[str, Definition]:
    """Return the workunits and device functions of a module by name, in source order.

    The result is cached, so later changes of the file do not count.

    Raises
    ------
    BackendError
        If a function is outside the language; the message names the function and the line.
    """
    with _reading:
        return _read_module(module, width)


@cache
def _read_module(module: ModuleType, width: Width) -> dict[str, Definition]:
    return {name: _read(module, name, width) for name in _functions(module)}


def read_workunits(module: ModuleType, width: Width = Width.NARROW) -> dict[str, Definition]:
    """Return the workunits of a module by name, in source order."""
    return {
        name: definition
        for name, definition in read_module(module, width).items()
        if definition.kind is not Kind.FUNCTION
    }


def read_workunit(module: ModuleType, name: str, width: Width = Width.NARROW) -> Definition:
    """Return one workunit of a module without reading the others."""
    with _reading:
        return _read(module, name, width)


def workunit_names(module: ModuleType) -> list[str]:
    """Return the names of a module's workunits in source order, without reading them."""
    with _reading:
        functions = _functions(module).items()
    return [name for name, node in functions if "workunit" in _decorators(node)]


@cache
def _functions(module: ModuleType) -> Mapping[str, ast.FunctionDef]:
    """Return the syntax trees of a module's workunits and device functions."""
    tree = ast.parse(inspect.getsource(module))
    return {
        part.name: part
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and _decorators(node) & {"workunit", "function"}
        for part in _parts(node)
    }


def _parts(node: ast.FunctionDef) -> list[ast.FunctionDef]:
    """Return a function, or three functions for the start, stop and step of a returned range."""
    match node:
        case ast.FunctionDef(
            body=[*before, ast.Return(ast.Call(ast.Name("range"), [_, _, *_] as bounds))],
            returns=ast.Name("range"),
        ):
            parts = []
            for end, bound in zip(RANGE_PARTS, bounds, strict=False):
                part = copy(node)
                part.name, part.returns = node.name + end, ast.Name("int")
                part.body = [*before, ast.copy_location(ast.Return(bound), bound)]
                parts.append(part)
            return parts
    return [node]


def _decorators(node: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator).removeprefix("pk.") for decorator in node.decorator_list}


@cache
def _read(module: ModuleType, name: str, width: Width) -> Definition:
    node = _functions(module)[name]
    kind = _kind(node)
    try:
        definition = _define(module, node, kind, width)
        if width is Width.NARROW:  # PyKokkos does not get wide kernels
            refuse(definition)
    except Refusal as why:
        what = "function" if kind is Kind.FUNCTION else "workunit"
        raise BackendError(f"{what} {name}, {why}") from None
    return definition


def _kind(node: ast.FunctionDef) -> Kind:
    names = [argument.arg for argument in node.args.args]
    if "function" in _decorators(node):
        return Kind.FUNCTION
    if "last_pass" in names:
        return Kind.SCAN
    return Kind.REDUCE if "acc" in names else Kind.FOR


def _define(module: ModuleType, node: ast.FunctionDef, kind: Kind, width: Width) -> Definition:
    declared = {a.arg: _type(module, a.annotation, node, width) for a in node.args.args}
    returns = None
    if kind is Kind.FUNCTION and node.returns is not None and ast.unparse(node.returns) != "None":
        returned = _type(module, node.returns, node, width)
        if not isinstance(returned, str):
            raise Refusal(f"line {node.lineno}: a function must return a scalar")
        returns = returned
    fixed = set() if kind is Kind.FUNCTION else declared.keys() - {"acc"}
    callee = partial(_callee, width=width)
    may_exchange = kind is Kind.FUNCTION
    body = Body(module, declared, fixed, returns, callee, width, may_exchange=may_exchange)
    statements = body.block(node.body)
    kinds = _places(declared, body.used)
    places = tuple(kinds)
    parameters = {place_name(*place): kind for place, kind in kinds.items()}
    functions = {node.name, *(callee.name for callee in body.callees)}
    fields = {place_name(*place) for place in places if place[1] is not None}
    clashing = fields & (body.local_names | declared.keys())
    clashing |= functions & (parameters.keys() | body.local_names)
    if clashing:
        what = "function" if clashing & functions else "field"
        raise Refusal(f"line {node.lineno}: {clashing.pop()!r} is also the name of a {what}")
    return Definition(
        node.name, kind, declared, places, parameters, returns, statements, tuple(body.callees)
    )


def _places(
    declared: Mapping[str, str | View | Group], used: Mapping[tuple[str, str], None]
) -> dict[tuple[str, str | None], str | View]:
    """Return the types of the parameters, with groups expanded into the fields that are used."""
    places: dict[tuple[str, str | None], str | View] = {}
    for name, kind in declared.items():
        if isinstance(kind, Group):
            fields = kind.fields.items()
            places |= {(name, field): own for field, own in fields if (name, field) in used}
        else:
            places[name, None] = kind
    return places


def _type(
    module: ModuleType, annotation: ast.expr | None, where: ast.FunctionDef, width: Width
) -> str | View | Group:
    text = "" if annotation is None else ast.unparse(annotation)
    kind = named_type(text, width)
    if kind is not None:
        return kind
    declared = vars(module).get(text)
    if isinstance(declared, type):
        return group_type(declared, width)
    raise Refusal(f"line {where.lineno}: unknown type {text!r} of a parameter or result")


def _callee(function: Any, part: str, width: Width) -> Definition | None:
    """Return the definition of a device function, or of part of a range, or None."""
    if not isinstance(function, FunctionType):
        return None
    module = sys.modules.get(function.__module__)
    name = f"{function.__name__}{part}"
    if module is None or name not in _functions(module):
        return None
    definition = _read(module, name, width)
    return definition if definition.kind is Kind.FUNCTION else None
