"""Rewrites a module of PyKokkos workunits into Python that Numba compiles, with C's meaning.

PyKokkos turns workunits into C++; this turns the same source into typed Python. Every
subexpression is given the type that C++ would give it (usual arithmetic conversions) and cast to
it, so that results agree bit for bit, overflow included. The language is the part of PyKokkos
that its own translator accepts: typed locals, `if`/`while`/`for range`, `break`, `continue`,
`return`, views of one dimension, atomics, and calls of `@pk.function`s.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import ModuleType

from jetpy.errors import BackendError

_RANK = {"boolean": 0, "int32": 1, "uint32": 2, "int64": 3, "uint64": 4, "float32": 5, "float64": 6}
_SCALARS = {
    "int": "int32",
    "int32": "int32",
    "int64": "int64",
    "uint32": "uint32",
    "uint64": "uint64",
    "float": "float64",
    "double": "float64",
    "bool": "boolean",
}
_ATOMICS = {
    "atomic_fetch_add",
    "atomic_fetch_min",
    "atomic_fetch_max",
    "atomic_fetch_or",
    "atomic_compare_exchange",
}


class Kind(Enum):
    """How a workunit is launched; a `FUNCTION` is called by workunits only."""

    FUNCTION = "function"
    FOR = "for"
    REDUCE = "reduce"
    SCAN = "scan"


@dataclass(frozen=True)
class View:
    """Type of an array parameter: its elements' type."""

    element: str


@dataclass
class Definition:
    """A workunit or device function: its parameters as C sees them, and its syntax tree."""

    name: str
    kind: Kind
    parameters: dict[str, str | View]
    returns: str | None
    tree: ast.FunctionDef

    @property
    def arguments(self) -> dict[str, str | View]:
        """Parameters that a launch passes: not the index, an accumulator or whether to write."""
        leading = {Kind.FUNCTION: 0, Kind.FOR: 1, Kind.REDUCE: 2, Kind.SCAN: 3}[self.kind]
        return dict(list(self.parameters.items())[leading:])


@cache
def read_module(module: ModuleType) -> dict[str, Definition]:
    """Return the workunits and device functions of `module`, and all that these call.

    The same each time: changes of the file do not count.
    """
    definitions: dict[str, Definition] = {}
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jetpy.workloads"):
            source = __import__(node.module or "", fromlist=["_"])
            known = read_module(source)
            for alias in node.names:
                definitions.update((d.name, d) for d in with_callees(known[alias.name], known))
        elif isinstance(node, ast.FunctionDef):
            definition = _read_function(node)
            if definition is not None:
                definitions[definition.name] = definition
    return definitions


def with_callees(definition: Definition, known: dict[str, Definition]) -> list[Definition]:
    """Return a definition after the device functions that it calls, each once."""
    used: dict[str, Definition] = {}

    def add(caller: Definition) -> None:
        for node in ast.walk(caller.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                callee = known.get(node.func.id)
                if callee is not None and callee.kind is Kind.FUNCTION and callee.name not in used:
                    add(callee)
        used[caller.name] = caller

    add(definition)
    return list(used.values())


def _read_function(node: ast.FunctionDef) -> Definition | None:
    decorators = {ast.unparse(d).removeprefix("pk.") for d in node.decorator_list}
    if not decorators & {"workunit", "function"}:
        return None
    parameters = {a.arg: _parse_type(a.annotation, node) for a in node.args.args}
    kind = Kind.FUNCTION if "function" in decorators else _workunit_kind(node)
    returns = None
    if kind is Kind.FUNCTION and node.returns is not None and ast.unparse(node.returns) != "None":
        parsed = _parse_type(node.returns, node)
        assert isinstance(parsed, str)
        returns = parsed
    if kind in (Kind.REDUCE, Kind.SCAN):
        parameters["acc"] = "int64"
    return Definition(node.name, kind, parameters, returns, node)


def _workunit_kind(node: ast.FunctionDef) -> Kind:
    names = [a.arg for a in node.args.args]
    if "last_pass" in names:
        return Kind.SCAN
    return Kind.REDUCE if "acc" in names else Kind.FOR


def _parse_type(annotation: ast.expr | None, where: ast.AST) -> str | View:
    text = "" if annotation is None else ast.unparse(annotation).replace("pk.", "")
    if text.startswith("Acc["):
        return "int64"
    if text.startswith("View1D["):
        return View(_SCALARS[text[7:-1]])
    if text in _SCALARS:
        return _SCALARS[text]
    raise BackendError(f"line {getattr(where, 'lineno', '?')}: unknown type {text!r} in a workunit")


def emit(definition: Definition, known: dict[str, Definition]) -> str:
    """Return Numba-ready source of one definition, decorated as an inlined device function."""
    writer = _Writer(definition, known)
    body = "\n".join(writer.block(definition.tree.body, 1))
    parameters = ", ".join(definition.parameters)
    casts = "\n".join(
        f"    {name} = {kind}({name})"
        for name, kind in definition.parameters.items()
        if isinstance(kind, str)
    )
    tail = "    return acc\n" if definition.kind in (Kind.REDUCE, Kind.SCAN) else ""
    return f"@device\ndef {definition.name}({parameters}):\n{casts}\n{body}\n{tail}"


def _common(left: str, right: str) -> str:
    """Usual arithmetic conversions: the wider type wins; small types promote to int32."""
    winner = left if _RANK[left] >= _RANK[right] else right
    return "int32" if winner == "boolean" else winner


class _Writer:
    """Writes one function; `expression` returns (source, C type)."""

    def __init__(self, definition: Definition, known: dict[str, Definition]) -> None:
        self.definition = definition
        self.known = known
        self.types: dict[str, str | View] = dict(definition.parameters)

    def fail(self, node: ast.AST, message: str) -> BackendError:
        name, line = self.definition.name, getattr(node, "lineno", "?")
        return BackendError(f"workunit {name}, line {line}: {message}: {ast.unparse(node)}")

    # statements

    def block(self, statements: list[ast.stmt], depth: int) -> list[str]:
        lines = [line for s in statements for line in self.statement(s)] or ["pass"]
        return [textwrap.indent(line, "    " * depth) for line in lines]

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=note, value=ast.expr() as value
            ):
                kind = _parse_type(note, node)
                assert isinstance(kind, str)
                self.types[name] = kind
                return [f"{name} = {self.cast(value, kind)}"]
            case ast.Assign(targets=[target], value=value):
                return [self.store(target, self.expression(value))]
            case ast.AugAssign(target=target, op=op, value=value):
                old = ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, node)
                sides = self.expression(old), self.expression(value)
                divided = isinstance(op, ast.FloorDiv)
                return [
                    self.store(target, self.divide(*sides) if divided else self.binary(op, *sides))
                ]
            case ast.If(test=test, body=body, orelse=orelse):
                lines = [f"if {self.condition(test)}:", *self.block(body, 1)]
                return lines + (["else:", *self.block(orelse, 1)] if orelse else [])
            case ast.While(test=test, body=body, orelse=[]):
                return [f"while {self.condition(test)}:", *self.block(body, 1)]
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=args), body=body):
                self.types[name] = "int32"
                bounds = ", ".join(self.cast(a, "int32") for a in args)
                counter = f"_{name}"
                inner = [f"    {name} = int32({counter})", *self.block(body, 1)]
                return [f"for {counter} in range({bounds}):", *inner]
            case ast.Return(value=None):
                reducing = self.definition.kind in (Kind.REDUCE, Kind.SCAN)
                return ["return acc" if reducing else "return"]
            case ast.Return(value=ast.expr() as value):
                if self.definition.returns is None:
                    raise self.fail(node, "a workunit returns no value")
                return [f"return {self.cast(value, self.definition.returns)}"]
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr(value=ast.Call() as call):
                return [self.expression(call)[0]]
            case ast.Break():
                return ["break"]
            case ast.Continue():
                return ["continue"]
        raise self.fail(node, "statement outside the language of workunits")

    def store(self, target: ast.expr, value: tuple[str, str]) -> str:
        if isinstance(target, ast.Name):
            kind = self.types.get(target.id)
            if not isinstance(kind, str):
                raise self.fail(target, "assignment to an undeclared local")
            return f"{target.id} = {self.converted(value, kind)}"
        if isinstance(target, ast.Subscript):
            element, kind = self.expression(target)
            return f"{element} = {self.converted(value, kind)}"
        raise self.fail(target, "assignment to this target")

    # expressions

    @staticmethod
    def converted(value: tuple[str, str], kind: str) -> str:
        return value[0] if value[1] == kind else f"{kind}({value[0]})"

    def cast(self, node: ast.expr, kind: str) -> str:
        return self.converted(self.expression(node), kind)

    def condition(self, node: ast.expr) -> str:
        source, kind = self.expression(node)
        return source if kind == "boolean" else f"({source} != 0)"

    def expression(self, node: ast.expr) -> tuple[str, str]:
        match node:
            case ast.Constant(value=bool() as flag):
                return str(flag), "boolean"
            case ast.Constant(value=int() as number):
                kind = "int32" if -(2**31) <= number < 2**31 else "int64"
                return f"{kind}({number})", kind
            case ast.Constant(value=float() as number):
                return f"float64({number!r})", "float64"
            case ast.Name(id=name):
                kind_or_view = self.types.get(name)
                if not isinstance(kind_or_view, str):
                    raise self.fail(node, "unknown or untyped name")
                return name, kind_or_view
            case ast.Subscript():
                return self.element(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(not {self.condition(operand)})", "boolean"
            case ast.UnaryOp(op=op, operand=operand):
                source, kind = self.expression(operand)
                kind = _common(kind, "int32")
                return f"{kind}({_SYMBOLS[type(op)]}{source})", kind
            case ast.BoolOp(op=op, values=values):
                word = " and " if isinstance(op, ast.And) else " or "
                return "(" + word.join(self.condition(v) for v in values) + ")", "boolean"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self.expression(left), self.expression(right)
                kind = _common(a[1], b[1])
                sides = self.converted(a, kind), self.converted(b, kind)
                return f"({sides[0]} {_SYMBOLS[type(op)]} {sides[1]})", "boolean"
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.expression(left), self.expression(right))
            case ast.Call():
                return self.call(node)
        raise self.fail(node, "expression outside the language of workunits")

    def binary(
        self, op: ast.operator, left: tuple[str, str], right: tuple[str, str]
    ) -> tuple[str, str]:
        if isinstance(op, ast.LShift | ast.RShift):
            kind = _common(left[1], "int32")
            symbol = _SYMBOLS[type(op)]
            return f"{kind}({self.converted(left, kind)} {symbol} {right[0]})", kind
        kind = _common(left[1], right[1])
        if isinstance(op, ast.Div):
            kind = _common(kind, "float64")
        a, b = self.converted(left, kind), self.converted(right, kind)
        if isinstance(op, ast.FloorDiv):
            return f"int32({self.divide(left, right)[0]})", "int32"
        if isinstance(op, ast.Mod):
            return f"c_remainder({a}, {b})", kind
        return f"{kind}({a} {_SYMBOLS[type(op)]} {b})", kind

    def divide(self, left: tuple[str, str], right: tuple[str, str]) -> tuple[str, str]:
        """Divide as C's `/=` does; PyKokkos's `//` also casts the quotient to int32."""
        kind = _common(left[1], right[1])
        return f"c_divide({self.converted(left, kind)}, {self.converted(right, kind)})", kind

    def element(self, node: ast.Subscript) -> tuple[str, str]:
        view = self.types.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if not isinstance(view, View):
            raise self.fail(node, "index into something that is no view")
        return f"{ast.unparse(node.value)}[{self.cast(node.slice, 'uintp')}]", view.element

    def call(self, node: ast.Call) -> tuple[str, str]:
        name = ast.unparse(node.func).removeprefix("pk.")
        if name in _ATOMICS:
            view_node, indices, *values = node.args
            view = self.types.get(ast.unparse(view_node))
            if not isinstance(view, View) or not isinstance(indices, ast.List):
                raise self.fail(node, "atomics take a view, a list of one index and a value")
            operands = [ast.unparse(view_node), self.cast(indices.elts[0], "uintp")]
            operands += [self.cast(v, view.element) for v in values]
            return f"{name}({', '.join(operands)})", view.element
        function = self.known.get(name)
        if function is None or function.kind is not Kind.FUNCTION:
            raise self.fail(node, "call of something that is no @pk.function")
        arguments = [
            ast.unparse(argument) if isinstance(kind, View) else self.cast(argument, kind)
            for argument, kind in zip(node.args, function.parameters.values(), strict=True)
        ]
        return f"{name}({', '.join(arguments)})", function.returns or "none"


_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
